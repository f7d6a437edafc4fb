# SPDX-License-Identifier: MIT OR Apache-2.0
"""All runs by turns: in each round each program runs once on each configuration, in an order that moves on.

After two rounds a program runs on HAKMEM, glibc, and its best three peers only. With minutes to spend, rounds are added
for each program whose verdict is open. A run that the CSV holds is not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from hakmem.base.console import stderr_console
from hakmem.base.errors import Refusal
from hakmem.base.scratch import scratch_folder
from hakmem.process.peers import GLIBC
from hakmem.process.places import Places
from hakmem_lab.bench.budget import Budget
from hakmem_lab.bench.progress import Progress
from hakmem_lab.judge import rows as lines
from hakmem_lab.judge import verdict
from hakmem_lab.judge.measure import measure
from hakmem_lab.judge.regimes import system_mode
from hakmem_lab.judge.rows import Row, is_hakmem
from hakmem_lab.pareto.configurations import Configuration
from hakmem_lab.pareto.perform import Context
from hakmem_lab.pareto.programs import Real

SOME_FAILED = 1
OPENING = 2  # rounds in which every configuration runs
FINALISTS = 3
WHOLE = 1.0  # of the budget


@dataclass(frozen=True)
class Order:
    programs: list[Real]
    configurations: list[Configuration]
    regime: str
    rounds: int
    timeout: float
    output: Path
    minutes: float = 0  # for rounds beyond `rounds`


@dataclass(frozen=True)
class Turn:
    program: Real
    configuration: Configuration
    round: int


# ---- the plan of a round ----

def turns(order: Order, number: int) -> list[Turn]:
    """Of round `number`, by what the CSV holds; those that it holds already are left out."""
    before = lines.read(order.output) if order.output.exists() else []
    keys, runs = {row.key for row in before}, verdict.runs_of(before, order.regime)
    return [turn for turn in planned(order, number, runs) if key_of(order, turn) not in keys]


def planned(order: Order, number: int, runs: verdict.Runs) -> Iterator[Turn]:
    for place, program in enumerate(order.programs):
        by = runs.get(program.name, {})
        if number > order.rounds and not is_open(order, program.name, by):
            continue
        among = order.configurations if number <= OPENING else finalists(order, by)
        at = (number + place) % len(among)
        for configuration in among[at:] + among[:at]:
            yield Turn(program, configuration, number)


def key_of(order: Order, turn: Turn) -> tuple[str, str, str, str, int]:
    on = turn.configuration
    return turn.program.name, order.regime, on.name, on.allocator.sha256, turn.round


def finalists(order: Order, by: dict[str, dict[int, Row]]) -> list[Configuration]:
    """The best by their CPU time in the opening rounds."""
    def opening(peer: Configuration) -> float:
        return verdict.least_cpu(by.get(peer.name, {}), lambda number: number <= OPENING) or float("inf")

    stays = [one for one in order.configurations if is_hakmem(one.allocator.name) or one.allocator.name == GLIBC]
    peers = sorted((one for one in order.configurations if one not in stays), key=opening)
    kept = [*stays, *peers[:FINALISTS]]
    return [one for one in order.configurations if one in kept]


def is_open(order: Order, program: str, by: dict[str, dict[int, Row]]) -> bool:
    """A program that failed on all has no verdict, and gets none by more rounds."""
    ours = next((one.name for one in order.configurations if is_hakmem(one.allocator.name)), None)
    peers = [one.name for one in order.configurations if not is_hakmem(one.allocator.name)]
    found = verdict.duel(program, by, ours, peers) if ours else None
    return found is not None and found.verdict == verdict.OPEN


# ---- runs ----

@dataclass
class Session:
    """A program that failed on a configuration is not tried again on that configuration."""

    order: Order
    context: Context
    progress: Progress
    measured: Callable[[Context, Turn], Row]  # raises Refusal
    failed: set[tuple[str, str]] = field(default_factory=set)

    def go_through(self, title: str, turns: list[Turn], budget: Budget) -> None:
        """Until the budget is spent."""
        self.progress.begin(title, len(turns))
        for turn in turns:
            self.progress.step(f"{turn.program.name} on {turn.configuration.name}")
            name = turn.program.name, turn.configuration.name
            if name not in self.failed and not budget.over(WHOLE):
                self.note(name, self.row_of(turn))

    def row_of(self, turn: Turn) -> Row:
        try:
            return self.measured(self.context, turn)
        except Refusal as refusal:
            return lines.row_of_failure(turn.program.name, self.order.regime, turn.configuration, turn.round, str(refusal))

    def note(self, name: tuple[str, str], row: Row) -> None:
        lines.append(self.order.output, row)
        if row.outcome != lines.OK:
            self.failed.add(name)
            self.progress.say(f"hakmem: {name[0]} on {name[1]}: {row.outcome}")

    @property
    def status(self) -> int:
        return SOME_FAILED if self.failed else 0


@contextmanager
def begun(places: Places, order: Order, timeout: float, measured: Callable[[Context, Turn], Row]) -> Iterator[Session]:
    order.output.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder() as scratch, Progress(stderr_console()) as progress:
        yield Session(order, Context(places, scratch, timeout), progress, measured)


def measure_all(places: Places, order: Order) -> int:
    """The exit status."""
    def measured(context: Context, turn: Turn) -> Row:
        used, digest = measure(context, turn.program, turn.configuration, order.regime)
        return lines.row_of_run(turn.program.name, order.regime, turn.configuration, turn.round, used, digest)

    with system_mode(order.regime), begun(places, order, order.timeout, measured) as session:
        for number in range(1, order.rounds + 1):
            session.go_through(f"judge, {order.regime}, round {number}", turns(order, number), Budget())
        budget = Budget(order.minutes * 60)
        for number in count(order.rounds + 1):
            left = turns(order, number)
            if not left or budget.over(WHOLE):
                break
            session.go_through(f"judge, {order.regime}, round {number}", left, budget)
    return session.status
