# SPDX-License-Identifier: MIT OR Apache-2.0
"""All runs, in turn: first the floors of all programs, then rounds, in which every configuration has its turn in every program.

What the CSV holds already is not measured again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from hakmem.base.console import stderr_console
from hakmem.base.errors import Refusal
from hakmem.base.scratch import scratch_folder
from hakmem.process.peers import Allocator
from hakmem.process.places import Places
from hakmem_lab.bench.progress import Progress
from hakmem_lab.pareto import rows as lines
from hakmem_lab.pareto.configurations import Configuration
from hakmem_lab.pareto.perform import Context, measure, measure_floor
from hakmem_lab.pareto.programs import Real

SOME_FAILED = 1
FLOOR = lines.FLOOR


@dataclass(frozen=True)
class Order:
    """What is to be measured."""

    programs: list[Real]
    configurations: list[Configuration]
    hakmem: Allocator
    runs: int
    floors: int
    timeout: float
    output: Path
    prepare: Callable[[], None] = lambda: None  # the machine, before each measured run
    fewer: Mapping[str, int] = field(default_factory=dict)  # rounds of a configuration, where not all `runs`

    def has(self, configuration: Configuration, number: int) -> bool:
        return number < self.fewer.get(configuration.name, self.runs)


@dataclass(frozen=True)
class Turn:
    program: Real
    configuration: Configuration | None  # None: the floor
    round: int

    @property
    def name(self) -> str:
        return self.configuration.name if self.configuration else FLOOR


def turns(order: Order) -> Iterator[Turn]:
    """Who comes first goes on from round to round and from program to program."""
    for number in range(order.floors):
        for program in order.programs:
            yield Turn(program, None, number)
    for number in range(order.runs):
        for place, program in enumerate(order.programs):
            among = [one for one in order.configurations if order.has(one, number)]
            at = (number + place) % max(1, len(among))
            for configuration in among[at:] + among[:at]:
                yield Turn(program, configuration, number)


def done_before(order: Order) -> set[tuple[str, str, str, int]]:
    """By what was measured, not only by what it is called."""
    if not order.output.exists():
        return set()
    rows = lines.complete(lines.read(order.output))
    refuse_renamed(order, rows)
    return {(row.program, row.configuration, row.version, row.round) for row in rows}


def refuse_renamed(order: Order, rows: list[lines.Row]) -> None:
    for one in order.configurations:
        other = next((row for row in rows if row.configuration == one.name
                      and (row.settings, row.version) != (one.settings_text, one.allocator.sha256)), None)
        if other:
            what = "another library" if other.settings == one.settings_text else f"the settings {other.settings or 'none'}"
            raise Refusal(f"--output {order.output}: {one.name} was measured there with {what}; name another file")


def key_of(order: Order, turn: Turn) -> tuple[str, str, str, int]:
    allocator = turn.configuration.allocator if turn.configuration else order.hakmem
    return turn.program.name, turn.name, allocator.sha256, turn.round


def take(context: Context, order: Order, turn: Turn) -> list[lines.Row]:
    if turn.configuration is None:
        found = measure_floor(context, turn.program, order.hakmem)
        return lines.rows_of_floor(turn.program, order.hakmem, turn.round, found)
    return lines.rows_of_run(turn.program, turn.configuration, turn.round, measure(context, turn.program, turn.configuration))


def failure(order: Order, turn: Turn, why: str) -> lines.Row:
    if turn.configuration is None:
        return lines.row_of_failure(turn.program, FLOOR, order.hakmem, "", turn.round, why)
    one = turn.configuration
    return lines.row_of_failure(turn.program, one.name, one.allocator, one.settings_text, turn.round, why)


class Session:
    """A program that failed on a configuration is not tried again on it in this session."""

    def __init__(self, context: Context, order: Order, progress: Progress) -> None:
        self.context, self.order, self.progress = context, order, progress
        self.failed: set[tuple[str, str]] = set()

    def make(self, planned: list[Turn]) -> None:
        self.progress.begin("pareto", len(planned))
        for turn in planned:
            self.progress.step(f"round {turn.round + 1}, {turn.program.name} on {turn.name}")
            if (turn.program.name, turn.name) not in self.failed:
                self.make_one(turn)

    def make_one(self, turn: Turn) -> None:
        try:
            found = take(self.context, self.order, turn)
        except Refusal as refusal:
            self.failed.add((turn.program.name, turn.name))
            self.progress.say(f"hakmem: {turn.program.name} on {turn.name}: {refusal}")
            found = [failure(self.order, turn, str(refusal))]
        lines.append(self.order.output, found)


def measure_all(places: Places, order: Order) -> int:
    """The exit status."""
    errors = stderr_console()
    before = done_before(order)
    planned = [turn for turn in turns(order) if key_of(order, turn) not in before]
    order.output.parent.mkdir(parents=True, exist_ok=True)
    introduce(errors, order, planned)
    with scratch_folder() as scratch, Progress(errors) as progress:
        with suppress(PermissionError):
            os.chmod(scratch, 0o711)  # for programs that run as nobody
        session = Session(Context(places, scratch, order.timeout, order.prepare), order, progress)
        session.make(planned)
    return SOME_FAILED if session.failed else 0


def introduce(console: Console, order: Order, planned: list[Turn]) -> None:
    names = ", ".join(one.name for one in order.configurations)
    console.print(f"{len(order.programs)} programs on {names}; {len(planned)} runs; rows: {order.output}",
                  highlight=False, markup=False, soft_wrap=True)
