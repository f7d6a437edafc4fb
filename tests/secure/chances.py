# SPDX-License-Identifier: MIT OR Apache-2.0
"""Entropy of addresses of the secure flavour, over processes: chances.py LIBRARY PROGRAM [PROCESSES].

Prints, for each measure, how many bits of it changed over all draws and the entropy of what was drawn, and fails where
fewer differed than a random choice leaves.
"""

import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

UNIT = 1 << 16
PLACES = "absolute", "from the first block", "of two in a row", "slab: units from the first"


def draw(library: str, program: str, size: int) -> list[int]:
    """The addresses that one process prints."""
    env = os.environ | {"LD_PRELOAD": library}
    said = subprocess.run([program, str(size)], env=env, capture_output=True, text=True, check=True).stdout
    return [int(word, 16) for word in said.split()]


def measures(blocks: Sequence[int]) -> tuple[int, ...]:
    """What an attacker may guess of the next block: its place, and its place with one or the last block known."""
    first, last, next_one = blocks[0], blocks[-2], blocks[-1]
    return next_one, next_one - first, next_one - last, next_one // UNIT - first // UNIT


def entropy(values: Sequence[int]) -> float:
    """Shannon's entropy of the values drawn [bits]: at most the logarithm of their number."""
    total = len(values)
    return -sum(n / total * math.log2(n / total) for n in Counter(values).values())


def changed_bits(values: Sequence[int]) -> int:
    """How many binary digits differ in at least one pair of values."""
    changed = 0
    for value in values:
        changed |= value ^ values[0]
    return (changed & (1 << 64) - 1).bit_count()


def main(library: str, program: str, processes: int) -> int:
    """Exit status 1 where draws repeat more often than a random choice of slots allows."""
    failed = 0
    for size in 64, 1024, 16384:
        rows = [measures(draw(library, program, size)) for _ in range(processes)]
        for name, values in zip(PLACES, zip(*rows, strict=True), strict=True):
            bits = entropy(values)
            digits = changed_bits(values)
            print(f"{size:6} B  {name:27} {digits:3} digits, {bits:5.2f} of {math.log2(processes):5.2f} bits")
            failed |= name == "from the first block" and bits < math.log2(min(processes, 65536 // size)) - 1
            failed |= name == "absolute" and bits < math.log2(processes) - 0.5
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 100))
