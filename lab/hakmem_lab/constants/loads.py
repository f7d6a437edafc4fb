# SPDX-License-Identifier: MIT OR Apache-2.0
"""Invented loads: traces (docs/guide/trace-format.md) of programs that never were, the same in every run.

Each is made to meet constants that the excerpts of real programs do not: limits of caches, threads that idle, sites by
the thousand, periods. Times are in nanoseconds, seeds are fixed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "trace"))

from writer import Process, Thread, Trace  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
US, MS, S = 1_000, 1_000_000, 1_000_000_000


class Load:
    """One process; its clock, and addresses that nobody has."""

    def __init__(self, seed: int) -> None:
        self.trace = Trace()
        self.process: Process = self.trace.process(7, ["load"])
        self.rng = random.Random(seed)
        self.ns = 0
        self.next = 16

    def thread(self, number: int = 0) -> Thread:
        return self.process.thread(number)

    def take(self, size: int, thread: int = 0, site: int = 1, wait: int = US) -> tuple[int, int]:
        """A block."""
        self.ns += wait
        address, self.next = self.next, self.next + 16
        self.thread(thread).allocate(self.ns, address, size, (0x400000 + site * 16, 0))
        return address, size

    def free(self, block: tuple[int, int], thread: int = 0, wait: int = US) -> None:
        self.ns += wait
        self.thread(thread).free(self.ns, block[0], (0x300000, 0))

    def resize(self, block: tuple[int, int], size: int, wait: int = US) -> tuple[int, int]:
        self.ns += wait
        address, self.next = self.next, self.next + 16
        self.thread().resize(self.ns, block[0], address, size, 100, (0x500000, 0))
        return address, size

    def between(self, least: int, most: int) -> int:
        return self.rng.randrange(least, most)

    def size_log(self, least: int, most: int) -> int:
        """Each doubling as often as another."""
        return int(least * (most / least) ** self.rng.random())

    def tick(self, ns: int, step: int = 10 * MS) -> None:
        """The program rests, but for a small block now and then."""
        for _ in range(ns // step):
            self.free(self.take(64, site=2, wait=step - US))


def replace(load: Load, slots: int, rounds: int, size: Callable[[], int], wait: int) -> list[tuple[int, int]]:
    blocks = [load.take(size(), wait=wait) for _ in range(slots)]
    for _ in range(rounds):
        i = load.rng.randrange(slots)
        load.free(blocks[i])
        blocks[i] = load.take(size(), wait=wait)
    return blocks


def free_all(load: Load, blocks: list[tuple[int, int]], thread: int = 0, wait: int = US) -> None:
    for block in blocks:
        load.free(block, thread, wait)


# ---- the loads ----

def slots(load: Load) -> None:
    """Sixteen blocks of 1 to 9 MiB, one replaced each millisecond; then rest."""
    blocks = replace(load, 16, 1500, lambda: load.between(MIB, 9 * MIB), MS)
    free_all(load, blocks)
    load.tick(2 * S)


def lifetimes(load: Load) -> None:
    """Blocks of 260 to 510 KiB, of which one in sixteen stays; then larger ones in their place."""
    blocks = replace(load, 200, 4000, lambda: load.between(260 * KIB, 510 * KIB), 200 * US)
    for turn in range(3):
        free_all(load, [block for i, block in enumerate(blocks) if i % 16])
        kept = [block for i, block in enumerate(blocks) if i % 16 == 0]
        blocks = kept + [load.take(900 * KIB + turn * 100 * KIB, site=3, wait=MS) for _ in range(60)]


def mixed(load: Load) -> None:
    """64 KiB, 256 KiB and 2 MiB in a hundred slots."""
    replace(load, 100, 12000, lambda: load.rng.choices((64 * KIB, 256 * KIB, 2 * MIB), (6, 3, 1))[0], 50 * US)


def bigs(load: Load) -> None:
    """80 MiB of 4 MiB every 0.6 s, ten times, and silence."""
    for _ in range(10):
        blocks = [load.take(4 * MIB, wait=MS) for _ in range(20)]
        free_all(load, blocks, wait=MS)
        load.tick(560 * MS)
    load.tick(3 * S)


def smalls(load: Load) -> None:
    """8 MiB of 500 B every 1.4 s, five times, and silence."""
    for _ in range(5):
        blocks = [load.take(500) for _ in range(16000)]
        free_all(load, blocks)
        load.tick(1360 * MS)
    load.tick(3 * S)


def night(load: Load) -> None:
    """Four threads; sessions of 16 B to 64 KiB; a second of day, one of night with a fifth of it, three times."""
    sessions: list[tuple[int, int]] = []
    for _ in range(3):
        for most, wait in ((6000, 60 * US), (1200, 2 * MS)):
            while len(sessions) > most:
                load.free(sessions.pop(load.rng.randrange(len(sessions))), load.rng.randrange(4))
            for _ in range(8000 if most == 6000 else 500):
                thread = load.rng.randrange(4)
                if len(sessions) >= most:
                    load.free(sessions.pop(load.rng.randrange(len(sessions))), thread)
                sessions.append(load.take(load.size_log(16, 64 * KIB), thread, wait=wait))


def fragments(load: Load) -> None:
    """48 MiB of 64 B to 4 KiB, nine tenths freed in no order, then a trickle for two seconds."""
    blocks = [load.take(load.size_log(64, 4 * KIB)) for _ in range(50000)]
    load.rng.shuffle(blocks)
    free_all(load, blocks[5000:])
    load.tick(2 * S)


def handover(load: Load) -> None:
    """One thread asks, another frees; 64 to 512 B, some thousand under way."""
    under_way: list[tuple[int, int]] = []
    for _ in range(30000):
        under_way.append(load.take(load.between(64, 512), 0))
        if len(under_way) > load.rng.randrange(500, 4000):
            free_all(load, under_way[:300], 1)
            del under_way[:300]


def idlers(load: Load) -> None:
    """Sixty threads fill their magazines and wait; meanwhile another one works for two seconds."""
    for thread in range(1, 61):
        for size, count in ((1024, 500), (8 * KIB, 200), (3 * KIB, 200)):
            for _ in range(2):
                free_all(load, [load.take(size, thread) for _ in range(count)], thread)
    for _ in range(200):
        free_all(load, [load.take(load.size_log(16, 32 * KIB), 61, wait=50 * US) for _ in range(100)], 61)
    for thread in range(1, 61):
        load.free(load.take(64, thread), thread)


def swing(load: Load) -> None:
    """Bursts of some hundred blocks of four sizes, taken and freed."""
    for _ in range(60):
        for size in (48, 300, 2000, 9000):
            free_all(load, [load.take(size) for _ in range(load.between(20, 160))])


def places(load: Load) -> None:
    """9,000 places ask for a block of 300 KiB each, thrice; a few of them often, and these blocks stay."""
    stay = []
    for _ in range(3):
        for site in range(9000):
            load.free(load.take(300 * KIB, site=10 + site, wait=20 * US))
            if site % 50 == 0:
                stay.append(load.take(400 * KIB, site=5, wait=20 * US))
        free_all(load, stay)
        stay.clear()


def runs(load: Load) -> None:
    """Pairs of 40 to 250 KiB, two deep; and bursts of them."""
    for _ in range(4000):
        size = load.between(40 * KIB, 250 * KIB)
        first, second = load.take(size), load.take(size // 2)
        load.free(second)
        load.free(first)
    for _ in range(60):
        free_all(load, [load.take(load.between(40 * KIB, 250 * KIB)) for _ in range(60)])


def growth(load: Load) -> None:
    """Vectors grow by half up to 32 MiB and are cut to size, large and small."""
    for _ in range(20):
        block = load.take(4 * KIB)
        while block[1] < 32 * MIB:
            block = load.resize(block, block[1] * 3 // 2, MS)
        load.free(load.resize(block, block[1] * 5 // 8))
    texts = [load.resize(load.take(1000), load.between(100, 1000)) for _ in range(5000)]
    free_all(load, texts)


def loop(load: Load) -> None:
    """Four threads are made and joined in a loop; each round takes 24 MiB in blocks of 100 KiB to 2 MiB."""
    for round_ in range(12):
        first = 1 + 4 * round_
        blocks = [(load.take(load.size_log(100 * KIB, 2 * MIB), first + i % 4, wait=MS), first + i % 4)
                  for i in range(40)]
        for block, thread in blocks:
            load.free(block, thread, MS)
        load.tick(60 * MS)


LOADS: tuple[Callable[[Load], None], ...] = (
    slots, lifetimes, mixed, bigs, smalls, night, fragments, handover, idlers, swing, places, runs, growth, loop,
)


def made() -> Iterator[tuple[str, bytes]]:
    """All loads by name, unpacked."""
    for seed, load in enumerate(LOADS):
        built = Load(seed)
        load(built)
        yield load.__name__, built.trace.bytes()
