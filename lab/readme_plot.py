# SPDX-License-Identifier: MIT OR Apache-2.0
"""The README's plot, docs/time-memory.svg: CPU time against peak memory of real programs, HAKMEM and peers.

    build/venv/bin/python lab/readme_plot.py              # prints the figures that are drawn
    build/venv/bin/python lab/readme_plot.py rested       # only prints: no huge pages at hand

Read are the rows of `hakmem-lab judge` in lab/docs/report/data/judge. A point is the geometric mean, over the programs that
ran on every allocator, of least CPU time and median peak ÷ glibc's of the same rounds; its bars are 95 % bootstrap
intervals over the programs. The same input gives the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from hakmem_lab.judge import verdict
from hakmem_lab.judge.rows import read

ROOT = Path(__file__).resolve().parents[1]
ROWS = ROOT / "lab/docs/report/data/judge"
PLOT = ROOT / "docs/time-memory.svg"
DRAWS = 4000
NAMES = {"hakmem": "HAKMEM", "glibc": "glibc", "glibc-huge": "glibc, huge", "mimalloc": "mimalloc 3",
         "jemalloc": "jemalloc", "tcmalloc": "gperftools", "snmalloc": "snmalloc", "rpmalloc": "rpmalloc",
         "tbbmalloc": "tbbmalloc", "google-tcmalloc": "Google's tcmalloc"}
COLOURS = {"hakmem": "#d55e00", "glibc": "#7d8590", "glibc-huge": "#57606a", "mimalloc": "#0072b2",
           "jemalloc": "#009e73", "tcmalloc": "#cc79a7", "snmalloc": "#56b4e9", "rpmalloc": "#8c8a2c",
           "tbbmalloc": "#6e40aa", "google-tcmalloc": "#b35900"}
BASE = "glibc"
BELOW = {"hakmem", "rpmalloc", "mimalloc", "tcmalloc"}  # names below their bars: others would meet
LIFTED = {"snmalloc": 10}  # [points] above its bar
SIDES = {"glibc-huge": "right", "snmalloc": "right", "tbbmalloc": "right", "rpmalloc": "right", "jemalloc": "left",
         "tcmalloc": "left", "google-tcmalloc": "left"}


def runs_in(regime: str) -> verdict.Runs:
    """Of the programs that ran on every allocator."""
    rows = [row for row in read(ROWS / f"{regime}.csv") if row.outcome == "ok" and row.configuration in NAMES]
    every = {row.configuration for row in rows}
    return {program: by for program, by in sorted(verdict.runs_of(rows, regime).items()) if set(by) == every}


def ratios(runs: verdict.Runs, name: str) -> np.ndarray:
    """Logarithms of CPU time and peak ÷ glibc's, a row for each program."""
    shared = verdict.common(runs, [name, BASE])
    figures = [[(verdict.least_cpu(by[of]), verdict.middle(by[of], lambda row: row.peak_kib)) for of in (name, BASE)]
               for by in shared.values()]
    own, base = np.moveaxis(np.log(figures), 1, 0)
    return own - base


def interval(found: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Of time and peak: low, mean, high."""
    draws = found[random.integers(0, len(found), (DRAWS, len(found)))].mean(axis=1)
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    return np.exp([low, found.mean(axis=0), high])


def draw(figures: dict[str, np.ndarray]) -> None:
    mpl.rcParams.update({"svg.hashsalt": "hakmem", "svg.fonttype": "none", "font.size": 10, "axes.axisbelow": True})
    figure, axes = plt.subplots(figsize=(5.2, 3.5))
    for name, (low, mean, high) in figures.items():
        bars = np.abs(np.array([low, high]) - mean)
        axes.errorbar(mean[1], mean[0], xerr=bars[:, 1:2], yerr=bars[:, 0:1], fmt="o", color=COLOURS[name], capsize=2,
                      markersize=9 if name == "hakmem" else 6, elinewidth=1)
        under = name in BELOW
        axes.annotate(NAMES[name], (mean[1], low[0] if under else high[0]), xytext=(0, -13 if under else 4 + LIFTED.get(name, 0)),
                      ha=SIDES.get(name, "center"),
                      textcoords="offset points", color=COLOURS[name], weight="bold" if name == "hakmem" else "normal")
    axes.set(xlabel="peak memory ÷ glibc's", ylabel="CPU time ÷ glibc's", xlim=(0.93, 1.36), ylim=(0.62, 1.04))
    axes.grid(visible=True, color="#d0d7de", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(PLOT, metadata={"Date": None})


def told(figures: np.ndarray) -> str:
    low, mean, high = figures
    return ", ".join(f"{what} {mean[n]:.3f} ({low[n]:.3f} to {high[n]:.3f})" for n, what in enumerate(("CPU", "peak")))


def main() -> None:
    regime = sys.argv[1] if len(sys.argv) > 1 else "ready"
    runs = runs_in(regime)
    random = np.random.default_rng(1)
    found = {name: ratios(runs, name) for name in NAMES if name in next(iter(runs.values()))}
    figures = {name: interval(rows, random) for name, rows in found.items()}
    print(f"{regime}: {len(runs)} programs")
    for name, rows in found.items():
        print(f"{NAMES[name]:17} ÷ glibc: {told(figures[name])}; of HAKMEM: {told(interval(found['hakmem'] - rows, random))}")
    if regime == "ready":
        draw(figures)


if __name__ == "__main__":
    main()
