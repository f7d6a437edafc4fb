# SPDX-License-Identifier: MIT OR Apache-2.0
"""The README's plot, docs/time-memory.svg: time against peak memory of real programs, HAKMEM and peers.

    build/venv/bin/python lab/readme_plot.py       # prints the figures that are drawn

Read are the rows `real` of lab/docs/report/data/runs.csv. A point is the geometric mean over the programs of an
allocator's median ÷ glibc's; its bars are 95 % bootstrap intervals over the runs. The same input gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "lab/docs/report/data/runs.csv"
PLOT = ROOT / "docs/time-memory.svg"
COLUMNS = ["ns", "peak_rss_kib"]
DRAWS = 4000
COLOURS = {"hakmem": "#d55e00", "glibc": "#7d8590", "mimalloc": "#0072b2", "jemalloc": "#009e73", "tcmalloc": "#cc79a7",
           "snmalloc": "#56b4e9", "rpmalloc": "#8c8a2c"}
BASE = "glibc"
BELOW = {"hakmem", "rpmalloc"}  # names below their bars, where those above would meet

Runs = dict[tuple[str, str], np.ndarray]


def runs() -> Runs:
    table = pd.read_csv(RUNS)
    counted = table[(table.group == "real") & (table.phase == "counted") & (table.outcome == "ok")]
    return {key: rows[COLUMNS].to_numpy(float) for key, rows in counted.groupby(["benchmark", "allocator"])}


def drawn(rows: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Medians of DRAWS samples of the runs, with replacement."""
    return np.median(rows[random.integers(0, len(rows), (DRAWS, len(rows)))], axis=1)


def ratio(found: Runs, name: str, random: np.random.Generator) -> np.ndarray:
    """Of time and peak: low, mean, high."""
    programs = sorted({program for program, _ in found})
    mean = [np.log(np.median(found[p, name], axis=0) / np.median(found[p, BASE], axis=0)) for p in programs]
    draws = [np.log(drawn(found[p, name], random) / drawn(found[p, BASE], random)) for p in programs]
    low, high = np.exp(np.percentile(np.mean(draws, axis=0), [2.5, 97.5], axis=0))
    return np.array([low, np.exp(np.mean(mean, axis=0)), high])


def draw(figures: dict[str, np.ndarray]) -> None:
    mpl.rcParams.update({"svg.hashsalt": "hakmem", "svg.fonttype": "none", "font.size": 10, "axes.axisbelow": True})
    figure, axes = plt.subplots(figsize=(5.2, 3.5))
    for name, (low, mean, high) in figures.items():
        bars = np.abs(np.array([low, high]) - mean)
        axes.errorbar(mean[1], mean[0], xerr=bars[:, 1:2], yerr=bars[:, 0:1], fmt="o", color=COLOURS[name], capsize=2,
                      markersize=9 if name == "hakmem" else 6, elinewidth=1)
        under = name in BELOW
        axes.annotate(name, (mean[1], low[0] if under else high[0]), xytext=(0, -13 if under else 4), ha="center",
                      textcoords="offset points", color=COLOURS[name], weight="bold" if name == "hakmem" else "normal")
    axes.set(xlabel="peak memory ÷ glibc's", ylabel="time ÷ glibc's", xlim=(0.94, 1.86), ylim=(0.82, 1.28))
    axes.grid(visible=True, color="#d0d7de", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(PLOT, metadata={"Date": None})


def main() -> None:
    found = runs()
    random = np.random.default_rng(1)
    figures = {name: ratio(found, name, random) for name in COLOURS}
    for name, (low, mean, high) in figures.items():
        time, peak = (f"{mean[n]:.3f} ({low[n]:.3f} to {high[n]:.3f})" for n in (0, 1))
        print(f"{name:9} time {time}, peak {peak}")
    draw(figures)


if __name__ == "__main__":
    main()
