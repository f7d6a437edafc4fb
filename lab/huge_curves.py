# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws lab/docs/huge/choice.svg: which regions the account of retain/huge.h fetches as huge pages, and its regret.

    build/venv/bin/python lab/huge_curves.py [build/release/tests/unit/unit_runs]

The curves are those of the test Huge.TheBetterChoiceHasFourOfFiveRegionsAlsoWhenCostsChangeSides: regions of 512 pages of
1 us each, one in each ms; a huge page costs 0.2 ms in 10,000 regions, 2 ms in the next 10,000, and so on. The same
test gives the same bytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
PLOT = ROOT / "lab/docs/huge/choice.svg"
TEST = "Huge.TheBetterChoiceHasFourOfFiveRegionsAlsoWhenCostsChangeSides"
STEP, US_PER_MS = 100, 1000
CHEAP, DEAR = "#009e73", "#d55e00"


def curves(program: Path) -> list[tuple[str, np.ndarray]]:
    """By turns "cheap" and "dear": of each STEP regions the huge ones, and the regret since the turn began [us]."""
    with tempfile.NamedTemporaryFile(suffix=".json") as told:
        subprocess.run([program, f"--gtest_filter={TEST}", f"--gtest_output=json:{told.name}"], check=True,
                       stdout=subprocess.DEVNULL)
        (case,) = json.load(told)["testsuites"][0]["testsuite"]
    turns = sum(key.startswith("cheap_") for key in case)
    return [(side, np.array([row.split(",") for row in case[f"{side}_{turn}"].strip(";").split(";")], dtype=float))
            for turn in range(turns) for side in ("cheap", "dear")]


def draw(found: list[tuple[str, np.ndarray]]) -> None:
    mpl.rcParams.update({"svg.hashsalt": "hakmem", "svg.fonttype": "none", "font.size": 10, "axes.axisbelow": True})
    figure, (share, regret) = plt.subplots(2, sharex=True, figsize=(7, 4.2))
    begin, lost = 0.0, 0.0
    for side, rows in found:
        at = begin + STEP * np.arange(1, len(rows) + 1)
        colour = CHEAP if side == "cheap" else DEAR
        for axes in (share, regret):
            axes.axvspan(begin, at[-1], color=colour, alpha=0.12, linewidth=0)
        share.step(at, 100 * rows[:, 0] / STEP, where="pre", color=colour)
        regret.plot(at, lost + rows[:, 1] / US_PER_MS, color=colour)
        share.annotate(side, ((begin + at[-1]) / 2, 50), ha="center", color=colour)
        begin, lost = at[-1], lost + rows[-1, 1] / US_PER_MS
    share.set(title="huge pages are cheap and dear by turns", ylabel="huge, % of regions", ylim=(-4, 104))
    regret.set(ylabel="regret, ms", xlabel="regions, one in each ms", xlim=(0, begin), ylim=(0, None))
    for axes in (share, regret):
        axes.grid(visible=True, color="#d0d7de", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT, metadata={"Date": None})


def main() -> None:
    program = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/release/tests/unit/unit_runs"
    found = curves(program)
    for side, rows in found:
        print(f"huge pages {side}: huge {rows[:, 0].mean() / STEP:.4f} of {STEP * len(rows)} regions, "
              f"regret {rows[-1, 1] / US_PER_MS:.1f} ms")
    draw(found)


if __name__ == "__main__":
    main()
