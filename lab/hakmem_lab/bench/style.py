# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the plots look: one colour, marker and line per allocator, told apart by colour-blind readers and in print too.

The colours are those of Okabe and Ito (2008), with olive for their yellow, which is too pale on paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hakmem.process.peers import GLIBC, HAKMEM

INK = "#24292f"  # text and axes; becomes the page's own colour in the report
LINES = "#d0d7de"  # the grid


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str
    dash: Any = "-"


LOOKS = {
    HAKMEM: Look("#d55e00", "o"),
    GLIBC: Look("#7d8590", "s", (0, (5, 1.5))),
    "mimalloc": Look("#0072b2", "^"),
    "jemalloc": Look("#009e73", "D", (0, (4, 1, 1, 1))),
    "tcmalloc": Look("#cc79a7", "v"),
    "tbbmalloc": Look("#e69f00", "P", (0, (2, 1))),
    "snmalloc": Look("#56b4e9", "X", (0, (6, 1, 1, 1, 1, 1))),
    "rpmalloc": Look("#8c8a2c", "p", (0, (3, 1.2))),
    "google-tcmalloc": Look("#6a51a3", "<", (0, (1, 1))),
}
FURTHER = (Look("#4d4d4d", "*", (0, (5, 2, 1, 2))), Look("#8c510a", ">"), Look("#b2182b", "h", (0, (4, 2))))

SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "axes.edgecolor": LINES,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINES,
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "figure.facecolor": "white",
    "axes.facecolor": "none",
}


def looks(allocators: list[str]) -> dict[str, Look]:
    """Peers that were named by hand take the further looks in turn."""
    unknown = [name for name in allocators if name not in LOOKS]
    return {name: LOOKS.get(name) or FURTHER[unknown.index(name) % len(FURTHER)] for name in allocators}


def thickness(name: str) -> float:
    return 2.4 if name == HAKMEM else 1.2


def above(name: str) -> int:
    """HAKMEM is drawn over the others."""
    return 5 if name == HAKMEM else 3
