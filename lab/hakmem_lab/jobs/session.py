# SPDX-License-Identifier: MIT OR Apache-2.0
"""All jobs and tools by turns, and the CSV that they are written to."""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem_lab.jobs.answer import CANNOT, verdict_of
from hakmem_lab.jobs.model import BARE, TOOLS, Job, Way, jobs_of
from hakmem_lab.jobs.perform import environment, perform, prepared

COLUMNS = ("job", "tool", "round", "commands", "verdict", "figure", "truth", "wall_s", "cpu_s", "all_cpu_s", "peak_mib",
           "tree_mib")
COMMANDS = {"hakmem": ("hakmem",), "heaptrack": ("heaptrack", "heaptrack_print"), "memray": ("memray",),
            "massif": ("valgrind", "ms_print"), "jeprof": ("jeprof",), "pprof": ("google-pprof",), BARE: ()}
Rows = dict[tuple[str, str, int], dict[str, str]]


def show_list(names: list[str]) -> int:
    for job in jobs_of(names):
        print(f"{job.name}: {job.question}\n  truth: {job.truth}")
        for tool in TOOLS:
            way = job.ways.get(tool, Way(tool, (), cannot="no command for it"))
            print(f"  {tool}: {way.cannot or ''}", *(f"    {line}" for line in way.lines), sep="\n" if way.lines else "")
    return 0


def missing(tool: str) -> list[str]:
    return [command for command in COMMANDS[tool] if shutil.which(command, path=environment()["PATH"]) is None]


def tools_of(wanted: list[str]) -> list[str]:
    for name in wanted:
        if name not in TOOLS:
            raise Refusal(f"--tools {name}: expected {', '.join(TOOLS)}")
    found = [name for name in TOOLS if not wanted or name in wanted]
    for name in found:
        if absent := missing(name):
            print(f"hakmem-lab: without {name}: {', '.join(absent)} is missing", file=sys.stderr)
    return [BARE, *(name for name in found if not missing(name))]


def rows_of(path: Path) -> Rows:
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if rows and tuple(rows[0]) != COLUMNS:
        raise Refusal(f"{path} has other columns than `hakmem-lab jobs` writes")
    return {(row["job"], row["tool"], int(row["round"])): row for row in rows}


def append(path: Path, row: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    try:
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(row)
    except OSError as failure:
        raise Refusal(f"{path}: {failure.strerror}", 1) from None


def text_of(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.0f}"


def row_of(job: Job, way: Way, number: int, folder: Path) -> dict[str, str]:
    place = folder / job.name / way.tool
    prepared(job, place)
    done = perform(job, way, place, folder / job.name / f"{way.tool}.{number}.txt")
    verdict, figure, truth = verdict_of(job, way, done.text)
    return {"job": job.name, "tool": way.tool, "round": str(number), "commands": str(len(way.typed)), "verdict": verdict,
            "figure": text_of(figure), "truth": text_of(truth), "wall_s": f"{done.wall_s:.2f}", "cpu_s": f"{done.cpu_s:.2f}",
            "all_cpu_s": f"{done.all_cpu_s:.2f}", "peak_mib": f"{done.peak_bytes / 2**20:.1f}",
            "tree_mib": f"{done.tree_bytes / 2**20:.1f}"}


def cannot_row(job: Job, tool: str, number: int) -> dict[str, str]:
    return {**dict.fromkeys(COLUMNS, ""), "job": job.name, "tool": tool, "round": str(number), "verdict": CANNOT}


def say_row(row: dict[str, str]) -> None:
    told = ("job", "tool", "round", "verdict", "figure", "truth", "wall_s", "cpu_s", "peak_mib")
    print(*(row[name] for name in told if row[name]), flush=True)


def carry_out(names: list[str], wanted: list[str], rounds: int, output: Path, folder: Path) -> int:
    jobs, tools, rows = jobs_of(names), tools_of(wanted), rows_of(output)
    folder = folder.resolve()
    for number in range(1, rounds + 1):
        for job in jobs:
            for tool in tools:
                if (job.name, tool, number) in rows:
                    continue
                way = job.ways.get(tool)
                row = row_of(job, way, number, folder) if way and way.lines else cannot_row(job, tool, number)
                append(output, row)
                say_row(row)
    return 0
