# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is learnt ÷ what it is without, and beside peers, at one price.

    first, then    the first run with a folder of policies, and the third to the last: cost ÷ the default's of the same
                   rounds, of medians, with the 95 % interval
    taken          share of the best fixed settings' headroom, where these cost at most 0.97 of the default
    best peer      the least cost in odd rounds; HAKMEM's least ÷ the peer's least of even rounds
    a learner      `evolving` with it ÷ `evolving` without it, of the same rounds
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from hakmem.process.peers import HAKMEM
from hakmem_lab.bench.statistics import Ratio, geometric_mean, ratio_of_medians
from hakmem_lab.headroom.table import LEARNT, PRICES, WITH
from hakmem_lab.pareto.configurations import BALANCED, EVOLVING
from hakmem_lab.pareto.report import Line, table
from hakmem_lab.pareto.verdict import Program, Runs
from hakmem_lab.simulate.results import price_of

BOUND = 0.97  # a program below it has headroom
WORSE = 1.01  # a row is worse if its interval lies wholly above it
HALF = 0.5
THIRD = 2  # the first round is 0
NOTHING = "–"
Best = Mapping[str, Mapping[str, "tuple[str, float] | None"]]  # by price and program: settings, ÷ the default


def sections(programs: list[Program], best: Best) -> Iterator[str]:
    for price in PRICES:
        if any(f"{LEARNT}{price}" in program.runs for program in programs):
            yield f"With a folder of policies at `{price}`: cost ÷ without, ÷ the best fixed settings, ÷ the best peer.\n"
            yield table(["program", "first", "third to last", "95 %", "best fixed", "taken", "peer", "÷ peer", "without"],
                        lines_at(price, programs, best[price]))
    names = [name for name in dict.fromkeys(name for one in programs for name in one.runs) if name.startswith(WITH)]
    if names:
        yield "Each learner within a run, switched on alone: cost ÷ `evolving` at `balanced`, with the 95 % interval.\n"
        yield table(["program", EVOLVING, *names], learner_lines(programs, names))


# ---- at a price ----

def least_cost(runs: Runs, ns: float, odd: bool) -> float | None:
    return min((runs.cost(number, ns) for number in runs.cpu_s if (number % 2 == 1) == odd), default=None)


def costs(program: Program, ours: str, theirs: str, ns: float, wanted: Callable[[int], bool]) -> Ratio | None:
    """Cost ÷ cost of the rounds that both have and that are wanted."""
    a, b = program.runs.get(ours), program.runs.get(theirs)
    shared = sorted(number for number in a.cpu_s.keys() & b.cpu_s.keys() if wanted(number)) if a and b else []
    if not a or not b or not shared:
        return None
    return ratio_of_medians([a.cost(number, ns) for number in shared], [b.cost(number, ns) for number in shared])


def best_peer(program: Program, ns: float) -> str | None:
    known = {name: least_cost(runs, ns, odd=True) for name, runs in program.runs.items() if runs.allocator != HAKMEM}
    found = {name: cost for name, cost in known.items() if cost is not None}
    return min(found, key=found.__getitem__, default=None)


def beside(program: Program, name: str, peer: str | None, ns: float) -> float | None:
    """Of the even rounds that both have, so that a least of many rounds meets no least of few."""
    ours, theirs = program.runs.get(name), program.runs.get(peer) if peer else None
    shared = [number for number in ours.cpu_s if number in theirs.cpu_s and number % 2 == 0] if ours and theirs else []
    if not ours or not theirs or not shared:
        return None
    return min(ours.cost(number, ns) for number in shared) / min(theirs.cost(number, ns) for number in shared)


def lines_at(price: str, programs: list[Program], best: Mapping[str, tuple[str, float] | None]) -> Iterator[Line]:
    ns, name = price_of(price), f"{LEARNT}{price}"
    summary = Summary()
    for program in programs:
        first = costs(program, name, price, ns, lambda number: number == 0)
        then = costs(program, name, price, ns, lambda number: number >= THIRD)
        fixed, peer = best[program.name], best_peer(program, ns)
        ours, without = (beside(program, one, peer, ns) for one in (name, price))
        share = taken(then, fixed)
        summary.note(first, then, share, ours, without)
        yield [program.name, shown(first), shown(then), interval(then),
               f"{fixed[0]} {fixed[1]:.3f}" if fixed else NOTHING, NOTHING if share is None else f"{share:.2f}",
               peer or NOTHING, number_of(ours), number_of(without)]
    yield from summary.lines()


def taken(then: Ratio | None, fixed: tuple[str, float] | None) -> float | None:
    return (1 - then.value) / (1 - fixed[1]) if then and fixed and fixed[1] <= BOUND else None


class Summary:
    """Of all programs at a price."""

    def __init__(self) -> None:
        self.first: list[float] = []
        self.then: list[Ratio] = []
        self.shares: list[float] = []
        self.ours: list[float] = []
        self.without: list[float] = []

    def note(self, first: Ratio | None, then: Ratio | None, share: float | None, ours: float | None,
             without: float | None) -> None:
        self.first += [first.value] if first else []
        self.then += [then] if then else []
        self.shares += [] if share is None else [share]
        self.ours += [ours] if ours else []
        self.without += [without] if without else []

    def lines(self) -> Iterator[Line]:
        worse = sum(one.low is not None and one.low > WORSE for one in self.then)
        better = sum(one.high is not None and one.high < 1 / WORSE for one in self.then)
        half = sum(share >= HALF for share in self.shares)
        yield ["geometric mean", mean(self.first), mean([one.value for one in self.then]), "", "", "", "", mean(self.ours),
               mean(self.without)]
        yield ["count", "", f"{worse} above {WORSE}, {better} below 1/{WORSE}", f"of {len(self.then)}", "",
               f"{half} of {len(self.shares)} at least {HALF}", "", below_one(self.ours), below_one(self.without)]


def mean(values: list[float]) -> str:
    return f"{geometric_mean(values):.3f}" if values else NOTHING


def below_one(values: list[float]) -> str:
    return f"{sum(value < 1 for value in values)} of {len(values)} below 1"


# ---- learners ----

def learner_lines(programs: list[Program], names: list[str]) -> Iterator[Line]:
    """The first column is `evolving` ÷ the default."""
    ns = price_of(BALANCED)
    found: dict[str, list[float]] = {name: [] for name in (EVOLVING, *names)}
    for program in programs:
        by = {EVOLVING: costs(program, EVOLVING, BALANCED, ns, every),
              **{name: costs(program, name, EVOLVING, ns, every) for name in names}}
        if any(by.values()):
            yield [program.name, *(f"{shown(one)} {interval(one)}" for one in by.values())]
        for name, one in by.items():
            found[name] += [one.value] if one else []
    yield ["geometric mean", *(mean(values) for values in found.values())]


def every(number: int) -> bool:
    return number >= 0


# ---- cells ----

def shown(ratio: Ratio | None) -> str:
    return NOTHING if ratio is None else f"{ratio.value:.3f}"


def interval(ratio: Ratio | None) -> str:
    return "" if ratio is None or ratio.low is None else f"[{ratio.low:.2f}, {ratio.high:.2f}]"


def number_of(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"
