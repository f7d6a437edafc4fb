# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run of each program on each configuration under cachegrind: what repeats, whatever else the machine does.

Instructions of all its processes, without the kernel's, and misses of caches of the sizes below: a first one of data and
of instructions, and a last one of both, as the second cache of a server's core. What a program does by itself counts too.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hakmem.base.console import stderr_console
from hakmem.base.errors import Refusal
from hakmem.base.scratch import scratch_folder
from hakmem.process.places import Places
from hakmem.process.proof import read_records
from hakmem_lab.bench.cell import last_line
from hakmem_lab.bench.progress import Progress
from hakmem_lab.judge import rows as lines
from hakmem_lab.judge.measure import run
from hakmem_lab.judge.regimes import COUNTED
from hakmem_lab.judge.rows import Counts, Row
from hakmem_lab.judge.session import SOME_FAILED, Order, Turn, key_of
from hakmem_lab.pareto.perform import ERRORS, PROOF, Context, preloads, refuse_unless_served, run_folder, variables_of

SLOWER = 20  # the time that a run may take, beside one that is timed
CACHES = ("--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64")
SUMMARY = re.compile(r"^summary: ([\d ]+)$", re.MULTILINE)
# Of cachegrind's columns: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
IR, FIRST, LAST = 0, (1, 4, 7), (2, 5, 8)


def count_all(places: Places, order: Order) -> int:
    """The exit status."""
    if shutil.which("valgrind") is None:
        raise Refusal("valgrind is missing (apt-get install valgrind)")
    order.output.parent.mkdir(parents=True, exist_ok=True)
    todo, failed = list(turns(order)), False
    with scratch_folder() as scratch, Progress(stderr_console()) as progress:
        context = Context(places, scratch, order.timeout * SLOWER)
        progress.begin("judge, counted", len(todo))
        for turn in todo:
            progress.step(f"{turn.program.name} on {turn.configuration.name}")
            row = one_row(context, turn)
            lines.append(order.output, row)
            if row.outcome != lines.OK:
                failed = True
                progress.say(f"hakmem: {turn.program.name} on {turn.configuration.name}: {row.outcome}")
    return SOME_FAILED if failed else 0


def turns(order: Order) -> Iterator[Turn]:
    before = {row.key for row in lines.read(order.output)} if order.output.exists() else set()
    for program in order.programs:
        for configuration in order.configurations:
            turn = Turn(program, configuration, 1)
            if key_of(order, turn) not in before:
                yield turn


def one_row(context: Context, turn: Turn) -> Row:
    program, on = turn.program, turn.configuration
    try:
        return lines.row_of_counts(program.name, COUNTED, on, count(context, turn))
    except Refusal as refusal:
        return lines.row_of_failure(program.name, COUNTED, on, turn.round, str(refusal))


def count(context: Context, turn: Turn) -> Counts:
    """Raises Refusal when it fails, is not served, or takes too long."""
    program, on = turn.program, turn.configuration
    with run_folder(context, program, 0) as folder:
        environ = variables_of(program, folder, preloads(context, on.allocator), on.variables)
        counting = ("valgrind", "--quiet", "--tool=cachegrind", "--cache-sim=yes", "--trace-children=yes", *CACHES,
                    f"--cachegrind-out-file={folder}/counts.%p")
        figures = run(context, replace(program, words=(*counting, *program.words)), folder, environ)
        if figures.status != 0:
            raise Refusal(f"{figures.end} under cachegrind: {last_line(folder / ERRORS)}")
        refuse_unless_served(program, on.allocator, read_records(folder / PROOF))
        return summed(folder.glob("counts.*"))


def summed(files: Iterator[Path]) -> Counts:
    found = [SUMMARY.search(file.read_text()) for file in files]
    figures = [[int(number) for number in one[1].split()] for one in found if one]
    if not figures:
        raise Refusal("cachegrind counted nothing")
    total = [sum(column) for column in zip(*figures)]
    return Counts(total[IR], sum(total[at] for at in FIRST), sum(total[at] for at in LAST))
