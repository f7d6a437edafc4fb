# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab simulate --tune`: which price, and which bound on free big blocks, suit the program of a trace.

hak_model (tools/model.c) makes the recorded calls of the library's own code on a kernel that is invented, once for each
setting of a ladder. What that comes to in memory and in the kernel's time is a point; who is beaten by no other in
both is on the front; one of these is picked. The kernel's work costs what the library would measure here (hak_costs).
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any

from hakmem.base.errors import Refusal
from hakmem.base.stop import stops
from hakmem.tracing.model import COSTS, TOOL, variables
from hakmem.tracing.tool import Crew
from hakmem_lab.simulate.results import PRICES
from hakmem_lab.simulate.simulate import await_all

METER = "hak_costs"
PRICE, CACHE = "HAKMEM_PRICE", "HAKMEM_BIG_CACHE_BYTES"
CALL, PAGE = "HAKMEM_LAB_COST_CALL", "HAKMEM_LAB_COST_PAGE"
KERNEL_CALLS = ("kernel_map", "kernel_unmap", "kernel_advise", "kernel_remap")
RUNS = 3  # of each setting: what has an edge depends on the clock's phase (lab/docs/predict.md)
LONG = 16 << 20  # bytes of records: where there are more, one run must do
STEP = math.log(1.01)
ENDINGS = (".png", ".svg")
CACHES = (0, 4 << 20, 16 << 20, 64 << 20)
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SPEED, BALANCED, LEAN = (round(PRICES[name]) for name in ("speed", "balanced", "lean"))


def steps(low: int, high: int, count: int) -> tuple[int, ...]:
    return tuple(round(low * (high / low) ** (step / count)) for step in range(count))


LADDER = (0, SPEED // 4, *steps(SPEED, BALANCED, 6), *steps(BALANCED, LEAN, 3), *(LEAN << n for n in range(5)))


# ---- what is asked for ----

@dataclass(frozen=True)
class Bound:
    """Of memory: bytes, or a share of what the point takes that takes most."""

    kib: float | None
    share: float | None
    text: str

    def limit_kib(self, points: list[Point]) -> float:
        return self.kib if self.kib is not None else (self.share or 0) * max(point.mean_kib for point in points)


@dataclass(frozen=True)
class Wish:
    """At most one is said; none: the knee."""

    memory: Bound | None = None
    loss_percent: float | None = None


def wish_of(most_memory: str | None, most_time: str | None) -> Wish:
    if most_memory is not None and most_time is not None:
        raise Refusal("--most-memory and --most-time: one of them bounds, the other follows")
    if most_time is not None:
        return Wish(loss_percent=percent_of("--most-time", most_time))
    return Wish(bound_of(most_memory) if most_memory is not None else None)


def bound_of(text: str) -> Bound:
    if text.endswith("%"):
        return Bound(None, percent_of("--most-memory", text) / 100, text)
    unit = text[-1:].upper() if text[-1:].isalpha() else ""
    amount = amount_of(text[: len(text) - len(unit)])
    if unit not in UNITS or amount is None:
        raise Refusal(f"--most-memory {text}: neither bytes (64M) nor percent (80%)")
    return Bound(amount * UNITS[unit] / 1024, None, text)


def percent_of(option: str, text: str) -> float:
    percent = amount_of(text.removesuffix("%"))
    if percent is None:
        raise Refusal(f"{option} {text}: no percentage")
    return percent


def amount_of(text: str) -> float | None:
    """Not below 0."""
    try:
        amount = float(text)
    except ValueError:
        return None
    return amount if 0 <= amount < math.inf else None


# ---- points ----

@dataclass(frozen=True)
class Setting:
    price: int
    cache: int | None = None  # bytes of free big blocks; None: as the caller's settings have it

    def variables(self) -> dict[str, str]:
        names = {round(price): name for name, price in PRICES.items()}
        found = {PRICE: names.get(self.price, str(self.price))}
        return found if self.cache is None else found | {CACHE: bytes_text(self.cache)}

    def text(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.variables().items())

    def oddness(self) -> tuple[bool, float]:
        """How far it is from what holds where nothing is set."""
        return self.cache is not None, abs(math.log((self.price + 1) / BALANCED))


def bytes_text(count: int) -> str:
    unit, size = max(((unit, size) for unit, size in UNITS.items() if count % size == 0), key=lambda pair: pair[1])
    return f"{count // size}{unit}" if count else "0"


@dataclass(frozen=True)
class Point:
    """What a setting comes to, all traces together."""

    setting: Setting
    mean_kib: float
    peak_kib: float
    faults: int
    kernel_calls: int
    kernel_ns: float
    run_ns: float  # as recorded
    big: int  # blocks that were freed by the big box

    @property
    def figures(self) -> tuple[int, int]:
        """Memory and time, as far as they are told apart: steps of a percent (Laumanns and others, 2002)."""
        return grade(self.mean_kib), grade(self.kernel_ns)

    def loss_percent(self, points: list[Point]) -> float:
        """Time beyond the least, as a part of the recorded one."""
        beyond = self.kernel_ns - min(point.kernel_ns for point in points)
        return 100 * beyond / self.run_ns if self.run_ns else 0.0

    def beats(self, other: Point) -> bool:
        (memory, time), (others_memory, others_time) = self.figures, other.figures
        return memory <= others_memory and time <= others_time and self.figures != other.figures


def grade(value: float) -> int:
    return round(math.log(value + 1) / STEP)


def front_of(points: list[Point]) -> list[Point]:
    """From little memory to much; of equals the least odd."""
    unbeaten: dict[tuple[int, int], Point] = {}
    for point in sorted(points, key=lambda point: point.setting.oddness()):
        if not any(other.beats(point) for other in points):
            unbeaten.setdefault(point.figures, point)
    return sorted(unbeaten.values(), key=lambda point: point.figures)


def picked(points: list[Point], wish: Wish) -> Point:
    front = front_of(points)
    if wish.memory is not None:
        limit = wish.memory.limit_kib(points)
        fitting = [point for point in front if point.mean_kib <= limit]
        if not fitting:
            least = min(point.mean_kib for point in front) / 1024
            raise Refusal(f"--most-memory {wish.memory.text}: no setting of the ladder needs as little; {least:.1f} MiB is "
                          "the least", 1)
        return fitting[-1]
    if wish.loss_percent is not None:
        return next(point for point in front if point.loss_percent(points) <= wish.loss_percent)
    return knee(front)


def knee(front: list[Point]) -> Point:
    """The farthest below the line between the front's ends (Satopää and others, 2011); of equals the least odd."""
    lean, fast = front[0], front[-1]
    width, height = fast.mean_kib - lean.mean_kib, lean.kernel_ns - fast.kernel_ns

    def depth(point: Point) -> float:
        if not width or not height:
            return 0.0
        return 1 - (point.mean_kib - lean.mean_kib) / width - (point.kernel_ns - fast.kernel_ns) / height

    return min(front, key=lambda point: (-round(depth(point), 6), point.setting.oddness()))


# ---- the model ----

@dataclass(frozen=True)
class Costs:
    call_ns: float
    page_ns: float

    def variables(self) -> dict[str, str]:
        """Whole, and not 0, which says that none is set."""
        return {CALL: str(max(1, round(self.call_ns))), PAGE: str(max(1, round(self.page_ns)))}


def costs_here(tool: Path, call_ns: float | None, page_ns: float | None) -> Costs:
    """As said, as set, or as measured."""
    said = {CALL: call_ns, PAGE: page_ns}
    known = {name: value if value is not None else os.environ.get(name) for name, value in said.items()}
    if None in known.values():
        found = measured(tool)
        known = {name: value if value is not None else found[name] for name, value in known.items()}
    try:
        return Costs(*(float(known[name] or 0) for name in said))
    except ValueError:
        raise Refusal(f"{CALL} and {PAGE}: no whole numbers of nanoseconds") from None


def measured(tool: Path) -> dict[str, float]:
    ended = subprocess.run([tool], capture_output=True, text=True, check=False)
    if ended.returncode:
        why = ended.stderr.strip().removeprefix(f"{METER}: ") or f"{METER} ended with status {ended.returncode}"
        raise Refusal(f"{why}; say it with --page-ns and --call-ns", 1)
    line = json.loads(ended.stdout)
    return {CALL: line["call_ns"], PAGE: line["page_ns"]}


@dataclass(frozen=True)
class Recorded:
    """A trace without its gzip."""

    file: Path
    records: Path
    processes: int
    torn: bool

    @property
    def runs(self) -> int:
        return RUNS if self.records.stat().st_size < LONG else 1


Line = dict[str, Any]


class Tuner:
    def __init__(self, tool: Path, traces: list[Recorded], costs: Costs) -> None:
        self.tool, self.traces, self.costs = tool, traces, costs
        self.crew = Crew()

    def run(self, trace: Recorded, setting: Setting) -> Line:
        found = variables() | self.costs.variables() | {"HAKMEM_LAB_COST_MOVE": COSTS["HAKMEM_LAB_COST_MOVE"]} | setting.variables()
        with trace.records.open("rb") as records, self.crew.child([self.tool], found, records) as child:
            text, wrong = child.communicate()
        if child.returncode or wrong:
            said = wrong.decode(errors="replace").strip().removeprefix(f"{TOOL}: ").partition("\n")[0]
            raise Refusal(f"{trace.file}: {said or f'{TOOL} ended with status {child.returncode}'}")
        return json.loads(text)

    def kernel_ns(self, line: Line) -> float:
        return line["minflt"] * self.costs.page_ns + calls_of(line) * self.costs.call_ns

    def point(self, setting: Setting, runs: list[list[Line]]) -> Point:
        """Of each trace the run in the middle."""
        lines = [next(line for line in of if self.kernel_ns(line) == median_low(map(self.kernel_ns, of))) for of in runs]
        return Point(
            setting, sum(line["mean_kib"] for line in lines), sum(line["peak_kib"] for line in lines),
            sum(line["minflt"] for line in lines), sum(map(calls_of, lines)), sum(map(self.kernel_ns, lines)),
            sum(line["ns"] for line in lines), sum(line["big_free"] for line in lines),
        )

    def points(self, pool: ThreadPoolExecutor, settings: list[Setting], advance: Any) -> list[Point]:
        works: list[list[list[Future[Line]]]] = []
        stops.hold()
        for setting in settings:
            works.append([[pool.submit(self.run, trace, setting) for _ in range(trace.runs)] for trace in self.traces])
        stops.let_in()
        every = [work for of_setting in works for of_trace in of_setting for work in of_trace]
        for work in every:
            work.add_done_callback(lambda _: advance())
        await_all(every)
        return [
            self.point(setting, [[work.result() for work in of_trace] for of_trace in of_setting])
            for setting, of_setting in zip(settings, works)
        ]

    def tuned(self, advance: Any, more: Any) -> list[Point]:
        """By price; then, where big blocks are freed, by the bound on them. `more` settings than were known are told."""
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            try:
                by_price = self.points(pool, [Setting(price) for price in LADDER], advance)
                settings = list(bounded(by_price))
                more(len(settings))
                return by_price + self.points(pool, settings, advance)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.crew.stop()
                raise


def calls_of(line: Line) -> int:
    return sum(line[name] for name in KERNEL_CALLS)


def bounded(by_price: list[Point]) -> Iterator[Setting]:
    """The bounds below the peak, where there is something to bound and the caller has not."""
    if CACHE in os.environ or not any(point.big for point in by_price):
        return
    most = max(point.peak_kib for point in by_price) * 1024
    for cache in CACHES:
        if cache < most:
            yield from (Setting(price, cache) for price in LADDER)
