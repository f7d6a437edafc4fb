# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the report says in tables: the same sections for the terminal, table.md and report.html."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any

from rich.console import Console

from hakmem.base.exit import printable
from hakmem.process.peers import HAKMEM
from hakmem_lab.bench.judge import MEMORY_GROUPS, ROW_TARGET, Duel, Judge, Mean, Standing
from hakmem_lab.bench.measures import (
    PARAMETER,
    SERVED,
    comeback_sheets,
    count_sheets,
    counter_cost,
    latency_sheets,
    memory_sheets,
    three_digits,
    unit_for,
    worst_sheets,
)
from hakmem_lab.bench.results import FURTHER, REAL, TRACE, Results
from hakmem_lab.bench.sheets import (
    BAD,
    BEST,
    FAINT,
    GOOD,
    SAME,
    WORDS,
    Cell,
    Section,
    Sheet,
    cells,
    markdown,
    terminal,
)
from hakmem_lab.bench.statistics import DISTURBED, FASTER, SLOWER, UNJUDGED
from hakmem_lab.bench.statistics import SAME as NO_DIFFERENCE
from hakmem_lab.bench.target import Target

VERDICT = {True: Cell("met", GOOD), False: Cell("missed", BAD)}
DISTURBED_MARK = "†"
WIDE_ENOUGH = 60  # columns of a terminal that all but the allocators need
ALLOCATOR_WIDTH = 10
COMMIT_DIGITS = 12


# ---- cells ----

def ratio_cell(ratio: float | None) -> Cell:
    return Cell("" if ratio is None else f"{ratio:.3f}")


def verdict_cell(verdict: str) -> Cell:
    mark = {FASTER: GOOD, SLOWER: BAD}.get(verdict, SAME)
    sign = {FASTER: "▼ ", SLOWER: "▲ "}.get(verdict, "")
    return Cell(sign + verdict, mark)


# ---- the headline ----

@dataclass(frozen=True)
class Headline:
    title: str
    where: str
    targets: list[Target]


def headline(results: Results) -> Headline:
    machine = results.machine
    commit = str(machine.get("commit") or "")[:COMMIT_DIGITS]
    named = [f"HAKMEM {commit}" + (" with changes" if machine.get("dirty") else "") if commit else "",
             str(machine.get("date") or "").replace("T", " "), str(machine.get("cpu") or ""),
             f"{machine['cores']} cores" if machine.get("cores") else "", str(machine.get("distribution") or "")]
    beside = f"beside {', '.join(results.peers)}" if results.peers else ""
    return Headline("HAKMEM benchmark", ", ".join(text for text in [*named, beside] if text), Judge(results).targets)


def target_sheet(judge: Judge) -> Sheet:
    rows = [target_row(target) for target in judge.targets]
    return Sheet("Targets", ["HAKMEM against", "measured", "goal", "", "on which rows"], rows, words=5, folded=True)


def target_row(target: Target) -> list[Cell]:
    return [Cell(target.text), Cell(target.measured, BEST), Cell(target.goal), VERDICT[target.met],
            Cell(target.detail, WORDS)]


def means_sheet(judge: Judge) -> Sheet:
    results = judge.results
    columns = {
        "time, small patterns": judge.time_means(judge.small_patterns),
        "time, real programs": judge.time_means(results.real),
        "time, traces": judge.time_means(results.traces),
        "peak RSS, all rows": judge.rss_means(judge.all_rows),
        "peak RSS, rows with much memory": judge.rss_means(judge.memory_rows),
    }
    there = {heading: found for heading, found in columns.items() if found}
    rows = [[Cell(peer), *(mean_cell(found.get(peer)) for found in there.values())] for peer in results.peers]
    return Sheet("Geometric means of HAKMEM / peer", ["HAKMEM /", *there], rows + best_row(judge, list(there)),
                 note="Below 1 HAKMEM is faster or leaner. In brackets: rows, where the peer has no figure in some. "
                      f"Rows with much memory: {', '.join(MEMORY_GROUPS)}.")


def mean_cell(mean: Mean | None) -> Cell:
    if mean is None:
        return Cell("–", FAINT)
    partly = f" ({mean.rows} of {mean.of})" if mean.rows < mean.of else ""
    return Cell(f"{mean.ratio:.3f}{partly}")


def best_row(judge: Judge, headings: list[str]) -> list[list[Cell]]:
    best = {"time, small patterns": judge.best_row_by_row(judge.small_patterns),
            "time, real programs": judge.best_row_by_row(judge.results.real),
            "time, traces": judge.best_row_by_row(judge.results.traces)}
    return [[Cell("the best of each row"), *(mean_cell(best.get(heading)) for heading in headings)]]


def standings_sheet(judge: Judge) -> Sheet:
    found = judge.standings(judge.small_patterns)
    return Sheet("Each allocator ÷ the best of all others",
                 ["small patterns", "geometric mean", "median", f"rows above {ROW_TARGET:.2f}", "most"],
                 [standing_row(one) for one in found] if len(found) > 2 else [])


def standing_row(one: Standing) -> list[Cell]:
    ratio, row = one.worst
    return cells([one.allocator, f"{one.mean:.3f}", f"{one.middle:.3f}", f"{one.behind} of {one.rows}",
                  f"{ratio:.1f} ({row})"])


def count_text(judge: Judge) -> str:
    counts = judge.counts
    few, disturbed = counts[UNJUDGED], counts[DISTURBED]
    unjudged = f" {few} have too few rounds for a verdict." if few else ""
    unjudged += f" {disturbed} have too few rounds that nothing disturbed." if disturbed else ""
    return (f"Against the best peer of each row HAKMEM is faster in {counts[FASTER]}, slower in {counts[SLOWER]}, and "
            f"in {counts[NO_DIFFERENCE]} there is no difference that the runs can show.{unjudged}")


# ---- times ----

def time_sheet(judge: Judge, title: str, benchmarks: list[str]) -> Sheet:
    names = judge.results.allocators
    headings = [title, "unit", *names, "ratio", "95 % interval", "HAKMEM is"]
    return Sheet(title, headings, [time_row(judge, name) for name in benchmarks], words=2)


def time_row(judge: Judge, benchmark: str) -> list[Cell]:
    results = judge.results
    figures = {name: results.ns(benchmark, name) for name in results.allocators}
    divisor, unit = unit_for([ns for ns in figures.values() if ns is not None])
    best = least_text(figures.values(), divisor)
    shown = [time_cell(results, benchmark, name, ns, divisor, best) for name, ns in figures.items()]
    return [Cell(benchmark), Cell(unit, FAINT), *shown, *duel_cells(judge.duels.get(benchmark))]


def least_text(figures: Iterable[float | None], divisor: float) -> str:
    """Of all allocators, as it is written."""
    return three_digits(min((ns for ns in figures if ns is not None), default=0) / divisor)


def time_cell(results: Results, benchmark: str, name: str, ns: float | None, divisor: float, best: str) -> Cell:
    if ns is None:
        return Cell("–", FAINT)
    mark = DISTURBED_MARK if (benchmark, name) in results.marked else ""
    text = three_digits(ns / divisor)
    return Cell(text + mark, BEST if text == best else "")


def duel_cells(duel: Duel | None) -> list[Cell]:
    if duel is None:
        return cells(["", "", ""])
    low, high = duel.ratio.low, duel.ratio.high
    interval = "" if low is None or high is None else f"{low:.3f}–{high:.3f}"
    return [ratio_cell(duel.ratio.value), Cell(interval, FAINT), verdict_cell(duel.verdict)]


# ---- what went wrong ----

def failure_sheet(results: Results) -> Sheet:
    rows = [cells([str(run.benchmark), str(run.allocator), str(run.round)]) + [Cell(str(run.outcome), WORDS)]
            for run in results.failures.itertuples()]
    return Sheet("Failures", ["benchmark", "allocator", "round", "what happened"], rows, words=4)


def disturbed_sheet(results: Results) -> Sheet:
    seen = results.disturbed.groupby(["benchmark", "allocator"], sort=False)["disturbed"]
    rows = [[Cell(benchmark), Cell(name), Cell(str(len(reasons))),
             Cell("left out" if (benchmark, name) not in results.marked else f"counted {DISTURBED_MARK}"),
             Cell("; ".join(dict.fromkeys(reasons)), WORDS)] for (benchmark, name), reasons in seen]
    return Sheet("Disturbed runs", ["benchmark", "allocator", "runs", "", "why"], rows, words=5, folded=len(rows) > 12)


# ---- what was measured on ----

def allocator_sheet(results: Results) -> Sheet:
    listed = results.machine.get("allocators", [])
    rows = [cells([str(one.get("name", "")), str(one.get("version", "")), str(one.get("sha256", ""))])
            + [Cell(Path(str(one.get("file") or "")).name, WORDS)] for one in listed]
    return Sheet("Allocators", ["allocator", "version", "SHA-256, first digits", "file"], rows, words=4)


MACHINE_LINES = (
    ("machine", "machine"), ("cpu", "CPU"), ("cores", "cores"), ("mhz", "MHz"), ("memory_mib", "memory, MiB"),
    ("kernel", "Linux"), ("distribution", "distribution"), ("thp", "transparent huge pages"),
    ("governor", "frequency governor"), ("load", "load before"), ("compiler", "compiler"), ("flags", "flags"),
    ("commit", "commit"), ("date", "measured"), ("options", "options"), ("environment", "environment"),
    ("not_measured_because_missing", "missing peers"),
)


def machine_sheet(results: Results) -> Sheet:
    known = [(heading, machine_text(results.machine, key)) for key, heading in MACHINE_LINES]
    rows = [[Cell(heading), Cell(text, WORDS)] for heading, text in known if text]
    return Sheet("Machine", ["", ""], rows, words=2)


def machine_text(machine: dict[str, Any], key: str) -> str:
    value = machine.get(key)
    if isinstance(value, dict):
        return ", ".join(f"{name} {plain(one)}" for name, one in value.items() if one not in (None, "", [], False))
    changed = " with changes that are not committed" if key == "commit" and machine.get("dirty") else ""
    return "" if value is None or not plain(value) else plain(value) + changed


def plain(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def operation_sheet(results: Results, benchmarks: list[str]) -> Sheet:
    """What was run, with every value in force."""
    described = results.machine.get("benchmarks", {})
    rows = [[Cell(name), Cell(str(facts.get("threads", ""))), Cell(str(facts.get("operation", "")), WORDS),
             Cell(values_in_force(results, name), WORDS)]
            for name in benchmarks if (facts := described.get(name))]
    return Sheet("What one operation is", ["benchmark", "threads", "one operation", "parameters"], rows, words=4,
                 folded=True)


def values_in_force(results: Results, benchmark: str) -> str:
    own = results.metrics[(results.metrics["benchmark"] == benchmark) & (results.metrics["unit"] == PARAMETER)]
    values = dict(zip(own["name"], own["value"]))
    return ", ".join(f"{name.removeprefix(PARAMETER + '_')} {value:g}" for name, value in values.items())


HOW = (
    "Each figure is the median of processes of their own, one library preloaded in each; allocators take turns in "
    "every round, in rotating order, after warm-ups. Each process proves that the claimed library served it.",
    "ratio: the median of HAKMEM over the median of the row's best peer, in the rounds both have; the interval comes "
    "from 10,000 drawings of those rounds (percentile bootstrap).",
    "HAKMEM is faster or slower where a t-test on the 20 % trimmed mean of the per-round log ratios (Tukey and "
    "McLaughlin 1963) finds more than 1 % of difference, corrected over all rows (Holm 1979, 5 %).",
    "The least of a row is bold, be it HAKMEM's or a peer's. A dash: no figure. " + DISTURBED_MARK + ": more than half "
    "of the runs were disturbed, all of them are in the figure; elsewhere disturbed runs are left out.",
    "A verdict is drawn from five rounds and more that nothing disturbed; `disturbed`: there were fewer of these.",
    "Throughput passes read no clock around calls; latency, system calls and instructions are passes of their own.",
)


COMEBACK = (
    "What stays resident when a program has freed most of what it had. The page floor is what must stay: the pages that "
    "hold a live byte. RSS / page floor leaves out what the program itself holds before its first block on glibc."
)


# ---- all of it ----

def sections(results: Results) -> list[Section]:
    judge = Judge(results)
    found = [
        Section("headline", "Result", count_text(judge), [target_sheet(judge), means_sheet(judge), standings_sheet(judge)],
                ["overview", "memory-speed"]),
        *(group_section(judge, group, names) for group, names in results.chapters.items()),
        scaling_section(judge),
        Section("comeback", "Memory that comes back", COMEBACK, comeback_sheets(results), ["daynight"]),
        Section("memory", "Memory", "", memory_sheets(results), [f"rss-{group}" for group in results.chapters]),
        Section("latency", "Latency of single calls", counter_cost(results), latency_sheets(results),
                [f"latency-{group}" for group in results.chapters]),
        worst_section(results),
        Section("counts", "System calls, instructions, page faults, context switches", "Medians per process.",
                count_sheets(results)),
        Section("trouble", "Disturbed runs and failures", trouble_text(results),
                [failure_sheet(results), disturbed_sheet(results)]),
        Section("machine", "Machine and allocators", "", [machine_sheet(results), allocator_sheet(results)]),
    ]
    return [kept for kept in map(without_empty, found) if kept.sheets or kept.key == "trouble"]


def without_empty(section: Section) -> Section:
    return Section(section.key, section.title, section.intro, [s for s in section.sheets if s.rows], section.plots)


INTROS = {
    REAL: "The whole run of a program.",
    TRACE: "Per call, made again by hak_replay. Peak RSS is above what was resident before the first call.",
}


def group_section(judge: Judge, group: str, benchmarks: list[str]) -> Section:
    title = {REAL: "Real programs", FURTHER: "Time: further patterns", TRACE: "Traces of real programs"}.get(group, f"Time: {group}")
    intro = INTROS.get(group, "Per operation; one operation has at least one malloc and one free.")
    return Section(f"time-{group}", title, intro, [time_sheet(judge, group, benchmarks),
                    operation_sheet(judge.results, benchmarks)], [f"time-{group}"])


def scaling_section(judge: Judge) -> Section:
    rows = [name for points in judge.results.scaling.values() for name in points.values()]
    sheets = [time_sheet(judge, "row @ threads", rows)] if rows else []
    return Section("scaling", "Scaling over threads", "Wall time divided by the operations of all threads together.",
                   sheets, ["scaling"])


def worst_section(results: Results) -> Section:
    return Section("worst", "Worst single call", "The most that any one malloc or free of up to 32 KiB took, counted "
                   "under callgrind.", worst_sheets(results))


def trouble_text(results: Results) -> str:
    runs, failed, disturbed = len(results.finished), len(results.failures), len(results.disturbed)
    counts = f"{runs} counted runs ended well, {disturbed} of them disturbed; {failed} failed."
    served = results.metric(SERVED)
    if not served:
        return counts
    least = rounded_down(min(served.values()))
    return f"{counts} The counted twin runs show that HAKMEM served at least {least:.3f} % of the calls in each of " \
           f"{len(served)} benchmarks."


def rounded_down(percent: float) -> float:
    return floor(percent * 1000) / 1000


def as_markdown(told: list[Section]) -> str:
    parts = ["# HAKMEM benchmark\n"]
    for section in told:
        parts += [f"## {section.title}\n", section.intro + "\n" if section.intro else ""]
        for sheet in section.sheets:
            parts += [markdown(sheet), sheet.note + "\n" if sheet.note else ""]
    how = ["## How it was measured\n", *(f"- {text}" for text in HOW)]
    return "\n".join([text for text in parts if text] + how) + "\n"


# ---- the terminal ----

def print_summary(console: Console, folder: Path) -> None:
    """The times and the targets; everything else is in the files."""
    judge = Judge(Results(folder))
    names = judge.results.allocators
    sheet = narrow_sheet if console.width < WIDE_ENOUGH + ALLOCATOR_WIDTH * len(names) else time_sheet
    for title, benchmarks in judge.results.chapters.items():
        console.print(terminal(sheet(judge, title, benchmarks)))
        console.print()
    for line in summary_lines(judge):
        console.print(printable(line), highlight=False, markup=False)
    for target in judge.targets:
        style = "green" if target.met else "red"
        console.print(f"{target.text}: {target.measured} (goal {target.goal}): [{style}]{VERDICT[target.met].text}[/]",
                      highlight=False)


def summary_lines(judge: Judge) -> list[str]:
    failed = judge.results.failures.drop_duplicates(["benchmark", "allocator", "outcome"])
    return [count_text(judge), trouble_text(judge.results),
            *(f"no figure: {run.benchmark} on {run.allocator}: {run.outcome}" for run in failed.itertuples())]


def narrow_sheet(judge: Judge, title: str, benchmarks: list[str]) -> Sheet:
    """HAKMEM and the best peer alone."""
    headings = [title, "unit", HAKMEM, "best", "peer", "ratio", "95 % interval", "HAKMEM is"]
    return Sheet(title, headings, [narrow_row(judge, name) for name in benchmarks], words=2)


def narrow_row(judge: Judge, benchmark: str) -> list[Cell]:
    ours, peer = judge.results.ns(benchmark, HAKMEM), judge.best_peer(benchmark)
    theirs = judge.results.ns(benchmark, peer) if peer else None
    divisor, unit = unit_for([ns for ns in (ours, theirs) if ns is not None])
    best = least_text((ours, theirs), divisor)
    figures = [time_cell(judge.results, benchmark, name, ns, divisor, best)
               for name, ns in ((HAKMEM, ours), (peer or "", theirs))]
    return [Cell(benchmark), Cell(unit, FAINT), *figures, Cell(peer or ""), *duel_cells(judge.duels.get(benchmark))]
