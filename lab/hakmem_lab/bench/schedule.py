# SPDX-License-Identifier: MIT OR Apache-2.0
"""The order of the runs of the time pass: warm-ups first, then rounds in which the allocators take turns.

    round 0     benchmark a: hakmem glibc mimalloc    benchmark b: glibc mimalloc hakmem    ...
    round 1     benchmark a: glibc mimalloc hakmem    ...

So whatever the machine does over the minutes meets every allocator alike, and none always comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from hakmem.process.peers import Allocator
from hakmem_lab.bench import disturbance
from hakmem_lab.bench.budget import FEWEST_ROUNDS, TIME_SHARE, too_dear
from hakmem_lab.bench.cell import NO_END, Benchmark, Context, Failures, run_cell
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.real import run_real
from hakmem_lab.bench.record import COUNTED, OK, WARM_UP, Metric, Recorder, Run

MORE_TRIES = 2  # of a disturbed run
MOST_EXTRA = 0.3  # of all runs; on a machine that is never still the rest is only marked


@dataclass(frozen=True)
class Turn:
    """One run to be made."""

    round: int
    phase: str
    benchmark: Benchmark
    allocator: Allocator


Starter = Callable[[Context, Benchmark, Allocator, int, str], tuple[Run, list[Metric]]]


def rotated(allocators: list[Allocator], by: int) -> list[Allocator]:
    at = by % len(allocators)
    return allocators[at:] + allocators[:at]


def turns(benchmarks: list[Benchmark], allocators: list[Allocator], warm_ups: int, runs: int) -> Iterator[Turn]:
    """Rounds of each phase count from 0; who comes first goes on from the warm-ups to the counted rounds."""
    phases = [(WARM_UP, number) for number in range(warm_ups)] + [(COUNTED, number) for number in range(runs)]
    for position, (phase, number) in enumerate(phases):
        for row, benchmark in enumerate(benchmarks):
            for allocator in rotated(allocators, position + row):
                yield Turn(number, phase, benchmark, allocator)


def start_any(
    context: Context, benchmark: Benchmark, allocator: Allocator, number: int, phase: str
) -> tuple[Run, list[Metric]]:
    starter = run_real if benchmark.program is None else run_cell
    return starter(context, benchmark, allocator, number, phase)


def watched(starter: Starter, judge: disturbance.Judge, context: Context, turn: Turn) -> tuple[Run, list[Metric]]:
    """One process, and what disturbed it."""
    load, before = disturbance.load(), disturbance.look()
    run, metrics = starter(context, turn.benchmark, turn.allocator, turn.round, turn.phase)
    after, mhz = disturbance.look(), disturbance.frequency()
    return judge.judged(run, disturbance.meanwhile(before, after, load, mhz)), metrics


def rounds_of(all_turns: list[Turn]) -> list[list[Turn]]:
    return [list(turns) for _, turns in groupby(all_turns, key=lambda turn: (turn.phase, turn.round))]


class TimePass:
    """Makes the turns, as many rounds as the budget has room for; what failed once is not tried again on that allocator."""

    def __init__(
        self, context: Context, recorder: Recorder, progress: Progress, failed: Failures, starter: Starter = start_any
    ) -> None:
        self.context, self.recorder, self.progress, self.starter = context, recorder, progress, starter
        self.failed = failed  # also holds what failed before
        self.judge = disturbance.Judge()
        self.turns = self.extra = 0  # begun, in rounds; made again
        self.budget = context.budget if context else NO_END
        self.costs: dict[str, float] = {}  # seconds of each row's latest round

    def make(self, all_turns: list[Turn]) -> None:
        self.progress.begin("time", len(all_turns))
        rounds = rounds_of(all_turns)
        counted = sum(turns[0].phase == COUNTED for turns in rounds)
        for turns in rounds:
            number = turns[0].round if turns[0].phase == COUNTED else 0
            if self.costs and not self.has_room(number, counted):
                self.progress.note(f"the time is over: {number} of {counted} rounds were made")
                break
            self.make_round([turn for turn in turns if not self.costs or turn.benchmark.name in self.costs])

    def has_room(self, done: int, wanted: int) -> bool:
        """For another round. Rows are left out until there can be enough rounds for a verdict."""
        least, left = min(FEWEST_ROUNDS, wanted), self.budget.left(TIME_SHARE)
        if done >= least:
            return sum(self.costs.values()) <= left
        dear = too_dear(self.costs, least - done, left)
        if dear:
            self.progress.note(f"left out, so that there is time for {least} rounds of the others: {', '.join(dear)}")
        for name in dear:
            del self.costs[name]
        return True

    def make_round(self, turns: list[Turn]) -> None:
        self.turns += len(turns)
        for name, of_row in groupby(turns, key=lambda turn: turn.benchmark.name):
            if self.costs and self.budget.over(TIME_SHARE):
                return
            began = self.budget.clock()
            for turn in of_row:
                self.progress.step(f"{turn.phase} {turn.round + 1}, {turn.benchmark.name} on {turn.allocator.name}")
                if (turn.benchmark.name, turn.allocator.name) not in self.failed:
                    self.take(turn)
            self.costs[name] = self.budget.clock() - began

    def take(self, turn: Turn) -> None:
        run, metrics = self.tried(turn)
        self.recorder.add(run, *metrics)
        if run.outcome != OK:
            self.failed[turn.benchmark.name, turn.allocator.name] = run.outcome
            self.progress.say(f"hakmem: {turn.benchmark.name} on {turn.allocator.name}: {run.outcome}")

    def tried(self, turn: Turn) -> tuple[Run, list[Metric]]:
        """Again when it was disturbed; a warm-up does not count anyway."""
        for tries in range(1, MORE_TRIES + 2):
            run, metrics = watched(self.starter, self.judge, self.context, turn)
            if not run.disturbed or run.outcome != OK or turn.phase == WARM_UP or not self.may_repeat(tries):
                break
        return replace(run, tries=tries), metrics

    def may_repeat(self, tries: int) -> bool:
        """Each round has its part, so that one is as dear as the next."""
        most = max(MORE_TRIES, int(MOST_EXTRA * self.turns))
        if tries > MORE_TRIES or self.extra >= most or self.budget.over(TIME_SHARE):
            return False
        self.extra += 1
        return True
