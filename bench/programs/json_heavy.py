# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds, dumps, loads and mutates nested documents, and prints one checksum.

The load of a web service in small: many short strings, dictionaries and lists that live for a while and die in
another order than they were born. Every run does exactly the same and prints exactly the same.
"""

import json
import random
import sys
import zlib
from typing import Any

Document = dict[str, Any]

DOCUMENTS = 900
ROUNDS = 8
WORDS = ["amber", "basalt", "cedar", "delta", "ember", "fjord", "granite", "harbor", "iris", "juniper"]


def phrase(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words))


def order_line(rng: random.Random, number: int) -> Document:
    return {
        "line": number,
        "article": phrase(rng, 2),
        "price": round(rng.uniform(1, 500), 2),
        "pieces": rng.randrange(1, 20),
        "tags": [phrase(rng, 1) for _ in range(rng.randrange(1, 5))],
    }


def document(rng: random.Random, number: int) -> Document:
    return {
        "id": f"order-{number:08d}",
        "customer": {"name": phrase(rng, 2), "address": {"street": phrase(rng, 3), "code": rng.randrange(99999)}},
        "lines": [order_line(rng, n) for n in range(rng.randrange(2, 16))],
        "note": phrase(rng, rng.randrange(0, 60)) if rng.random() < 0.3 else None,
    }


def mutate(rng: random.Random, doc: Document) -> None:
    lines = doc["lines"]
    lines.append(order_line(rng, len(lines)))
    if len(lines) > 3:
        del lines[rng.randrange(len(lines))]
    doc["customer"]["name"] = phrase(rng, 2)
    doc[f"seen-{rng.randrange(8)}"] = [rng.random() for _ in range(rng.randrange(12))]


def one_round(rng: random.Random, documents: list[Document], checksum: int) -> tuple[list[Document], int]:
    text = json.dumps(documents, sort_keys=True)
    checksum = zlib.crc32(text.encode(), checksum)
    loaded: list[Document] = json.loads(text)
    rng.shuffle(loaded)
    for doc in loaded:
        mutate(rng, doc)
    one_by_one = [json.loads(json.dumps(doc, indent=1)) for doc in loaded[: DOCUMENTS // 2]]
    return one_by_one + loaded[DOCUMENTS // 2 :], checksum


def main() -> int:
    rng = random.Random(20260801)
    documents = [document(rng, number) for number in range(DOCUMENTS)]
    checksum = 0
    for _ in range(ROUNDS):
        documents, checksum = one_round(rng, documents, checksum)
    print(f"json_heavy: {DOCUMENTS} documents, {ROUNDS} rounds, checksum {checksum:08x}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
