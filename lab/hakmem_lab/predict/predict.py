# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab predict`: what a traced program would have of its kernel, by the model and by a rerun.

The model (tools/model.c) is the library's own code on a kernel that is invented. The rerun is a process of
tools/replay.c, at the recorded times, on libhakdoors.so: the library's objects with their slow paths counted. In both
each call comes from its recorded call site, and the costs that the library would measure are settings, so that what
depends on who asks and on time depends on the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low

from rich.table import Table
from rich.text import Text

from hakmem.base.atomic_write import write_rows
from hakmem.base.console import plain_table, stdout_console
from hakmem.base.errors import BAD_USAGE, Refusal
from hakmem.base.exit import printable
from hakmem.base.scratch import scratch_folder
from hakmem.base.streams import show_progress
from hakmem.process import checks
from hakmem.process.launch import Launcher, Streams
from hakmem.process.peers import at_file
from hakmem.process.places import Places, existing
from hakmem.reading.unpack import Unpacked, check_apart, name_of_program, unpack
from hakmem.running.replay import Replayed, Replayer, Wishes
from hakmem.running.summary import mebibytes, whole
from hakmem.tracing.model import TOOL, costs, variables

LIBRARY = "libhakdoors.so"
MODELS = 5  # runs of the model: what has an edge depends on the clock's phase, there as in a program
MUCH = 0.02  # that runs differ by
CALLS_AT_DOORS = ("slow_malloc", "slow_calloc", "slow_realloc", "slow_free", "untraced_malloc")


@dataclass(frozen=True)
class Order:
    """The options."""

    within: float  # percent
    process: int | None
    reruns: int
    csv: Path | None


@dataclass(frozen=True)
class Figure:
    """By each run of the model and of the replay; what is in the middle counts."""

    name: str
    by_model: list[float]
    by_rerun: list[float]

    @property
    def predicted(self) -> float:
        return median_low(self.by_model)

    @property
    def measured(self) -> float:
        return median_low(self.by_rerun)

    @property
    def ratio(self) -> float:
        """Nothing by nothing: as predicted."""
        if self.predicted == self.measured:
            return 1.0
        return self.predicted / self.measured if self.measured else float("inf")


@dataclass(frozen=True)
class Rerun:
    replayed: Replayed
    doors: Mapping[str, int]

    def rows(self) -> dict[str, int]:
        """By the names that the model gives them."""
        return {"peak_kib": self.replayed.peak_kib, "minflt": self.replayed.minflt, **self.doors}


@dataclass(frozen=True)
class Prediction:
    """Of one process of a trace."""

    file: Path
    torn: bool
    program: str
    models: list[dict[str, int]]
    reruns: list[Rerun]

    @property
    def replayed(self) -> Replayed:
        return self.reruns[0].replayed

    def figure(self, name: str, *rows: str) -> Figure:
        """The sum of rows."""
        by_model, by_rerun = (
            [float(sum(run[row] for row in rows)) for run in runs]
            for runs in (self.models, [rerun.rows() for rerun in self.reruns])
        )
        return Figure(name, by_model, by_rerun)

    def figures(self) -> list[Figure]:
        return [
            self.figure("peak RSS", "peak_kib"),
            self.figure("faults", "minflt"),
            self.figure("slow paths", *CALLS_AT_DOORS),
        ]

    def all_figures(self) -> Iterator[Figure]:
        return (self.figure(row, row) for row in self.reruns[0].rows())


# ---- the two runs ----

def parse_doors(path: Path) -> dict[str, int]:
    try:
        return {name: int(value) for name, value in (pair.split("=") for pair in path.read_text().split())}
    except (OSError, ValueError):
        raise Refusal(f"{LIBRARY} did not report which doors were passed", 1) from None


class Predictor:
    def __init__(self, places: Places, order: Order, records: Path, scratch: Path) -> None:
        self.order = order
        self.records = records
        self.scratch = scratch
        self.doors = scratch / "doors"
        self.model = existing(places.launcher.with_name(TOOL))
        self.counted = at_file("hakdoors", existing(places.launcher.with_name(LIBRARY)))
        self.launcher = Launcher(places.launcher, scratch)
        wishes = Wishes([], False, 1, "all", order.process)
        doors = {"HAKDOORS_FILE": str(self.doors), **costs()}
        self.replayer = Replayer(places, wishes, records, scratch, as_it_was=True, variables=doors)

    def predicted(self) -> dict[str, int]:
        """The line of tools/model.c."""
        argv = [str(self.model)] + (["--process", str(self.order.process)] if self.order.process else [])
        output, errors = self.scratch / "output", self.scratch / "errors"
        figures = self.launcher.run(argv, variables(), Streams(self.records, output, errors))
        said = checks.first_line(errors.read_text(errors="replace")).removeprefix(f"{TOOL}: ")
        if figures.status:
            raise Refusal(said or f"the model {figures.end}", BAD_USAGE if figures.status == BAD_USAGE else 1)
        return json.loads(output.read_text())

    def measured(self) -> Rerun:
        return Rerun(self.replayer.run(self.counted), parse_doors(self.doors))


def name_of(unpacked: Unpacked, process: int, file: Path) -> str:
    arguments = unpacked.processes[process - 1].arguments
    name = name_of_program(arguments[0]) if arguments else ""
    return printable(name or file.name)


def predict_one(places: Places, file: Path, order: Order, where: str) -> Prediction:
    with scratch_folder() as scratch:
        unpacked = unpack(file, scratch / "records")
        predictor = Predictor(places, order, unpacked.path, scratch)
        models, reruns = [], []
        for number in range(1, MODELS + 1):
            show_progress(f"{where}: the model, {number} of {MODELS}")
            models.append(predictor.predicted())
        program = name_of(unpacked, models[0]["process"], file)
        for number in range(1, order.reruns + 1):
            show_progress(f"{where}: {program} at the recorded times, rerun {number} of {order.reruns}")
            reruns.append(predictor.measured())
        show_progress("")
        torn = unpacked.torn or reruns[0].replayed.torn != 0
        return Prediction(file, torn, program, models, reruns)


def predict_all(places: Places, files: list[Path], order: Order) -> list[Prediction]:
    done = []
    for number, file in enumerate(files, 1):
        try:
            done.append(predict_one(places, file, order, f"{number} of {len(files)}, {printable(file.name)}"))
        except Refusal as refusal:
            named = str(refusal).startswith(str(file))
            raise Refusal(str(refusal) if named else f"{file}: {refusal}", refusal.status) from None
    return done


# ---- what is printed ----

def is_within(figure: Figure, percent: float) -> bool:
    return abs(figure.ratio - 1) <= percent / 100


def amount(figure: Figure, value: float) -> str:
    return mebibytes(value / 1024, 0) if figure.name == "peak RSS" else whole(value, 0)


def figures_table(done: list[Prediction], percent: float) -> Table:
    table = plain_table()
    for heading in ("program", "threads", "calls", "figure"):
        table.add_column(heading, justify="left" if heading in ("program", "figure") else "right", no_wrap=True)
    for heading in ("predicted", "measured", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in done:
        head = (one.program, f"{one.replayed.threads:,}", f"{one.replayed.calls:,}")
        for figure in one.figures():
            style = "green" if is_within(figure, percent) else "red"
            amounts = (amount(figure, figure.predicted), amount(figure, figure.measured))
            table.add_row(*map(Text, head), figure.name, *amounts, Text(f"{figure.ratio:.3f}", style=style))
            head = ("", "", "")
    return table


def beyond(done: list[Prediction], percent: float) -> list[str]:
    return [
        f"{one.program}: {figure.name} ({figure.ratio:.3f})"
        for one in done for figure in one.figures() if not is_within(figure, percent)
    ]


def notes(done: list[Prediction]) -> Iterator[str]:
    for one in done:
        if one.torn:
            yield f"note: {one.file}: the trace ends in the middle of a record; what came before was used"
        if one.replayed.lost:
            yield f"note: {one.file}: events that were lost when the trace was made: {one.replayed.lost:,}"
        if one.replayed.failed:
            yield f"note: {one.file}: allocations that failed in the rerun: {one.replayed.failed:,}"
        for figure in one.figures():
            for whose, values in (("the model", figure.by_model), ("the reruns", figure.by_rerun)):
                least, most = min(values), max(values)
                if most > (1 + MUCH) * least:
                    span = f"{amount(figure, least)} to {amount(figure, most)}"
                    yield f"note: {one.program}: {figure.name} of {whose}: {span}"


def write_csv(done: list[Prediction], path: Path) -> None:
    rows: list[tuple[object, ...]] = [("trace", "program", "calls", "threads", "figure", "predicted", "measured", "ratio")]
    for one in done:
        for figure in one.all_figures():
            head = (one.file, one.program, one.replayed.calls, one.replayed.threads)
            rows.append((*head, figure.name, figure.predicted, figure.measured, f"{figure.ratio:.4f}"))
    write_rows(path, rows)


def print_report(done: list[Prediction], percent: float) -> None:
    console = stdout_console()
    console.print(figures_table(done, percent))
    for note in notes(done):
        console.print(Text(printable(note)))
    wrong = beyond(done, percent)
    verdict = f"beyond {percent:g} %: {', '.join(wrong)}" if wrong else f"all figures are within {percent:g} %"
    console.print(Text(verdict))


def predict(places: Places, files: list[Path], order: Order) -> int:
    """The exit status."""
    check_apart(files, order.csv)
    done = predict_all(places, files, order)
    print_report(done, order.within)
    if order.csv:
        write_csv(done, order.csv)
    return 1 if beyond(done, order.within) else 0
