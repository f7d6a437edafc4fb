# SPDX-License-Identifier: MIT OR Apache-2.0
"""The fast paths of AArch64: the instructions of each call, from qemu-user's log, compared with golden_aarch64.txt.

usage     emulated_paths.py --library LIBRARY --probe PROBE --emulator "qemu-aarch64 -L ROOT" --objdump PROGRAM [--update]
what      The probe of fast_paths.py, with another callgrind.h (emulated/): a mark before and behind each counted call.
          qemu makes a block of each instruction (-singlestep) and logs the address of each block that runs (-d exec), of
          the library and of the mark alone. As in fast_paths.py each address must have run once a call; the listing shows
          that no instruction is atomic, a barrier or a call.
failure   Exit 1 with every breach on a line of its own.
not here  Time, cycles, orders: an emulator has none of these.
"""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.dont_write_bytecode = True

import fast_paths  # noqa: E402

GOLDEN = Path(__file__).with_name("golden_aarch64.txt")
CLASSES = ("16", "48", "128", "1024", "1152", "4096", "32768", "65536", "262144")
LIBRARY_BYTES = 1 << 19
TRACE = re.compile(rb"^Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/")
PLACES = re.compile(r"^places 0x([0-9a-f]+) 0x([0-9a-f]+) (.+)$")
FORBIDDEN = re.compile(r"^(bl|blr|cas|swp|ldadd|ldset|ldclr|ldeor|ld[a]?x|st[l]?x|ldar|ldapr|stlr|dmb|dsb|isb)[a-z]*\b")
MOST = {"malloc": 22, "free": 21}
MOST_SMALL = {"malloc": 17}

TITLE = """\
# Instructions on AArch64's fast path from entry to ret, counted in qemu-user's log (tests/instructions/emulated_paths.py).
# gcc 12, release; counting off; the class's longer end. To rewrite this: cmake --build build/release-aarch64 --target golden
# Targets: malloc <= 17 up to 1024 B and <= 22 above, free <= 21; no atomic instruction, no barrier, no call. calloc: without
# memset's own instructions.
"""


def emulated(options: argparse.Namespace, classes: Sequence[str], *log: str) -> subprocess.Popen[bytes]:
    command = [*options.emulator.split(), *log, "-E", f"LD_PRELOAD={options.library}", str(options.probe), *classes]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def places(options: argparse.Namespace) -> tuple[int, int]:
    """Addresses of the mark and of the library, which serves malloc: the same in each run."""
    said, _ = emulated(options, CLASSES[:1]).communicate()
    found = PLACES.match(said.decode().splitlines()[0])
    assert found is not None and Path(found[3]).samefile(options.library), said
    return int(found[1], 16), int(found[2], 16)


def counted(lines: Iterable[bytes], mark: int, base: int) -> list[Counter[int]]:
    """What ran of the library between the marks of each call: offset -> times."""
    calls: list[Counter[int]] = []
    inside = False
    for line in lines:
        found = TRACE.match(line)
        if found is None:
            continue
        address = int(found[1], 16)
        if address == mark:
            inside = not inside
            if inside:
                calls.append(Counter())
        elif inside and base <= address < base + LIBRARY_BYTES:
            calls[-1][address - base] += 1
    return calls


def dumps(options: argparse.Namespace, classes: Sequence[str]) -> list[tuple[list[str], list[Counter[int]]]]:
    """Function, class and size asked for, and what ran in each of the calls."""
    mark, base = places(options)
    ranges = f"{base:#x}+{LIBRARY_BYTES:#x},{mark:#x}+4"
    run = emulated(options, classes, "-singlestep", "-d", "exec,nochain", "-dfilter", ranges)
    assert run.stderr is not None and run.stdout is not None
    calls = counted(run.stderr, mark, base)
    titles = [line.split()[1:] for line in run.stdout.read().decode().splitlines() if line.startswith("dump ")]
    assert len(calls) == len(titles) * fast_paths.CALLS, f"{len(calls)} calls, {len(titles)} dumps"
    return [(title, calls[n * fast_paths.CALLS:(n + 1) * fast_paths.CALLS]) for n, title in enumerate(titles)]


def cases(options: argparse.Namespace) -> list[fast_paths.Case]:
    found = []
    for (function, class_bytes, asked), calls in dumps(options, CLASSES):
        times: Counter[int] = Counter()
        for call in calls:
            times.update(call)
        found.append(fast_paths.Case(function, int(class_bytes), int(asked), times))
    return found


def disassembly(options: argparse.Namespace) -> dict[int, str]:
    listing = subprocess.run([options.objdump, "-d", "--no-show-raw-insn", "-w", str(options.library)],
                             capture_output=True, text=True, check=True).stdout
    found = (fast_paths.INSTRUCTION.match(line) for line in listing.splitlines())
    return {int(m.group(1), 16): m.group(2).strip() for m in found if m}


def faults(case: fast_paths.Case, listing: dict[int, str]) -> list[str]:
    found = fast_paths.path_faults(case)
    texts = [(address, listing.get(address, "(not in the listing)")) for address in sorted(case.times)]
    found += [f"{case.name}: {address:#x} {text}" for address, text in texts
              if text.startswith("(") or FORBIDDEN.match(text)]
    most = MOST_SMALL.get(case.function) if case.class_bytes <= fast_paths.SMALL_BYTES else None
    most = most or MOST.get(case.function)
    if most is not None and len(case.times) > most:
        found.append(f"{case.name}: {len(case.times)} instructions, target {most}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="AArch64's fast paths, compared with the checked-in table")
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--probe", type=Path, required=True)
    parser.add_argument("--emulator", required=True)
    parser.add_argument("--objdump", required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    options.library = options.library.resolve()
    found = cases(options)
    listing = disassembly(options)
    table = fast_paths.table(found).replace(fast_paths.TITLE, TITLE)
    breaches = [fault for case in found if fast_paths.applies(case) for fault in faults(case, listing)]
    if options.update and not breaches:
        GOLDEN.write_text(table, encoding="utf-8")
    golden = GOLDEN.read_text(encoding="utf-8") if GOLDEN.exists() else ""
    breaches += difflib.unified_diff(golden.splitlines(), table.splitlines(), GOLDEN.name, "this build", lineterm="", n=0)
    print("\n".join(breaches) if breaches else f"{len(found)} fast paths counted, all as they should be")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
