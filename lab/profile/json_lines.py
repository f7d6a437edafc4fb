# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes and reads records as JSON, and keeps a part of them."""

import json


def record(n: int) -> dict[str, object]:
    return {"id": n, "name": f"name {n}", "values": [n, n * 0.5, str(n)], "child": {"a": n, "b": [n] * 3}}


def main() -> None:
    kept = []
    for start in range(0, 20000, 500):
        text = json.dumps([record(n) for n in range(start, start + 500)])
        kept += json.loads(text)[::5]
    print(len(kept), sum(len(str(row)) for row in kept))


main()
