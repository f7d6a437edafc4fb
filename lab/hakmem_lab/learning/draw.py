# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab learning`: draws what a process learnt."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.errors import Refusal, written
from hakmem_lab.learning.sources import ENDINGS, source_of


def refuse_unless_picture(plot: Path, asked: list[str]) -> None:
    if plot.suffix not in ENDINGS:
        raise Refusal(f"--output {plot}: it is a picture, .png or .svg")
    if not plot.parent.is_dir():
        raise Refusal(f"--output {plot}: there is no folder {plot.parent}")
    if plot.exists() and any(Path(each).exists() and plot.samefile(each) for each in asked):
        raise Refusal(f"--output {plot}: it is read, and not replaced")


def plot_all(build: Path | None, asked: list[str], plot: Path) -> None:
    refuse_unless_picture(plot, asked)
    sources = [source_of(build, each) for each in asked]
    from hakmem_lab.learning.plots import save_plot

    with written(plot):
        save_plot(sources, plot)
