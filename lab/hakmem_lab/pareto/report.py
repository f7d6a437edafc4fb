# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab pareto report`: tables in Markdown, plots, and the verdicts, from the rows of a CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console

from hakmem.base.atomic_write import write_whole
from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.process.peers import HAKMEM
from hakmem_lab.bench.measures import three_digits
from hakmem_lab.bench.statistics import Ratio
from hakmem_lab.pareto import rows
from hakmem_lab.pareto.configurations import BASELINE, EVOLVING
from hakmem_lab.pareto.programs import SERVER
from hakmem_lab.pareto.verdict import (
    BETTER,
    COST,
    CPU,
    EQUAL,
    MEMORY,
    MEMORY_GOAL,
    ROWS_BETTER,
    TIME_GOAL,
    WORSE,
    Program,
    Runs,
    intervals,
    median,
    programs_of,
    worst,
)

NOTHING = "–"
FEWEST_PROGRAMS = 12
Line = list[str]


def report(file: Path, output: Path | None, console: Console) -> int:
    """The exit status."""
    from hakmem_lab.pareto.plots import save_plots

    programs = programs_of(rows.complete(rows.read(file)))
    if not programs:
        raise Refusal(f"{file}: no program in it has a floor and a run")
    folder = output or file.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(sections(programs))
    write_whole(folder / "pareto.md", text)
    pictures = save_plots(programs, folder)
    console.print("\n".join(map(printable, text.split("\n"))), markup=False, highlight=False, soft_wrap=True)
    console.print(f"{folder / 'pareto.md'}, {', '.join(path.name for path in pictures)}", markup=False, highlight=False,
                  soft_wrap=True)
    return 0


# ---- Markdown ----

def table(head: Line, lines: Iterable[Line], words: int = 1) -> str:
    ruler = ["---"] * words + ["---:"] * (len(head) - words)
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ruler, *lines]) + "\n"


def figure(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"-{three_digits(-value)}" if value < 0 else three_digits(value)


def ratio_text(value: float | None) -> str:
    """Two digits after the point, or what says that it is far away."""
    if value is None:
        return "none"
    return "> 100" if value > 100 else f"{value:.2f}"


def interval_text(ratio: Ratio | None) -> str:
    if ratio is None:
        return NOTHING
    beside = f" ({ratio.low:.3f}–{ratio.high:.3f})" if ratio.low is not None and ratio.high is not None else ""
    return f"{ratio.value:.3f}{beside}"


def sections(programs: list[Program]) -> Iterator[str]:
    yield "## Against the targets\n\n" + verdict_table(programs)
    if any(program.memory_ratios() for program in programs):
        yield "## HAKMEM's front and its best peers\n\n" + FRONT_NOTE + front_table(programs)
    if any(program.against(EVOLVING, BASELINE) for program in programs):
        yield "## Evolving / baseline\n\n" + against_table(programs)
    yield "## All figures\n\n" + FIGURES_NOTE + figure_table(programs)
    yield "## The floor\n\n" + floor_table(programs)


# ---- verdicts ----

def verdict_table(programs: list[Program]) -> str:
    return table(["goal", "measured", ""], verdict_lines(programs), words=3)


def verdict_lines(programs: list[Program]) -> Iterator[Line]:
    servers = sum(program.kind == SERVER for program in programs)
    enough = len(programs) >= FEWEST_PROGRAMS and 2 * servers >= len(programs)
    yield [f"at least {FEWEST_PROGRAMS} programs, half of them servers", f"{len(programs)}, of which {servers}", met(enough)]
    if any(program.memory_ratios() for program in programs):
        yield front_verdict(programs)
    for what in (COST, CPU, MEMORY):
        found = intervals(programs, what)
        measured = (f"{found.judged} rows judged; above on {named(found.worse)}; below on {named(found.better)}"
                    if found.judged else "too few rounds for an interval")
        yield [f"evolving / baseline, {what}: no row wholly above {WORSE}, {ROWS_BETTER} and more wholly below {BETTER}",
               measured, met(found.met) if found.judged else NOTHING]


def front_verdict(programs: list[Program]) -> Line:
    good = [program.name for program in programs if program.meets_front()]
    goal = (f"memory at equal CPU time (× {EQUAL}) ≤ {MEMORY_GOAL} of the best peer's, and CPU time at equal memory ≤ "
            f"{TIME_GOAL:g} of it, on half of the programs")
    return [goal, f"{len(good)} of {len(programs)}: {named(good)}", met(2 * len(good) >= len(programs))]


def met(good: bool) -> str:
    return "met" if good else "**missed**"


def named(names: list[str]) -> str:
    return f"{len(names)} ({', '.join(names)})" if names else "none"


# ---- the front ----

FRONT_NOTE = (
    "CPU time in s and excess memory in MiB × s. Ratios: HAKMEM's front at the peer's CPU time or memory / the peer, against "
    "the peer that is hardest to meet, then against the leanest or quickest one. `none`: at no price is HAKMEM as quick, or "
    "as lean.\n\n"
)


def front_table(programs: list[Program]) -> str:
    prices = list(dict.fromkeys(name for program in programs for name in program.front))
    head = ["program", *prices, "leanest peer", "quickest peer", "memory at equal CPU time", "of the leanest",
            "CPU time at equal memory", "of the quickest", "met"]
    return table(head, [front_line(program, prices) for program in programs if program.memory_ratios()])


def front_line(program: Program, prices: list[str]) -> Line:
    peers = program.peers
    leanest = min(peers, key=lambda name: peers[name].excess_mib_s)
    quickest = min(peers, key=lambda name: peers[name].cpu_s)
    memory, time = program.memory_ratios(), program.time_ratios()
    points = [point_text(program, name) for name in (*prices, leanest, quickest)]
    points[-2:] = [f"{leanest} {points[-2]}", f"{quickest} {points[-1]}"]
    return [program.name, *points, worst_text(memory), ratio_text(memory[leanest]), worst_text(time),
            ratio_text(time[quickest]), "yes" if program.meets_front() else "no"]


def point_text(program: Program, name: str) -> str:
    runs = program.runs.get(name)
    return f"{runs.point.cpu_s:.3f}, {figure(runs.point.excess_mib_s)}" if runs else NOTHING


def worst_text(ratios: dict[str, float | None]) -> str:
    name, ratio = worst(ratios)
    return f"{ratio_text(ratio)} ({name})"


# ---- against the baseline ----

def against_table(programs: list[Program]) -> str:
    lines = [[program.name, *(interval_text(program.against(EVOLVING, BASELINE).get(what)) for what in (CPU, MEMORY, COST))]
             for program in programs if program.against(EVOLVING, BASELINE)]
    return ("Ratios of medians, with 95 % intervals from five rounds on. Cost: CPU time, and the excess at the price. "
            "Of memory only where both lie above the floor.\n\n"
            + table(["program", CPU, MEMORY, COST], lines))


# ---- figures ----

FIGURES_NOTE = (
    "Medians of the runs. CPU time, s; excess: MiB × s above the floor; memory: MiB × s of anonymous pages; RSS: of all "
    "pages of all processes; peak: the most RSS at a time, MiB.\n\n"
)


def figure_table(programs: list[Program]) -> str:
    head = ["program", "on", "runs", "CPU time", "wall time", "excess", "memory", "RSS", "peak"]
    lines = [figure_line(program.name, name, runs) for program in programs for name, runs in program.runs.items() if runs.cpu_s]
    return table(head, lines, words=2)


def figure_line(program: str, name: str, runs: Runs) -> Line:
    numbers = (runs.excess, runs.memory, runs.rss, runs.peak_mib)
    return [program, f"**{name}**" if runs.allocator == HAKMEM else name, str(len(runs.cpu_s)), f"{median(runs.cpu_s):.3f}",
            f"{median(runs.wall_s):.2f}", *(figure(median(values)) for values in numbers)]


def floor_table(programs: list[Program]) -> str:
    lines = [[program.name, phase, figure(mib)] for program in programs for phase, mib in program.floor_mib.items()]
    return "Mean of each phase, MiB.\n\n" + table(["program", "phase", "floor"], lines, words=2)
