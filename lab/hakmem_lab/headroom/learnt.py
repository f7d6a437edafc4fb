# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is learnt ÷ what it is without, and beside peers, at one price.

    first, tenth   of these runs with a folder of policies: cost ÷ the default's of the same round
    then           the third to the last: cost ÷ the default's of the same rounds, of medians; the least and the most of
                   these rounds; CPU time ÷ the default's; excess beyond it
    mean           geometric, of the programs, and its 95 % interval over the programs drawn again
    taken          share of the best fixed settings' headroom, where these cost at most 0.97 of the default
    best peer      the least cost in odd rounds; HAKMEM's least ÷ the peer's least of even rounds
    a learner      `evolving` with it ÷ `evolving` without it, of the same rounds
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from hakmem.process.peers import HAKMEM
from hakmem_lab.bench.statistics import RESAMPLES, SEED, Ratio, geometric_mean, ratio_of_medians
from hakmem_lab.headroom.table import LEARNT, PRICES, SETTINGS, WITH
from hakmem_lab.pareto.configurations import BALANCED, EVOLVING
from hakmem_lab.pareto.report import Line, table
from hakmem_lab.pareto.verdict import Program, Runs
from hakmem_lab.simulate.results import price_of

BOUND = 0.97  # a program below it has headroom
WORSE = 1.01  # a row is worse if its interval lies wholly above it
HALF = 0.5
CLOUD = "131000"  # [ns] a MiB and second, where a core costs as much as 7.5 GiB
THIRD, TENTH = 2, 9  # the first round is 0
NOTHING = "–"
Best = Mapping[str, Mapping[str, "tuple[str, float] | None"]]  # by price and program: settings, ÷ the default


def sections(programs: list[Program], best: Best) -> Iterator[str]:
    for price in PRICES:
        if any(f"{LEARNT}{price}" in program.runs for program in programs):
            yield f"With a folder of policies at `{price}`: cost ÷ without, ÷ the best fixed settings, ÷ the best peer.\n"
            yield table(["program", "first", "tenth", "third to last", "least, most", "CPU", "MiB × s", "best fixed", "taken",
                         "peer", "÷ peer", "without"], lines_at(price, programs, best[price]))
    yield "One setting for all programs, and a folder of policies: cost ÷ the default's, geometric means.\n"
    yield table(["price", *SETTINGS, "learnt"], setting_lines(programs))
    names = [name for name in dict.fromkeys(name for one in programs for name in one.runs) if name.startswith(WITH)]
    if names:
        yield "Each learner within a run, switched on alone: cost ÷ `evolving` at `balanced`, with the 95 % interval.\n"
        yield table(["program", EVOLVING, *names], learner_lines(programs, names))


# ---- at a price ----

def least_costs(program: Program, names: Iterable[str], ns: float, odd: bool) -> dict[str, float]:
    """Of each, in the odd or even rounds that all of them have; empty: there are no such rounds."""
    runs = {name: program.runs[name] for name in names}
    shared = set.intersection(*(set(one.cpu_s) for one in runs.values())) if runs else set()
    rounds = [number for number in shared if (number % 2 == 1) == odd]
    return {name: min(one.cost(number, ns) for number in rounds) for name, one in runs.items()} if rounds else {}


@dataclass(frozen=True)
class Pair:
    """Two configurations of a program, in the rounds that both have."""

    ours: Runs
    theirs: Runs
    rounds: list[int]

    def cost(self, ns: float) -> Ratio:
        return ratio_of_medians(*([one.cost(number, ns) for number in self.rounds] for one in (self.ours, self.theirs)))

    def span(self, ns: float) -> tuple[float, float]:
        """The least and the most of the rounds' ratios."""
        ratios = [self.ours.cost(number, ns) / self.theirs.cost(number, ns) for number in self.rounds]
        return min(ratios), max(ratios)

    def cpu(self) -> float:
        return middle(self.ours.cpu_s, self.rounds) / middle(self.theirs.cpu_s, self.rounds)

    def excess(self) -> float:
        return middle(self.ours.excess, self.rounds) - middle(self.theirs.excess, self.rounds)


def middle(figures: Mapping[int, float], rounds: list[int]) -> float:
    return float(np.median([figures[number] for number in rounds]))


def pair(program: Program, ours: str, theirs: str, since: int = 0, until: int = sys.maxsize) -> Pair | None:
    """Of the rounds from `since` to before `until`."""
    a, b = program.runs.get(ours), program.runs.get(theirs)
    shared = sorted(number for number in a.cpu_s.keys() & b.cpu_s.keys() if since <= number < until) if a and b else []
    return Pair(a, b, shared) if a and b and shared else None


def best_peer(program: Program, ns: float) -> str | None:
    """By the odd rounds."""
    costs = least_costs(program, [name for name, runs in program.runs.items() if runs.allocator != HAKMEM], ns, odd=True)
    return min(costs, key=costs.__getitem__, default=None)


def beside(program: Program, name: str, peer: str | None, ns: float) -> float | None:
    """In the even rounds."""
    costs = least_costs(program, [name, peer], ns, odd=False) if peer and name in program.runs else {}
    return costs[name] / costs[peer] if peer and costs else None


def lines_at(price: str, programs: list[Program], best: Mapping[str, tuple[str, float] | None]) -> Iterator[Line]:
    rows = [row_at(price, program, best[program.name]) for program in programs]
    yield from ([row.program.name, *row.cells(price)] for row in rows)
    yield ["geometric mean", mean([row.first for row in rows]), mean([row.tenth for row in rows]),
           *mean_and_interval([row.then for row in rows]), "", "", "", "", "",
           mean([row.ours for row in rows]), mean([row.without for row in rows])]
    shares, spans = [row.taken for row in rows if row.taken is not None], [row.span for row in rows if row.span]
    yield ["count", "", "", f"{sum(low > WORSE for low, _ in spans)} above {WORSE}",
           f"{sum(high < 1 / WORSE for _, high in spans)} below 1/{WORSE}", f"of {len(spans)}", "", "",
           f"{sum(share >= HALF for share in shares)} of {len(shares)} at least {HALF}", "",
           below_one([row.ours for row in rows]), below_one([row.without for row in rows])]


@dataclass(frozen=True)
class Row:
    """Of a program at a price; None: there are no such runs."""

    program: Program
    first: float | None
    tenth: float | None
    later: Pair | None
    then: float | None
    span: tuple[float, float] | None
    best: tuple[str, float] | None
    peer: str | None
    ours: float | None
    without: float | None

    @property
    def taken(self) -> float | None:
        there = self.then is not None and self.best is not None and self.best[1] <= BOUND
        return (1 - self.then) / (1 - self.best[1]) if there and self.then and self.best else None

    def cells(self, price: str) -> Line:
        span = f"{self.span[0]:.2f}, {self.span[1]:.2f}" if self.span else NOTHING
        cpu, excess = (f"{self.later.cpu():.3f}", f"{self.later.excess():+.1f}") if self.later else (NOTHING, NOTHING)
        fixed = f"{self.best[0]} {self.best[1]:.3f}" if self.best else NOTHING
        return [number_of(self.first), number_of(self.tenth), number_of(self.then), span, cpu, excess, fixed,
                number_of(self.taken, 2), self.peer or NOTHING, number_of(self.ours), number_of(self.without)]


def cost_of(one: Pair | None, ns: float) -> float | None:
    return one.cost(ns).value if one else None


def row_at(price: str, program: Program, best: tuple[str, float] | None) -> Row:
    ns, name = price_of(price), f"{LEARNT}{price}"
    first, tenth = pair(program, name, price, 0, 1), pair(program, name, price, TENTH, TENTH + 1)
    later, peer = pair(program, name, price, THIRD), best_peer(program, ns)
    return Row(program, cost_of(first, ns), cost_of(tenth, ns), later, cost_of(later, ns), later.span(ns) if later else None,
               best, peer, beside(program, name, peer, ns), beside(program, price, peer, ns))


# ---- means ----

def known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value]


def mean(values: Iterable[float | None]) -> str:
    found = known(values)
    return f"{geometric_mean(found):.3f}" if found else NOTHING


def mean_and_interval(values: Iterable[float | None]) -> tuple[str, str]:
    """Programs are drawn again."""
    logs = np.log(known(values))
    if len(logs) == 0:
        return NOTHING, NOTHING
    drawn = np.random.default_rng(SEED).choice(logs, (RESAMPLES, len(logs))).mean(axis=1)
    low, high = np.exp(np.percentile(drawn, (2.5, 97.5)))
    return f"{np.exp(logs.mean()):.3f}", f"{low:.3f} to {high:.3f}"


def below_one(values: Iterable[float | None]) -> str:
    found = known(values)
    return f"{sum(value < 1 for value in found)} of {len(found)} below 1"


def setting_lines(programs: list[Program]) -> Iterator[Line]:
    """At a cloud's price, between two words, the default is that of `balanced`."""
    for price, usual in (*zip(PRICES, PRICES), (CLOUD, BALANCED)):
        pairs = [[pair(program, name, usual) for program in programs] for name in SETTINGS]
        learnt = [pair(program, f"{LEARNT}{usual}", usual, THIRD) for program in programs]
        yield [price, *(mean(one.cost(price_of(price)).value for one in of if one) for of in (*pairs, learnt))]


# ---- learners ----

def learner_lines(programs: list[Program], names: list[str]) -> Iterator[Line]:
    """The first column is `evolving` ÷ the default, which do the same."""
    ns, against = price_of(BALANCED), {EVOLVING: BALANCED, **dict.fromkeys(names, EVOLVING)}
    found = {program.name: [pair(program, name, base) for name, base in against.items()] for program in programs}
    ratios = {name: [one.cost(ns) if one else None for one in by] for name, by in found.items() if any(by)}
    yield from ([name, *(f"{shown(one)} {interval(one)}" for one in by)] for name, by in ratios.items())
    yield ["geometric mean", *(" ".join(mean_and_interval(one.value if one else None for one in column))
                               for column in zip(*ratios.values()))]


# ---- cells ----

def shown(ratio: Ratio | None) -> str:
    return NOTHING if ratio is None else f"{ratio.value:.3f}"


def interval(ratio: Ratio | None) -> str:
    return "" if ratio is None or ratio.low is None else f"[{ratio.low:.2f}, {ratio.high:.2f}]"


def number_of(value: float | None, digits: int = 3) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"
