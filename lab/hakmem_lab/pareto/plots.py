# SPDX-License-Identifier: MIT OR Apache-2.0
"""The plots of `hakmem-lab pareto`: CPU time against memory, a panel for each program."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hakmem.process.peers import HAKMEM
from hakmem_lab.bench.plots import COLUMNS, Plots, grid, save, subtitle
from hakmem_lab.bench.style import INK, SETTINGS, Look, looks
from hakmem_lab.pareto.configurations import BASELINE
from hakmem_lab.pareto.verdict import Program

HEIGHT, HEAD = 2.3, 0.95
FRONT = "HAKMEM, what is learnt, by price"
BASELINE_LOOK = Look("#a04000", "*")
MARGIN = 0.16


def save_plots(programs: list[Program], folder: Path) -> list[Path]:
    with matplotlib.rc_context(SETTINGS):
        plots: Plots = {"pareto": fronts(programs)}
    save(plots, folder)
    return [folder / f"{name}.{ending}" for name in plots for ending in ("png", "svg")]


def fronts(programs: list[Program]) -> Figure:
    peers = list(dict.fromkeys(name for program in programs for name in program.peers))
    figure, axes = grid(len(programs), HEIGHT, "CPU time against memory above the live floor: lower left is best", COLUMNS,
                        HEAD)
    subtitle(figure, "medians; the line joins HAKMEM's prices, from s(peed) over b(alanced) to l(ean)")
    for axis, program in zip(axes, programs):
        panel(axis, program)
    legend(figure, peers, any(BASELINE in program.runs for program in programs))
    return figure


def panel(axis: Axes, program: Program) -> None:
    peer_looks = looks([HAKMEM, *program.peers])
    for name, point in program.peers.items():
        axis.plot(point.cpu_s, point.excess_mib_s, color=peer_looks[name].colour, marker=peer_looks[name].marker, markersize=6,
                  linestyle="", zorder=3)
    front_line(axis, program, peer_looks[HAKMEM])
    if BASELINE in program.runs and program.runs[BASELINE].cpu_s:
        point = program.runs[BASELINE].point
        axis.plot(point.cpu_s, point.excess_mib_s, color=BASELINE_LOOK.colour, marker=BASELINE_LOOK.marker, markersize=9,
                  markerfacecolor="none", linestyle="", zorder=6)
    axis.set_title(f"{program.name}  ({program.kind})", loc="left", fontweight="bold", parse_math=False)
    axis.set(xlabel="CPU time, s", ylabel="MiB × s above the floor")
    axis.margins(MARGIN)
    if axis.get_ylim()[0] < 0:
        axis.axhline(0, color=INK, linewidth=0.8, zorder=1)


def front_line(axis: Axes, program: Program, look: Look) -> None:
    points = program.front
    axis.plot([one.cpu_s for one in points.values()], [one.excess_mib_s for one in points.values()], color=look.colour,
              marker=look.marker, markersize=6, linewidth=2, zorder=5)
    for name, point in points.items():
        price = program.runs[name].price or ""
        axis.annotate(price[:1] if price.isalpha() else price, (point.cpu_s, point.excess_mib_s), xytext=(5, 4),
                      textcoords="offset points", fontsize=7.5, color=look.colour, zorder=7)


def legend(figure: Figure, peers: list[str], baseline: bool) -> None:
    look = looks([HAKMEM, *peers])
    handles = [Line2D([], [], color=look[HAKMEM].colour, marker=look[HAKMEM].marker, markersize=6, linewidth=2, label=FRONT)]
    if baseline:
        handles.append(Line2D([], [], color=BASELINE_LOOK.colour, marker=BASELINE_LOOK.marker, markersize=9, linestyle="",
                              markerfacecolor="none", label="HAKMEM, baseline"))
    handles += [Line2D([], [], color=look[name].colour, marker=look[name].marker, markersize=6, linestyle="", label=name)
                for name in peers]
    figure.legend(handles=handles, loc="upper left", ncols=len(handles), handlelength=1.6, columnspacing=1.2,
                  bbox_to_anchor=(0.0, 1 - 0.53 / figure.get_figheight()))
