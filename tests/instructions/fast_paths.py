# SPDX-License-Identifier: MIT OR Apache-2.0
"""The fast paths: one straight path per function and class, its instructions counted exactly.

fast_paths.cpp makes four calls of each function at both ends of each class. Every address of the library that ran must
have run four times: then it is one straight path, and the number of addresses is its length from entry to ret. The
addresses are looked up in objdump's listing: no lock prefix, no exchange with memory (it locks by itself), no call.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import callgrind

CALLS = 4
SMALL_BYTES = 1024
SLAB_BYTES = 32768
COLUMNS = ("malloc", "free", "new", "delete", "new_array", "new_nothrow", "delete_sized", "calloc", "realloc")
HEADINGS = ("malloc", "free", "new", "delete", "new[]", "nothrow", "delete(n)", "calloc", "realloc")
CALLS_MEMSET = {"calloc"}
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(.+)$")
LOCKED = re.compile(r"^(lock\b|xchg\b.*\()")

TITLE = """\
# Instructions on the fast path from entry to ret, counted by valgrind's callgrind (tests/instructions/fast_paths.py).
# gcc 12, release; counting off; the class's longer end. cmake --build build/release --target golden rewrites this.
# Targets: malloc <= 16 up to 1024 B and <= 22 above, free <= 18; no lock prefix, no call. calloc: without memset's
# own instructions, and only up to 1024 B (a larger block takes the slow path). realloc: within the class, to 32 KiB. new[] and
# delete(n) jump to new and delete through the symbol table; nothrow looks whether new is still the library's own.
"""


@dataclass
class Case:
    """The library's instructions that ran during CALLS calls of one function with one size: address -> times."""

    function: str
    class_bytes: int
    asked: int
    times: Mapping[int, int]

    @property
    def name(self) -> str:
        """As in messages."""
        return f"{self.function} of {self.asked} B (class {self.class_bytes})"


# ---- what ran ----

def case_of(dump: callgrind.Dump) -> Case:
    """`malloc 48 33`: the function, the class's size and the size asked for."""
    function, class_bytes, asked = dump.title.split()
    return Case(function, int(class_bytes), int(asked), dump.times)


def disassembly(library: Path) -> dict[int, str]:
    """Every instruction of the library by address."""
    listing = callgrind.run_tool(["objdump", "-d", "--no-show-raw-insn", "-w", str(library)])
    found = (INSTRUCTION.match(line) for line in listing.splitlines())
    return {int(m.group(1), 16): m.group(2).strip() for m in found if m}


# ---- judging ----

def applies(case: Case) -> bool:
    """calloc has a fast path only for small blocks, realloc for those of slabs."""
    most = {"calloc": SMALL_BYTES, "realloc": SLAB_BYTES}
    return case.class_bytes <= most.get(case.function, case.class_bytes)


def path_faults(case: Case) -> list[str]:
    """Not one straight path: some calls took another way (the slow path), or it loops."""
    if not case.times:
        return [f"{case.name}: no instruction of the library ran"]
    uneven = sum(times != CALLS for times in case.times.values())
    if not uneven:
        return []
    total = sum(case.times.values())
    return [f"{case.name}: {total} instructions in {CALLS} calls, {uneven} addresses not once per call: "
            "not the fast path"]


def forbidden(text: str, function: str) -> bool:
    """Locks, or calls where none belong."""
    if LOCKED.match(text):
        return True
    return text.startswith(("call", "bnd call")) and not (function in CALLS_MEMSET and "memset" in text)


def listing_faults(case: Case, listing: dict[int, str]) -> list[str]:
    """Instructions of the path that may not be there."""
    texts = ((address, listing.get(address, "(not in the listing)")) for address in sorted(case.times))
    return [f"{case.name}: {address:#x} {text}" for address, text in texts
            if text.startswith("(") or forbidden(text, case.function)]


def limit(case: Case) -> int | None:
    """The most instructions the function may take, where a target says so."""
    if case.function == "malloc":
        return 16 if case.class_bytes <= SMALL_BYTES else 22
    return 18 if case.function == "free" else None


def target_faults(case: Case) -> list[str]:
    """More instructions than the target."""
    most = limit(case)
    if most is None or len(case.times) <= most:
        return []
    return [f"{case.name}: {len(case.times)} instructions, target {most}"]


def all_faults(cases: list[Case], listing: dict[int, str]) -> list[str]:
    """Every breach of path, listing and target."""
    return [fault for case in cases if applies(case)
            for fault in (*path_faults(case), *listing_faults(case, listing), *target_faults(case))]


# ---- the table ----

def table(cases: list[Case]) -> str:
    """One row per class: the longer end's instructions of each function."""
    longest: dict[tuple[int, str], int] = {}
    for case in filter(applies, cases):
        key = (case.class_bytes, case.function)
        longest[key] = max(longest.get(key, 0), len(case.times))
    rows = [f"{'class':>7}" + "".join(f"{heading:>11}" for heading in HEADINGS)]
    for class_bytes in sorted({case.class_bytes for case in cases}):
        cells = (longest.get((class_bytes, column), "-") for column in COLUMNS)
        rows.append(f"{class_bytes:>7}" + "".join(f"{cell:>11}" for cell in cells))
    return TITLE + "\n".join(rows) + "\n"


# ---- for the command line ----

@dataclass
class FastPaths:
    """All there is to say of one build."""

    cases: list[Case]
    listing: dict[int, str]
    moved: list[str]
    golden: ClassVar[Path] = Path(__file__).with_name("golden.txt")
    what: ClassVar[str] = "fast paths"

    def __len__(self) -> int:
        return sum(map(applies, self.cases))

    def broken(self) -> list[str]:
        """Why the table would be none of fast paths."""
        return [fault for case in self.cases if applies(case) for fault in path_faults(case)]

    def faults(self) -> list[str]:
        """Breaches of what holds for every build."""
        return self.moved + all_faults(self.cases, self.listing)

    def table(self) -> str:
        """As checked in."""
        return table(self.cases)

    def differences(self, golden: str) -> list[str]:
        """The lines in which the checked-in table differs: these counts are exact."""
        return list(difflib.unified_diff(golden.splitlines(), self.table().splitlines(), self.golden.name, "this build",
                                         lineterm="", n=0))

    def details(self) -> list[str]:
        """Two paths instruction by instruction."""
        lines = []
        for case in self.cases:
            if case.function in ("malloc", "free") and case.asked == 48:
                lines.append(case.name)
                lines += [f"  {address:6x}  {self.listing.get(address, '?')}" for address in sorted(case.times)]
        return lines


def measured(probe: Path, library: Path) -> FastPaths:
    """Runs fast_paths.cpp; what it says beside the dumps is a block that moved."""
    text, said = callgrind.run_probe([str(probe)], library, {})
    cases = [case_of(dump) for dump in callgrind.parse_dumps(text, library)]
    return FastPaths(cases, disassembly(library), sorted(set(said)))
