# SPDX-License-Identifier: MIT OR Apache-2.0
"""soak.py: a program with mixed load runs for minutes or hours, watched from outside: its RSS and mappings must not grow.

usage     soak.py --program FILE [--minutes M] [--seed N] [--drift PERCENT] [--csv FILE]
          soak.py --simulated --program FILE [--hours H] ...
what      soak.c runs on HAKMEM and ends each of its rounds with a line; every round holds the same episodes in another
          order. RSS is read twenty times a second from /proc, the number of mappings at the end of a round. The mean RSS of a
          round is one figure. The first tenth of the rounds is left out; drift is the mean of the last third of the rest over
          that of its first third, with its standard error.
          --simulated: the program is day.c, an hour of simulated time is a round, and its lines have RSS and mappings.
failure   Exit 1: the program failed, RSS grew by more than --drift (and by more than twice its standard error), mappings grew by
          more than a tenth and 8, or HAKMEM did not serve.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from hakmem.process.counters import parse_counts

EPISODES = 9
SAMPLE_S = 0.05
MIB = 1 << 20
# A simulated clock measures no costs.
TOLD_COSTS = {"HAKMEM_LAB_COST_CALL": "2000", "HAKMEM_LAB_COST_PAGE": "1000", "HAKMEM_LAB_COST_MOVE": "40"}
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Round:
    """What was seen of one round."""

    number: int
    rss: float  # mean [bytes]
    maps: int
    steps: int
    failed: int
    forks: int


@dataclass(frozen=True)
class Drift:
    """Of a figure: its means in the first and in the last third, and the standard error of their ratio."""

    first: float
    last: float
    error: float

    @property
    def growth(self) -> float:
        return self.last / self.first - 1


def drift_of(figures: list[float]) -> Drift:
    """Of at least three figures, after the first tenth."""
    steady = figures[len(figures) // 10:]
    third = max(len(steady) // 3, 1)
    first, last = steady[:third], steady[-third:]
    spread = [statistics.variance(part) / len(part) / statistics.fmean(part) ** 2 if len(part) > 1 else 0 for part in (first, last)]
    return Drift(statistics.fmean(first), statistics.fmean(last), sum(spread) ** 0.5)


def complaints(rounds: list[Round], most: float) -> list[str]:
    """What speaks against the run; `most` is the growth of RSS that may be."""
    rss, maps = drift_of([each.rss for each in rounds]), drift_of([float(each.maps) for each in rounds])
    found = []
    if rss.growth > most and rss.growth > 2 * rss.error:
        found.append(f"RSS grew by {rss.growth:.2%} (standard error {rss.error:.2%}), more than {most:.2%}")
    if maps.last > maps.first * 1.1 + 8:
        found.append(f"mappings grew from {maps.first:.0f} to {maps.last:.0f}")
    return found


class Watch(threading.Thread):
    """Samples the RSS of a process until told to stop."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.folder = Path(f"/proc/{pid}")
        self.samples: list[int] = []
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(SAMPLE_S):
            try:
                self.samples.append(int((self.folder / "statm").read_text().split()[1]) * PAGE)
            except (OSError, IndexError):
                return

    def taken(self) -> list[int]:
        """The samples since the last call."""
        samples, self.samples = self.samples, []
        return samples

    def maps(self) -> int:
        return len((self.folder / "maps").read_text().splitlines())


def watched(program: subprocess.Popen[str], csv: Path | None) -> list[Round]:
    """The rounds of a program, to its end."""
    watch = Watch(program.pid)
    watch.start()
    rounds = []
    assert program.stdout
    for line in program.stdout:
        rounds.append(round_of([int(word) for word in line.split()[1:]], watch))
        if csv:
            keep(csv, rounds[-1])
    watch.ended.set()
    return rounds


def round_of(words: list[int], watch: Watch) -> Round:
    """Of a line's numbers; what the line does not tell is seen from outside."""
    number, steps, failed, forks, *own = words
    rss, maps = own or (statistics.fmean(watch.taken() or [0]), watch.maps())
    return Round(number, rss, int(maps), steps, failed, forks)


def keep(csv: Path, seen: Round) -> None:
    if seen.number == 1:
        csv.write_text("round,rss_bytes,maps,steps,failed,forks\n", encoding="utf-8")
    with csv.open("a", encoding="utf-8") as file:
        file.write(f"{seen.number},{seen.rss:.0f},{seen.maps},{seen.steps},{seen.failed},{seen.forks}\n")


def served(folder: Path, pid: int) -> bool:
    """By the program's own counters file: it took memory from the kernel through HAKMEM."""
    file = folder / f"counters.{pid}"
    return file.is_file() and parse_counts(file.read_bytes()).get("kernel_map", 0) > 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="a long run of mixed load on HAKMEM, watched from outside")
    parser.add_argument("--program", type=Path, required=True, help="soak, linked with libhakmem.so")
    parser.add_argument("--minutes", type=float, default=60, help="about how long (default: 60)")
    parser.add_argument("--simulated", action="store_true", help="the program is day, which has a clock of its own")
    parser.add_argument("--hours", type=int, default=24, help="of simulated time (default: 24)")
    parser.add_argument("--episode-ms", type=int, default=1000, help="length of an episode; a round has nine")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of all that is chosen by chance")
    parser.add_argument("--drift", type=float, default=1, metavar="PERCENT", help="growth of RSS that passes (default: 1); 0: any growth of anything")
    parser.add_argument("--csv", type=Path, help="keep each round's figures there")
    options = parser.parse_args()
    options.rounds = options.hours if options.simulated else round(options.minutes * 60_000 / options.episode_ms / EPISODES)
    if options.rounds < 3:
        parser.error("fewer than three rounds: a round takes nine times --episode-ms, or a simulated hour")
    return options


def words_of(options: argparse.Namespace) -> list[str]:
    """The command line of the program."""
    length = [] if options.simulated else [str(options.episode_ms)]
    return [str(options.program), str(options.rounds), *length, str(options.seed)]


def main() -> int:
    options = parsed()
    with tempfile.TemporaryDirectory() as scratch:
        environment = os.environ | TOLD_COSTS | {"HAKMEM_COUNTERS_FILE": f"{scratch}/counters"}
        begin = time.monotonic()
        program = subprocess.Popen(words_of(options), env=environment, stdout=subprocess.PIPE, text=True)
        try:
            rounds = watched(program, options.csv)
        finally:
            if sys.exc_info()[0]:
                program.kill()
            status = program.wait()
        found = [] if status == 0 else [f"the program ended with status {status}"]
        found += [] if served(Path(scratch), program.pid) else ["HAKMEM did not serve the program"]
    if len(rounds) >= 3:
        rss, maps, last = drift_of([each.rss for each in rounds]), drift_of([float(each.maps) for each in rounds]), rounds[-1]
        print(f"{(time.monotonic() - begin) / 60:.1f} min, {len(rounds)} rounds, {last.steps:,} steps, {last.forks:,} forks, "
              f"{last.failed:,} requests refused by limits, seed {options.seed}")
        print(f"RSS {rss.first / MIB:.2f} -> {rss.last / MIB:.2f} MiB: {rss.growth:+.2%}, standard error {rss.error:.2%}; "
              f"mappings {maps.first:.1f} -> {maps.last:.1f}")
        found += complaints(rounds, options.drift / 100) if options.drift else []
    for line in found:
        print(f"soak.py: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
