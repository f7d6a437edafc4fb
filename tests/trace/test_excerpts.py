# SPDX-License-Identifier: MIT OR Apache-2.0
"""The excerpts of corpus/: each is read, simulated, and some are replayed.

What is in them is known, so that a reader that loses an event or tells a site from itself is found out.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import unittest
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
DUMP, LIBRARY = os.environ["HAK_DUMP"], os.environ["HAK_LIBRARY"]
SIMULATE, REPLAY = os.environ["HAK_SIMULATE"], os.environ["HAK_REPLAY"]
HEAD = re.compile(r"^process .*threads=(\d+) events=(\d+) sites=(\d+) blocks=(\d+)", re.MULTILINE)
MOST_BYTES = 2 << 20
WORST = 2.0  # of the baseline, by theorem
REPLAYED = ("node", "redis-server.large")


@dataclass(frozen=True)
class Known:
    threads: int
    events: int
    sites: int  # with the one that is not known
    blocks: int
    waits: int  # of freed blocks of 64 KiB and more


KNOWN = {
    "ffmpeg": Known(3, 23_147, 83, 11_646, 169),
    "ffmpeg.large": Known(2, 2_048, 36, 1_025, 1_024),
    "g++": Known(1, 30_106, 447, 15_278, 0),
    "g++.large": Known(1, 4_473, 85, 2_260, 2_225),
    "ghostscript": Known(1, 9_804, 798, 4_905, 57),
    "node": Known(5, 21_748, 1041, 11_928, 463),
    "node.large": Known(5, 10_093, 84, 5_047, 5_046),
    "python3-malloc": Known(1, 32_510, 38, 21_219, 0),
    "python3-malloc.large": Known(1, 559, 43, 442, 328),
    "python3": Known(1, 6_389, 1330, 4_198, 328),
    "redis-server": Known(1, 17_242, 24, 10_014, 1_820),
    "redis-server.large": Known(1, 13_581, 10, 8_448, 5_133),
    "sqlite3": Known(1, 45_569, 144, 30_832, 249),
    "sqlite3.large": Known(1, 2_246, 32, 1_758, 1_758),
    "z3": Known(1, 40_542, 18, 20_423, 0),
    "z3.large": Known(1, 35, 24, 20, 19),
}


def records(name: str) -> bytes:
    return gzip.decompress((CORPUS / f"{name}.hakt").read_bytes())


def told(command: list[str], name: str, **variables: str) -> str:
    environment = {**os.environ, **variables}
    done = subprocess.run(command, input=records(name), capture_output=True, env=environment, check=True)
    return done.stdout.decode(errors="replace")


class Excerpts(unittest.TestCase):
    def test_they_are_all_known_and_small(self) -> None:
        files = list(CORPUS.glob("*.hakt"))
        self.assertEqual({file.name.removesuffix(".hakt") for file in files}, set(KNOWN))
        self.assertLess(sum(file.stat().st_size for file in files), MOST_BYTES)

    def test_each_is_read_whole(self) -> None:
        for name, known in KNOWN.items():
            with self.subTest(name):
                text = told([DUMP, "heads"], name)
                found = [Known(*map(int, one), known.waits) for one in HEAD.findall(text)]
                self.assertEqual(found, [known])
                self.assertIn(" lost=0 implied=0 unknown=0 ", text)
                self.assertIn("read good=1 torn=0", text)

    def test_the_baseline_pays_at_most_twice_what_the_clairvoyant_does(self) -> None:
        for name, known in KNOWN.items():
            with self.subTest(name):
                lines = [json.loads(line) for line in told([SIMULATE], name).splitlines()]
                self.assertEqual(lines[0]["gaps"], known.waits)
                ratios = [line["ratio"] for line in lines if line["kind"] == "policy" and line["policy"] == "baseline"]
                self.assertEqual(len(ratios), min(1, known.waits))
                self.assertTrue(all(1 <= ratio <= WORST for ratio in ratios), ratios)

    def test_replayed_on_hakmem_every_call_is_made(self) -> None:
        for name in REPLAYED:
            line = told([REPLAY], name, LD_PRELOAD=LIBRARY)
            figures = {key: int(value) for key, value in (pair.split("=") for pair in line.split())}
            wanted = {"calls": KNOWN[name].events, "threads": KNOWN[name].threads, "skipped": 0, "failed": 0}
            self.assertEqual({key: figures[key] for key in wanted}, wanted)


if __name__ == "__main__":
    unittest.main()
