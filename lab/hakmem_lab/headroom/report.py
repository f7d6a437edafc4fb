# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of `hakmem-lab headroom report`, as Markdown.

    cost of a run      CPU time + price x memory above the live floor x seconds
    cost of settings   least of the rounds that all settings compared have: a least of many rounds meets no least of few
    best settings      those with the least cost in odd rounds; the ratio to the default's cost is of even rounds, so that
                       luck in the choice is not in the figure
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem_lab.bench.statistics import geometric_mean
from hakmem_lab.headroom import learnt
from hakmem_lab.headroom.learnt import BOUND, NOTHING, least_costs
from hakmem_lab.headroom.table import PRICES, SETTINGS
from hakmem_lab.pareto.report import Line, table
from hakmem_lab.pareto.rows import complete, read
from hakmem_lab.pareto.verdict import Program, Runs, programs_of
from hakmem_lab.simulate.results import price_of



def report(file: Path) -> int:
    programs = programs_of(complete(read(file)))
    if not programs:
        raise Refusal(f"{file}: no program with a floor and a run that ended well")
    print("\n".join(sections(programs)))
    return 0


def sections(programs: list[Program]) -> Iterator[str]:
    yield "Cost of the best fixed settings, chosen on odd rounds ÷ the default's at that price, judged on even rounds.\n"
    yield table(["program", *(cell for price in PRICES for cell in (price, "÷ default"))], ratio_lines(programs))
    yield "Each of the settings: CPU time ÷ the default's at `balanced` in the rounds that both have; memory above the floor x seconds.\n"
    yield table(["program", *SETTINGS], figure_lines(programs))
    yield from learnt.sections(programs, {price: {one.name: headroom(one, price) for one in programs} for price in PRICES})


# ---- the best ----

def best_of(program: Program, ns: float) -> str | None:
    """By the odd rounds."""
    settings = [name for name in program.runs if name in SETTINGS]
    costs = least_costs(program, settings, ns, odd=True)
    return min(costs, key=costs.__getitem__, default=None)


def headroom(program: Program, price: str) -> tuple[str, float] | None:
    """The best settings, and their cost ÷ the default's in the even rounds."""
    ns = price_of(price)
    best = best_of(program, ns)
    if best is None or price not in program.runs:
        return None
    costs = least_costs(program, [best, price], ns, odd=False)
    return (best, costs[best] / costs[price]) if costs else None


def ratio_lines(programs: list[Program]) -> Iterator[Line]:
    found = {program.name: [headroom(program, price) for price in PRICES] for program in programs}
    for name, by in found.items():
        yield [name, *(cell for one in by for cell in ((one[0], f"{one[1]:.3f}") if one else (NOTHING, NOTHING)))]
    known = [[one[1] for one in by if one] for by in zip(*found.values())]
    yield ["geometric mean", *(cell for ratios in known for cell in ("", f"{geometric_mean(ratios):.3f}" if ratios else NOTHING))]
    yield [f"below {BOUND}",
           *(cell for ratios in known for cell in ("", f"{sum(ratio < BOUND for ratio in ratios)} of {len(ratios)}"))]


# ---- all figures ----

def figure_lines(programs: list[Program]) -> Iterator[Line]:
    for program in programs:
        usual = program.runs.get("balanced")
        if usual is not None:
            yield [program.name, *(figures(program.runs.get(name), usual) for name in SETTINGS)]


def figures(runs: Runs | None, usual: Runs) -> str:
    shared = runs.cpu_s.keys() & usual.cpu_s.keys() if runs else set()
    if not runs or not shared:
        return NOTHING
    cpu = min(runs.cpu_s[number] for number in shared) / min(usual.cpu_s[number] for number in shared)
    return f"{cpu:.3f}; {runs.point.excess_mib_s:.3g}"
