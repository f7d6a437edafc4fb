# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes what mirrors a table of src, from the table.

    make manual                                        (python3 scripts/tables.py [--check])

  docs/guide/settings.md    its table, from src/tables/settings.def
  lab/docs/settings.md      from src/tables/lab_settings.def
  cli/hakmem/reading/tables.py NAMES, from src/observe/layout.def

  --check   writes nothing; a line for each file that is not current, and exit status 1 then
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PRODUCT, LAB, LAYOUT = "src/tables/settings.def", "src/tables/lab_settings.def", "src/observe/layout.def"
PAGE, LAB_PAGE, MIRROR = "docs/guide/settings.md", "lab/docs/settings.md", "cli/hakmem/reading/tables.py"
CELL = r"\s*([^,]+),"
ROW = re.compile(rf'^SETTING\((\w+),{CELL * 5}\s*"(.*)"\)$', re.MULTILINE)
SHIFTED = re.compile(r"(\d+)(?:u|ull)? << (\d+)")
HEAD = "| setting | default | allowed | when | what |\n|---|---|---|---|---|\n"
TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")
NAMES = re.compile(r'(?<=^NAMES = tuple\(\n    """)[^"]*', re.MULTILINE)
WORDS = {"flag": "on, off", "huge": "off, auto, on", "mode": "off, baseline, shadow, evolving, frozen", "path": "a path"}
PRICE, BALANCED = "speed, balanced, lean, or ", "640000"
LAB_TEXT = """# Settings of the laboratory

Experiments and tests of HAKMEM set these; they are unsupported and may change in any release. Each is set as
a [setting](../../docs/guide/settings.md) is, under a name that begins with `lab_`: `HAKMEM_LAB_COST_PAGE=1000`.

"""


class Setting(NamedTuple):
    name: str
    type: str
    initial: str
    least: str
    most: str
    when: str
    help: str


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def number(text: str, kind: str) -> str:
    """As hak_get prints it."""
    shifted = SHIFTED.fullmatch(text)
    value = int(shifted[1]) << int(shifted[2]) if shifted else int(text)
    suffix = 0
    while kind == "bytes" and value and value % 1024 == 0 and suffix < 4:
        value, suffix = value // 1024, suffix + 1
    return f"{value}{' KMGT'[suffix].strip()}"


def default(row: Setting) -> str:
    if row.type == "path":
        return "none"
    if row.type == "flag":
        return "on" if row.initial == "1" else "off"
    if row.initial.startswith("HAK_"):
        return row.initial.rsplit("_", 1)[1].lower()
    return "balanced" if (row.type, row.initial) == ("price", BALANCED) else number(row.initial, row.type)


def allowed(row: Setting) -> str:
    if row.type in WORDS:
        return WORDS[row.type]
    return f"{PRICE if row.type == 'price' else ''}{number(row.least, row.type)} to {number(row.most, row.type)}"


def line(row: Setting, prefix: str) -> str:
    when = "start" if row.when == "start" else "any time"
    what = row.help.replace("<", r"\<")  # a bare one would begin a tag
    return f"| `{prefix}{row.name}` | {default(row)} | {allowed(row)} | {when} | {what} |\n"


def table(source: str, prefix: str) -> str:
    rows = [Setting(*(cell.strip() for cell in found)) for found in ROW.findall(read(source))]
    return HEAD + "".join(line(row, prefix) for row in rows)


def mirror() -> str:
    names = re.findall(r"^NUMBER\((\w+)", read(LAYOUT), re.MULTILINE)
    filled = textwrap.fill(" ".join(names), 120, initial_indent=" " * 7, subsequent_indent="    ")
    return NAMES.sub(lambda _: filled.strip(), read(MIRROR))


MAKERS: dict[str, Callable[[], str]] = {
    PAGE: lambda: TABLE.sub(lambda _: table(PRODUCT, ""), read(PAGE)),
    LAB_PAGE: lambda: LAB_TEXT + table(LAB, "lab_"),
    MIRROR: mirror,
}


def stale(write: bool) -> list[str]:
    found = []
    for name, make in MAKERS.items():
        file, text = ROOT / name, make()
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        found.append(name)
        if write:
            file.write_text(text, encoding="utf-8")
    return found


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        print(__doc__, file=sys.stderr)
        return 2
    found = stale(write=not check)
    for name in found:
        print(f"{name}: " + ("not current: run make manual" if check else "written"))
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(main())
