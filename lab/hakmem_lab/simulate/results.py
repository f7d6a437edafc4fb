# SPDX-License-Identifier: MIT OR Apache-2.0
"""What hak_simulate says of traces: by process, and put together by program."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.reading.unpack import name_of_program, refuse_if_nothing_is_left

PRICES = {"speed": 8500.0, "balanced": 640000.0, "lean": 5140000.0}  # as the library's setting has them
DEAREST = 1e12
LEAST, CALL_NS, PAGE_NS = 65536, 2000.0, 1000.0  # unless said; the costs are those of src/retain/cost.h
CLAIRVOYANT, BASELINE, FIXED, BEST_FIXED, BY_SIZE, BY_BUSY_SITE, BY_SITE = (
    "clairvoyant", "baseline", "fixed", "best fixed", "by size", "by busy site", "by site",
)
EVOLVING, EVOLVING_BY_SIZE, EVOLVING_BY_PROCESS = "evolving", "evolving by size", "evolving by process"
MANY, FEW = "many", "few"  # a thousand waits and more of a site and bin; the others


@dataclass(frozen=True)
class Order:
    """What is asked for; the costs are those of src/retain/rent.h unless said."""

    price: float
    least: int
    call_ns: float
    page_ns: float

    def arguments(self) -> list[str]:
        costs = ["--price", f"{self.price!r}", "--call-ns", f"{self.call_ns!r}", "--page-ns", f"{self.page_ns!r}"]
        return [*costs, "--least", str(self.least)]


def price_of(text: str) -> float:
    try:
        price = PRICES[text] if text in PRICES else float(text)
    except ValueError:
        price = -1.0
    if not 0 <= price <= DEAREST:
        raise Refusal(f"--price {text}: neither speed, balanced, lean nor nanoseconds per MiB and second, up to 1e12")
    return price


# ---- what hak_simulate says ----

@dataclass
class Sums:
    def add(self, line: dict[str, Any]) -> None:
        for name in vars(self):
            setattr(self, name, getattr(self, name) + line[name])


@dataclass
class Outcome(Sums):
    """What a policy came to, of one process or of several."""

    cost_ns: float = 0.0
    idle_mib_s: float = 0.0
    fetch_ns: float = 0.0
    fetches: int = 0
    faults: int = 0
    kernel_calls: int = 0
    hits: int = 0


@dataclass(frozen=True)
class Room:
    """What a policy would pay of the one where of the other it pays as much as the baseline."""

    idle_mib_s: float
    fetch_ns: float


Point = tuple[float, float]  # MiB x s, ns


@dataclass
class Share(Sums):
    """What the learner paid for some of the waits, and what the best arms of its ladder do."""

    rows: int = 0
    gaps: int = 0
    paid_ns: float = 0.0
    best_ns: float = 0.0
    clairvoyant_ns: float = 0.0

    @property
    def regret(self) -> float | None:
        return quotient(self.paid_ns, self.best_ns) if self.gaps else None


@dataclass
class Process:
    head: dict[str, Any]
    policies: list[dict[str, Any]] = field(default_factory=list)
    frontier: dict[str, list[Point]] = field(default_factory=dict)
    headroom: dict[str, Room] = field(default_factory=dict)
    shares: dict[tuple[str, str], Share] = field(default_factory=dict)

    @property
    def command(self) -> list[str]:
        """hak_simulate knows no encoding and writes bytes as letters of that number."""
        return [argument.encode("latin-1").decode(errors="replace") for argument in self.head["command"]]

    @property
    def name(self) -> str:
        name = name_of_program(self.command[0]) if self.command else ""
        return printable(name) or f"pid {self.head['pid']}"

    def take(self, line: dict[str, Any]) -> None:
        match line["kind"]:
            case "policy":
                self.policies.append(line)
            case "regret":
                self.shares.setdefault((line["policy"], line["of"]), Share()).add(line)
            case "frontier":
                self.frontier.setdefault(line["policy"], []).append((line["idle_mib_s"], line["fetch_ns"]))
            case "headroom":
                self.headroom[line["policy"]] = Room(line["idle_mib_s"], line["fetch_ns"])


@dataclass
class Trace:
    path: Path
    processes: list[Process]
    torn: bool


def read_lines(path: Path, text: str, torn: bool) -> Trace:
    processes: list[Process] = []
    for line in map(json.loads, text.splitlines()):
        if line["kind"] == "process":
            processes.append(Process(line))
        elif line["kind"] == "trace":
            torn = torn or line["torn"]
        else:
            processes[-1].take(line)
    refuse_if_nothing_is_left(path, torn, sum(process.head["events"] for process in processes))
    return Trace(path, processes, torn)


# ---- by program ----

@dataclass
class Program:
    """The processes of one trace that ran the same program; each had its own clairvoyant and its own best by site."""

    name: str
    path: Path
    processes: list[Process]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    fixed: dict[str, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for line in (line for process in self.processes for line in process.policies):
            among, name = (self.fixed, line["keep"]) if line["policy"] == FIXED else (self.outcomes, line["policy"])
            among.setdefault(name, Outcome()).add(line)
        self.outcomes[BEST_FIXED] = self.fixed[self.best_keep]

    @property
    def best_keep(self) -> str:
        """One keep time for all its processes."""
        return min(self.fixed, key=lambda keep: self.fixed[keep].cost_ns)

    def sum_of(self, name: str) -> int:
        return sum(process.head[name] for process in self.processes)

    @property
    def busy_share(self) -> float | None:
        """Of the waits, those of sites with many in a bin."""
        return quotient(self.sum_of("busy"), self.sum_of("gaps"))

    @property
    def seconds(self) -> float:
        """All its processes, one after the other."""
        return self.sum_of("ns") / 1e9

    def ratio(self, policy: str) -> float | None:
        """To the clairvoyant."""
        return quotient(self.outcomes[policy].cost_ns, self.outcomes[CLAIRVOYANT].cost_ns)

    def share(self, policy: str, of: str) -> Share:
        total = Share()
        for process in self.processes:
            total.add(vars(process.shares[policy, of]))
        return total

    def idle_saved(self, policy: str) -> float | None:
        """Of the baseline's memory, where as much is fetched."""
        return saved(sum(p.headroom[policy].idle_mib_s for p in self.processes), self.outcomes[BASELINE].idle_mib_s)

    def fetching_saved(self, policy: str) -> float | None:
        """Of the baseline's fetching, where as much is kept."""
        return saved(sum(p.headroom[policy].fetch_ns for p in self.processes), self.outcomes[BASELINE].fetch_ns)

    def frontier(self, policy: str) -> list[Point]:
        """At each price the sum of what all processes pay."""
        rows = zip(*(process.frontier[policy] for process in self.processes))
        return [(sum(idle for idle, _ in row), sum(ns for _, ns in row)) for row in rows]


def quotient(one: float, other: float) -> float | None:
    return 1.0 if one == other else one / other if other else None


def saved(now: float, before: float) -> float | None:
    return 1 - now / before if before else None


def programs_of(trace: Trace) -> list[Program]:
    found: dict[str, list[Process]] = {}
    for process in trace.processes:
        if process.head["gaps"]:
            found.setdefault(process.name, []).append(process)
    return [Program(name, trace.path, processes) for name, processes in found.items()]


def labelled(programs: list[Program]) -> list[Program]:
    """The same program of two traces is told apart by the trace, and those of one name by their folders."""
    for name_of in (lambda program: program.path.name.removesuffix(".hakt"), lambda program: str(program.path)):
        names = [program.name for program in programs]
        for program, name in zip(programs, names):
            if names.count(name) > 1:
                program.name = f"{name.partition(' (')[0]} ({name_of(program)})"
    return programs
