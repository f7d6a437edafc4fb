# SPDX-License-Identifier: MIT OR Apache-2.0
"""The programs, a row each; those with three rounds of building and dropping have a name that ends in 3."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches

from hakmem.base.errors import Refusal
from hakmem_lab.corpus import inputs as corpus
from hakmem_lab.pareto.programs import Real
from hakmem_lab.pareto.servers import Ground
from hakmem_lab.judge import inputs

MALLOC = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
POOLS = {"PYTHONHASHSEED": "0"}
PERL = {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}
DRAW = ("gs", "-q", "-dSAFER", "-sDEVICE=ppmraw", "-r110", "-o", "out.ppm", "drawing.ps")
COMPILED = ("-std=c++17", "-O1", "-c", "templates.cpp", "-o", "templates.o")
PACKED = ("git", "-C", "tree", "-c", "pack.threads=2", "repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=30")
SUM = "[.[] | .lines[] | .price * .pieces] | add"
COMMITS, FILES = 150, 40


def script(name: str, package: str, command: str, file: str, text: object, **more: object) -> Real:
    words = (command, file)
    return Real(name, package, (command,), words, more.pop("heart", command), {file: text}, **more)  # type: ignore[arg-type]


def history(ground: Ground) -> None:
    """A repository with many small commits of text, by `git fast-import`."""
    stream = ground.folder / "stream"
    stream.write_text("".join(commit(number) for number in range(1, COMMITS + 1)), encoding="ascii")
    ground.run("sh", "-c", "git init -q tree && git -C tree fast-import --quiet < stream && rm stream")


def commit(number: int) -> str:
    """As fast-import reads it: each commit changes a third of the files."""
    said = f"change {number}"
    head = (f"commit refs/heads/main\nmark :{number}\ncommitter a <a@b> {1700000000 + number * 60} +0000\n"
            f"data {len(said)}\n{said}\n")
    return head + "".join(changed(number, file) for file in range(FILES) if number == 1 or (file + number) % 3 == 0)


def changed(number: int, file: int) -> str:
    rows = (f"{line} {file} {(line * 7919 + number * (line % 17 == number % 17)) % 100003}\n" for line in range(1200))
    text = "".join(rows)
    return f"M 100644 inline file{file}.txt\ndata {len(text)}\n{text}\n"


PROGRAMS = (
    Real("xmllint", "libxml2-utils", ("xmllint",), ("xmllint", "--noout", "orders.xml"), "xmllint",
         {"orders.xml": inputs.orders_xml}),
    Real("xmllint3", "libxml2-utils", ("xmllint",), ("xmllint", "--noout", *("orders.xml",) * 3), "xmllint",
         {"orders.xml": inputs.orders_xml}),
    Real("jq", "jq", ("jq",), ("jq", SUM, "orders.json"), "jq", {"orders.json": inputs.orders_json}),
    Real("jq3", "jq", ("jq",), ("jq", SUM, *("orders.json",) * 3), "jq", {"orders.json": inputs.orders_json}),
    script("lua", "lua5.4", "lua5.4", "rows.lua", lambda: inputs.lua(1)),
    script("lua3", "lua5.4", "lua5.4", "rows.lua", lambda: inputs.lua(3)),
    script("perl", "perl", "perl", "rows.pl", lambda: inputs.perl(1), variables=PERL),
    script("perl3", "perl", "perl", "rows.pl", lambda: inputs.perl(3), variables=PERL),
    script("python", "python3", "/usr/bin/python3", "rows.py", lambda: inputs.python(1), variables=POOLS, heart="python3"),
    script("python-malloc", "python3", "/usr/bin/python3", "rows.py", lambda: inputs.python(1), variables=MALLOC,
           heart="python3"),
    script("python-malloc3", "python3", "/usr/bin/python3", "rows.py", lambda: inputs.python(3), variables=MALLOC,
           heart="python3"),
    Real("gawk", "gawk", ("gawk",), ("gawk", inputs.AWK, "lines.txt"), "gawk", {"lines.txt": inputs.lines_of_words}),
    script("ruby", "ruby", "ruby", "rows.rb", inputs.ruby),
    script("php", "php-cli", "php", "rows.php", inputs.php),
    script("node", "nodejs", "node", "rows.js", inputs.node),
    Real("sqlite3", "sqlite3", ("sqlite3",), ("sqlite3", "-batch", "-bail"), "sqlite3", {"items.sql": inputs.sql},
         stdin="items.sql"),
    Real("g++", "g++", ("g++",), ("g++", *COMPILED), "cc1plus", {"templates.cpp": corpus.templates}),
    Real("clang++", "clang", ("clang++",), ("clang++", *COMPILED), "clang", {"templates.cpp": corpus.templates}),
    Real("ghostscript", "ghostscript", ("gs",), DRAW, "gs", {"drawing.ps": corpus.drawing}),
    Real("z3", "z3", ("z3",), ("z3", "puzzle.smt2"), "z3", {"puzzle.smt2": corpus.puzzle}),
    Real("git-log", "git", ("git",), ("git", "-C", "tree", "log", "-p", "--stat", "main"), "git", prepare=history),
    Real("git-pack", "git", ("git",), PACKED, "git", prepare=history),
)


def chosen(names: str | None, rows: Sequence[Real] = PROGRAMS) -> list[Real]:
    """--programs a,b: in the order of the table."""
    if names is None:
        return list(rows)
    known, wanted = [row.name for row in rows], [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in known:
            near = get_close_matches(name, known, 1)
            raise Refusal(f"--programs {name}: no such program ({f'nearest: {near[0]}' if near else ', '.join(known)})")
    return [row for row in rows if row.name in wanted]


def installed(rows: list[Real]) -> list[Real]:
    """Programs that are not installed are named on stderr."""
    for row in rows:
        if row.missing:
            print(f"hakmem: not measured, because missing: {row.name} (apt-get install {row.package})", file=sys.stderr)
    return [row for row in rows if not row.missing]
