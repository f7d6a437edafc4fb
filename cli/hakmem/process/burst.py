# SPDX-License-Identifier: MIT OR Apache-2.0
"""A small service in one process: a burst of requests, then rest, and one line at the end.

    burst   threads answer requests; each parses a document and keeps it in a cache
    rest    all documents but every 20th have expired; a request now and then

The requests come from this process, so that nothing else has to be installed. Every run does exactly the same and
prints exactly the same.
"""

import json
import random
import sys
import time
import zlib
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Optional

Document = dict[str, Any]

THREADS = 4
TEXTS, LINES = 16, 100
BURST_REQUESTS, REST_REQUESTS = 600, 32
REST_SECONDS = 0.8
ONE_STAYS_OF = 20
WORDS = ["amber", "basalt", "cedar", "delta", "ember", "fjord", "granite", "harbor", "iris", "juniper"]


def order_line(rng: random.Random, number: int) -> Document:
    return {
        "line": number,
        "article": " ".join(rng.choices(WORDS, k=2)),
        "price": round(rng.uniform(1, 500), 2),
        "tags": rng.choices(WORDS, k=rng.randrange(1, 5)),
        "note": " ".join(rng.choices(WORDS, k=rng.randrange(60))),
    }


def order(rng: random.Random) -> str:
    """A request as it comes from a client."""
    return json.dumps([order_line(rng, number) for number in range(rng.randrange(LINES, 2 * LINES))])


class Service:
    """Its cache holds the document of each request until it expires."""

    def __init__(self) -> None:
        rng = random.Random(20260801)
        self.texts = [order(rng) for _ in range(TEXTS)]
        self.requests: SimpleQueue[Optional[int]] = SimpleQueue()
        self.lock = Lock()
        self.cache: dict[int, Document] = {}
        self.checksum = 0

    def answer(self, number: int) -> None:
        document = json.loads(self.texts[number % TEXTS])
        document.append(number)
        said = json.dumps(document[-8:]).encode()
        with self.lock:
            self.cache[number] = document
            self.checksum ^= zlib.crc32(said)

    def work(self) -> None:
        while (number := self.requests.get()) is not None:
            self.answer(number)

    def expire(self) -> None:
        with self.lock:
            for number in [number for number in self.cache if number % ONE_STAYS_OF]:
                del self.cache[number]


def burst(service: Service) -> None:
    """It ends with the last answer."""
    workers = [Thread(target=service.work) for _ in range(THREADS)]
    for number in [*range(BURST_REQUESTS), *[None] * THREADS]:
        service.requests.put(number)
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def rest(service: Service) -> None:
    for number in range(BURST_REQUESTS, BURST_REQUESTS + REST_REQUESTS):
        service.expire()
        time.sleep(REST_SECONDS / REST_REQUESTS)
        service.answer(number)


def main() -> int:
    service = Service()
    burst(service)
    rest(service)
    print(f"burst: {BURST_REQUESTS} requests, {REST_REQUESTS} at rest, {len(service.cache)} documents stay, "
          f"checksum {service.checksum:08x}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
