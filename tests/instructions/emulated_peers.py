# SPDX-License-Identifier: MIT OR Apache-2.0
"""Instructions of malloc and free on AArch64 beside mimalloc's, in the same counter: peers_aarch64.txt is rewritten.

usage     emulated_peers.py --library HAKMEM --probe PROBE --emulator "qemu-aarch64 -L ROOT" --peers FOLDER [--update]
what      As emulated_paths.py counts: what ran of the library between a call's two marks. FOLDER holds mimalloc's
          libraries (mimalloc.sh). A call of mimalloc does not always take the same way, so its shortest is compared: a
          cell says the fewest and the most of eight calls, four at each end of the class.
failure   Exit 1 where HAKMEM's malloc or free takes more than a peer's shortest. The table is a record: ways that are not
          the shortest differ from run to run, as mimalloc draws random numbers.
not here  What a call makes libc and the kernel do.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

sys.dont_write_bytecode = True

import emulated_paths  # noqa: E402

GOLDEN = Path(__file__).with_name("peers_aarch64.txt")
CLASSES = (*emulated_paths.CLASSES, "327680", "1048576", "4194304")
FUNCTIONS = ("malloc", "free", "calloc", "realloc")
TITLE = """\
# Instructions of a call on AArch64, counted in qemu-user's log (tests/instructions/emulated_peers.py): the fewest and the
# most of eight calls. gcc 12; mimalloc: tests/instructions/mimalloc.sh. What a call makes libc and the kernel do is not in
# it. To rewrite this, with cargo: cmake --build build/release-aarch64 --target golden_peers
"""

Cells = dict[tuple[str, str], list[int]]


def name_of(library: Path) -> str:
    return "HAKMEM" if "hakmem" in library.name else library.name.removeprefix("lib").removesuffix(".so").replace("-", " ")


def cells(options: argparse.Namespace) -> Cells:
    """Function and class of each call -> its instructions."""
    found: Cells = defaultdict(list)
    for (function, class_bytes, _), calls in emulated_paths.dumps(options, CLASSES):
        found[function, class_bytes] += [sum(call.values()) for call in calls]
    return found


def cell(counts: list[int]) -> str:
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def table(found: dict[str, Cells]) -> str:
    lines = [TITLE + f"{'function':<9}{'class':>9}" + "".join(f"{name:>19}" for name in found)]
    for function in FUNCTIONS:
        lines += [f"{function:<9}{size:>9}" + "".join(f"{cell(of[function, size]):>19}" for of in found.values())
                  for size in CLASSES]
    return "\n".join(lines) + "\n"


def breaches(found: dict[str, Cells]) -> list[str]:
    """Fast paths that take more than the shortest way of a peer at any class that both serve by such a path."""
    own, *others = found
    return [f"{function} of class {size}: {max(found[own][function, size])} instructions, {other} {min(found[other][function, size])}"
            for other in others for function in ("malloc", "free") for size in emulated_paths.CLASSES
            if max(found[own][function, size]) > min(found[other][function, size])]


def main() -> int:
    parser = argparse.ArgumentParser(description="AArch64's instructions beside mimalloc's")
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--probe", type=Path, required=True)
    parser.add_argument("--emulator", required=True)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    peers = sorted(options.peers.glob("libmimalloc-*.so"))
    assert peers, f"no library of mimalloc in {options.peers}"
    found = {name_of(library): cells(argparse.Namespace(**vars(options) | {"library": library.resolve()}))
             for library in (options.library, *peers)}
    now = table(found)
    if options.update:
        GOLDEN.write_text(now, encoding="utf-8")
    faults = breaches(found)
    print("\n".join([now, *faults]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
