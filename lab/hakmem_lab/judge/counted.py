# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run of each program on each configuration under cachegrind: counts repeat, whatever else the machine does.

Instructions of all its processes, without the kernel's, and misses of caches of the sizes below: a first one of data and
of instructions, and a last one of both, as the second cache of a server's core. The program's own are among them.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.places import Places
from hakmem.process.proof import read_records
from hakmem_lab.bench.budget import Budget
from hakmem_lab.bench.cell import last_line
from hakmem_lab.judge import rows as lines
from hakmem_lab.judge.measure import run
from hakmem_lab.judge.regimes import COUNTED
from hakmem_lab.judge.rows import Counts, Row
from hakmem_lab.judge.session import Order, Turn, begun, turns
from hakmem_lab.pareto.perform import ERRORS, PADDING, PROOF, Context, preloads, refuse_unless_served, run_folder, variables_of

SLOWER = 20  # the time that a run may take, beside one that is timed
CACHES = ("--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64")
SUMMARY = re.compile(r"^summary: ([\d ]+)$", re.MULTILINE)
# Of cachegrind's columns: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
IR, FIRST, LAST = 0, (1, 4, 7), (2, 5, 8)


def count_all(places: Places, order: Order) -> int:
    """The exit status."""
    def counted(context: Context, turn: Turn) -> Row:
        return lines.row_of_counts(turn.program.name, COUNTED, turn.configuration, count(context, turn))

    if shutil.which("valgrind") is None:
        raise Refusal("valgrind is missing (apt-get install valgrind)")
    with begun(places, order, order.timeout * SLOWER, counted) as session:
        session.go_through("judge, counted", turns(order, 1), Budget())
    return session.status


def count(context: Context, turn: Turn) -> Counts:
    """Raises Refusal when it fails, is not served, or takes too long."""
    program, on = turn.program, turn.configuration
    with run_folder(context, program, 0) as folder:
        environ = variables_of(program, folder, preloads(context, on.allocator), {**on.variables, PADDING: ""})
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
