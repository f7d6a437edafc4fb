"""count.py: counts the instructions of the fast paths exactly and compares them with the checked-in table.

usage     count.py --library build/release/libhakmem.so --probe build/release/tests/instructions/instruction_probe
          [--update | --targets-only] [--show]
what      Runs probe.cpp under callgrind, one dump per function, class and end of the class, with the number of times
          each instruction address ran:

              dump "malloc 48 33":  0x8700 4        every address ran once per call -> one straight path;
                                    0x8707 4  ...   addresses = instructions from entry to ret, the library's only

          The addresses are looked up in objdump's listing: no lock prefix, no exchange with memory (it locks by
          itself), no call. Jump stubs and other libraries are not counted. The table takes the longer end of a class.
          golden.txt holds for the reference build, gcc 12's release; a library of another compiler is held to the
          targets and the listing alone (--targets-only asks for that too). --update rewrites golden.txt.
failure   Exit 1 with every breach on a line of its own; 2 when a tool failed or the arguments make no sense.
not here  Time.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CALLS = 4
SMALL_BYTES = 1024
MOST_LINES = 24
GOLDEN = Path(__file__).resolve().with_name("golden.txt")
COLUMNS = ("malloc", "free", "new", "delete", "delete_sized", "calloc", "realloc")
HEADINGS = ("malloc", "free", "new", "delete", "delete(n)", "calloc", "realloc")
CALLS_MEMSET = {"calloc"}
REFERENCE_COMPILER = re.compile(r"GCC: \([^)]*\) 12\.")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(.+)$")
LOCKED = re.compile(r"^(lock\b|xchg\b.*\()")

TITLE = """\
# Instructions on the fast path from entry to ret, counted by valgrind's callgrind (tests/instructions/count.py).
# gcc 12, release; counting off; the class's longer end. cmake --build build/release --target golden rewrites this.
# Targets: malloc <= 16 up to 1024 B and <= 22 above, free <= 18; no lock prefix, no call. calloc: without memset's
# own instructions, and only up to 1024 B (a larger block takes the slow door). realloc: within the class.
"""


class ToolError(RuntimeError):
    """Something the count needs did not work."""


@dataclass
class Dump:
    """The library's instructions that ran during CALLS calls of one function: address -> times."""

    function: str
    class_bytes: int
    asked: int
    times: dict[int, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As in messages."""
        return f"{self.function} of {self.asked} B (class {self.class_bytes})"


# ---- running the probe ----

def counting_environment(library: Path) -> dict[str, str]:
    """This environment without HAKMEM's settings, the library preloaded."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HAKMEM_")}
    return env | {"LD_PRELOAD": str(library)}


def run_tool(argv: list[str], env: dict[str, str] | None = None) -> str:
    """A tool's stdout; its stderr is the message when it fails."""
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError(f"{argv[0]} exits with {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


def checked_words(said: str, library: Path) -> list[str]:
    """What the probe said: first which library serves malloc, then a line for each block that moved."""
    first, *moved = said.splitlines()
    serving = Path(first.split(maxsplit=1)[1])
    if serving.resolve() != library:
        raise ToolError(f"malloc lies in {serving}, not in {library}")
    return sorted(set(moved))


def run_probe(probe: Path, library: Path) -> tuple[str, list[str]]:
    """Callgrind's dumps of the probe's run, all in one text, and what moved."""
    with tempfile.TemporaryDirectory(prefix="hakmem-count-") as folder:
        out = Path(folder) / "dumps"
        said = run_tool([
            "valgrind", "--tool=callgrind", "--collect-atstart=no", "--dump-instr=yes", "--dump-line=no",
            "--compress-strings=no", "--compress-pos=no", "--combine-dumps=yes", f"--callgrind-out-file={out}",
            str(probe)], counting_environment(library))
        return out.read_text(), checked_words(said, library)


# ---- reading the dumps ----

def dump_of_title(line: str) -> Dump | None:
    """`desc: Trigger: Client Request: malloc 48 33` begins a dump; the one at the program's end is none of ours."""
    words = line.split(": ", 2)[2].removeprefix("Client Request: ").split()
    return Dump(words[0], int(words[1]), int(words[2])) if len(words) == 3 and words[1].isdigit() else None


def add_costs(dump: Dump, lines: Iterator[str], library: Path) -> None:
    """Reads one dump's costs up to its end. The line after `calls=` is the callee's, counted where it ran."""
    ours = False
    for line in lines:
        if line.startswith("totals:"):
            return
        if line.startswith("ob="):
            ours = Path(line[3:]).resolve() == library
        elif line.startswith("calls="):
            next(lines)
        elif ours and line.startswith("0x"):
            address, times = line.split()
            dump.times[int(address, 16)] = dump.times.get(int(address, 16), 0) + int(times)


def parse_dumps(text: str, library: Path) -> list[Dump]:
    """All dumps of the probe."""
    dumps: list[Dump] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("desc: Trigger:") and (dump := dump_of_title(line)):
            add_costs(dump, lines, library)
            dumps.append(dump)
    if not dumps:
        raise ToolError("callgrind wrote no dump")
    return dumps


def disassembly(library: Path) -> dict[int, str]:
    """Every instruction of the library by address."""
    listing = run_tool(["objdump", "-d", "--no-show-raw-insn", "-w", str(library)])
    found = (INSTRUCTION.match(line) for line in listing.splitlines())
    return {int(m.group(1), 16): m.group(2).strip() for m in found if m}


def is_reference_build(library: Path) -> bool:
    """True when gcc 12 compiled all of it."""
    comment = run_tool(["readelf", "-p", ".comment", str(library)])
    return bool(REFERENCE_COMPILER.search(comment)) and "clang" not in comment


# ---- judging ----

def applies(dump: Dump) -> bool:
    """calloc has a fast path only for small blocks."""
    return dump.function != "calloc" or dump.class_bytes <= SMALL_BYTES


def path_faults(dump: Dump) -> list[str]:
    """Not one straight path: some calls took another way (the slow door), or it loops."""
    if not dump.times:
        return [f"{dump.name}: no instruction of the library ran"]
    uneven = sum(times != CALLS for times in dump.times.values())
    if not uneven:
        return []
    total = sum(dump.times.values())
    return [f"{dump.name}: {total} instructions in {CALLS} calls, {uneven} addresses not once per call: "
            "not the fast path"]


def forbidden(text: str, function: str) -> bool:
    """Locks, or calls where none belong."""
    if LOCKED.match(text):
        return True
    return text.startswith(("call", "bnd call")) and not (function in CALLS_MEMSET and "memset" in text)


def listing_faults(dump: Dump, listing: dict[int, str]) -> list[str]:
    """Instructions of the path that may not be there."""
    texts = ((address, listing.get(address, "(not in the listing)")) for address in sorted(dump.times))
    return [f"{dump.name}: {address:#x} {text}" for address, text in texts
            if text.startswith("(") or forbidden(text, dump.function)]


def limit(dump: Dump) -> int | None:
    """The most instructions the function may take, where a target says so."""
    if dump.function == "malloc":
        return 16 if dump.class_bytes <= SMALL_BYTES else 22
    return 18 if dump.function == "free" else None


def target_faults(dump: Dump) -> list[str]:
    """More instructions than the target."""
    most = limit(dump)
    if most is None or len(dump.times) <= most:
        return []
    return [f"{dump.name}: {len(dump.times)} instructions, target {most}"]


def all_faults(dumps: list[Dump], listing: dict[int, str]) -> list[str]:
    """Every breach of path, listing and target."""
    return [fault for dump in dumps if applies(dump)
            for fault in (*path_faults(dump), *listing_faults(dump, listing), *target_faults(dump))]


# ---- the table ----

def table(dumps: list[Dump]) -> str:
    """One row per class: the longer end's instructions of each function."""
    longest: dict[tuple[int, str], int] = {}
    for dump in filter(applies, dumps):
        key = (dump.class_bytes, dump.function)
        longest[key] = max(longest.get(key, 0), len(dump.times))
    rows = [f"{'class':>7}" + "".join(f"{heading:>11}" for heading in HEADINGS)]
    for class_bytes in sorted({dump.class_bytes for dump in dumps}):
        cells = (longest.get((class_bytes, column), "-") for column in COLUMNS)
        rows.append(f"{class_bytes:>7}" + "".join(f"{cell:>11}" for cell in cells))
    return TITLE + "\n".join(rows) + "\n"


def golden_faults(text: str) -> list[str]:
    """The lines in which the table and golden.txt differ."""
    golden = GOLDEN.read_text() if GOLDEN.exists() else ""
    diff = difflib.unified_diff(golden.splitlines(), text.splitlines(), "golden.txt", "this build", lineterm="", n=0)
    lines = list(diff)
    return cut(lines) + ["if the change is meant: cmake --build build/release --target golden"] if lines else []


# ---- command line ----

def parsed() -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(description="instructions on the fast paths, compared with golden.txt")
    parser.add_argument("--library", dest="so_file", type=Path, required=True, help="the library to preload")
    parser.add_argument("--probe", type=Path, required=True, help="the built probe.cpp")
    parser.add_argument("--update", action="store_true", help="rewrite golden.txt")
    parser.add_argument("--targets-only", action="store_true", help="do not compare with golden.txt")
    parser.add_argument("--show", action="store_true", help="print the table and the path of malloc and free of 48 B")
    options = parser.parse_args()
    for path in (options.so_file, options.probe):
        if not path.is_file():
            parser.error(f"no such file: {path}")
    return options


def show(dumps: list[Dump], listing: dict[int, str]) -> None:
    """The table, and two paths instruction by instruction."""
    print(table(dumps))
    for dump in dumps:
        if dump.function in ("malloc", "free") and dump.asked == 48:
            print(dump.name)
            print("\n".join(f"  {address:6x}  {listing.get(address, '?')}" for address in sorted(dump.times)))


def cut(lines: list[str]) -> list[str]:
    """The first lines and how many more there are: a change of one function shows in every class."""
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], f"... and {more} more"]


def judged(dumps: list[Dump], listing: dict[int, str], compare: bool) -> list[str]:
    """All there is to say against this build."""
    return cut(all_faults(dumps, listing)) + (golden_faults(table(dumps)) if compare else [])


def updated(dumps: list[Dump], listing: dict[int, str]) -> int:
    """Rewrites golden.txt; a table of slow paths is no table."""
    faults = [fault for dump in dumps if applies(dump) for fault in path_faults(dump)]
    print("\n".join(cut(faults or all_faults(dumps, listing)) + ["golden.txt " + ("kept" if faults else "written")]))
    if not faults:
        GOLDEN.write_text(table(dumps))
    return 1 if faults else 0


def counted(options: argparse.Namespace) -> int:
    """The count and what becomes of it."""
    library = options.so_file.resolve()
    text, moved = run_probe(options.probe.resolve(), library)
    dumps = parse_dumps(text, library)
    listing = disassembly(library)
    if options.show:
        show(dumps, listing)
    reference = is_reference_build(library)
    if options.update:
        if not reference:
            raise ToolError("golden.txt is made with gcc 12's release build")
        return updated(dumps, listing)
    faults = moved + judged(dumps, listing, reference and not options.targets_only)
    print("\n".join(faults) if faults else f"{sum(map(applies, dumps))} fast paths counted, all as they should be")
    return 1 if faults else 0


def main() -> int:
    """Tool failures are one line."""
    try:
        return counted(parsed())
    except (ToolError, OSError) as error:
        print(f"count.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
