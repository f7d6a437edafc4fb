# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces of programs that never were, and the events that a reader must make of them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import count

from writer import ALIGNED, ALLOC, CALLOC, FREE, RESIZE, Site, Trace

UNKNOWN_SITE: Site = (0, 0)


@dataclass(frozen=True)
class Event:
    ns: int
    thread: int
    op: int
    block: int
    old: int = 0
    size: int = 0
    align: int = 0
    took: int = 0
    site: Site = UNKNOWN_SITE


def random_trace(rng: random.Random, most_bytes: int = 1 << 47) -> tuple[Trace, list[Event]]:
    """Blocks of up to `most_bytes` go from thread to thread; and the events that a reader must make of it."""
    trace = Trace()
    process = trace.process(7, ["prog"])
    threads = [process.thread(n) for n in range(rng.randrange(1, 40))]
    sites = [(rng.randrange(1 << 47), rng.randrange(1 << 20)) for _ in range(rng.randrange(1, 80))]
    addresses = [16 * rng.randrange(1, 1 << 43) for _ in range(200)]
    live: dict[int, tuple[int, int]] = {}
    numbers = count(1)
    now = rng.randrange(1 << 40)
    start = 0
    wanted: list[Event] = []

    def come(address: int) -> tuple[int, int]:
        live[address] = (next(numbers), rng.randrange(1, rng.choice((10, 1000, most_bytes))))
        return live[address]

    for _ in range(rng.randrange(1, 2000)):
        now += rng.randrange(1, 300)
        thread, site = rng.choice(threads), rng.choice(sites)
        free_addresses = [address for address in addresses if address not in live]
        if rng.random() < 0.02:
            thread.close()
        choice = rng.choice((ALLOC, CALLOC, ALIGNED, FREE, FREE, RESIZE))
        if choice >= FREE and not live or choice < FREE and not free_addresses:
            continue
        start = start or now
        if choice == FREE:
            address = rng.choice(list(live))
            block, size = live.pop(address)
            thread.free(now, address, site)
            wanted.append(Event(now - start, thread.number, FREE, block, size=size, site=site))
        elif choice == RESIZE:
            address = rng.choice(list(live))
            old, _ = live.pop(address)
            target = rng.choice([address, *free_addresses])
            block, size = come(target)
            took = rng.randrange(50)
            thread.resize(now, address, target, size, took, site)
            now += took
            wanted.append(Event(now - start, thread.number, RESIZE, block, old, size, took=took, site=site))
        else:
            address = rng.choice(free_addresses)
            block, size = come(address)
            log = rng.randrange(5, 30) if choice == ALIGNED else 0
            if choice == ALIGNED:
                thread.aligned(now, address, size, log, site)
            else:
                thread.allocate(now, address, size, site, choice)
            wanted.append(Event(now - start, thread.number, choice, block, size=size, align=log, site=site))
    used = sorted({thread.number for thread in threads if thread.events or thread.serial})
    return trace, [Event(**{**e.__dict__, "thread": used.index(e.thread)}) for e in wanted]
