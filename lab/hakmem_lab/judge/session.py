# SPDX-License-Identifier: MIT OR Apache-2.0
"""All runs by turns: in each round each program runs once on each configuration, in an order that moves on.

A run that the CSV holds is not made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.console import stderr_console
from hakmem.base.errors import Refusal
from hakmem.base.scratch import scratch_folder
from hakmem.process.places import Places
from hakmem_lab.bench.progress import Progress
from hakmem_lab.pareto.configurations import Configuration
from hakmem_lab.pareto.perform import Context
from hakmem_lab.pareto.programs import Real
from hakmem_lab.judge import rows as lines
from hakmem_lab.judge.measure import measure

SOME_FAILED = 1


@dataclass(frozen=True)
class Order:
    programs: list[Real]
    configurations: list[Configuration]
    regime: str
    rounds: int
    timeout: float
    output: Path


@dataclass(frozen=True)
class Turn:
    program: Real
    configuration: Configuration
    round: int


def turns(order: Order) -> Iterator[Turn]:
    for number in range(1, order.rounds + 1):
        for place, program in enumerate(order.programs):
            at = (number + place) % len(order.configurations)
            for configuration in order.configurations[at:] + order.configurations[:at]:
                yield Turn(program, configuration, number)


def planned(order: Order) -> list[Turn]:
    before = {row.key for row in lines.read(order.output)} if order.output.exists() else set()
    return [turn for turn in turns(order) if (
        turn.program.name, order.regime, turn.configuration.name, turn.configuration.allocator.sha256, turn.round,
    ) not in before]


def measure_all(places: Places, order: Order) -> int:
    """The exit status. A program that failed on a configuration is not tried again on that configuration."""
    todo, failed = planned(order), set()
    order.output.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder() as scratch, Progress(stderr_console()) as progress:
        context = Context(places, scratch, order.timeout)
        progress.begin(f"judge, {order.regime}", len(todo))
        for turn in todo:
            progress.step(f"round {turn.round}, {turn.program.name} on {turn.configuration.name}")
            name = turn.program.name, turn.configuration.name
            if name not in failed:
                row = one_row(context, order.regime, turn)
                lines.append(order.output, row)
                if row.outcome != lines.OK:
                    failed.add(name)
                    progress.say(f"hakmem: {name[0]} on {name[1]}: {row.outcome}")
    return SOME_FAILED if failed else 0


def one_row(context: Context, regime: str, turn: Turn) -> lines.Row:
    try:
        used, digest = measure(context, turn.program, turn.configuration, regime)
    except Refusal as refusal:
        return lines.row_of_failure(turn.program.name, regime, turn.configuration, turn.round, str(refusal))
    return lines.row_of_run(turn.program.name, regime, turn.configuration, turn.round, used, digest)
