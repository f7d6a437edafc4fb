# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory over time in a terminal: for each allocator two rows of blocks, all by the same scale."""

from __future__ import annotations

from collections.abc import Mapping

from hakmem.running.memory_over_time import Curve, most_in_each

COLUMNS, COLUMNS_LEAST, ROWS = 52, 8, 2
BLOCKS = " ▁▂▃▄▅▆▇█"
FULL = len(BLOCKS) - 1


def row_of(heights: list[float | None], row: int) -> str:
    """Rows count from below; a height is 1 where it fills all of them. What is there has a block, however small."""
    text = ""
    for height in heights:
        eighths = 0 if height is None else max(round(height * ROWS * FULL), 1) - row * FULL
        text += BLOCKS[min(max(eighths, 0), FULL)]
    return text


def rows_of(name: str, width: int, curve: Curve, span: float, most: float, columns: int) -> list[str]:
    """The topmost first, with the scale; behind the lowest what was there at the end."""
    heights = [None if mib is None else mib / most for mib in most_in_each(curve, columns, span)]
    scale = len(f"{most:,.0f}")
    top = f"{name:<{width}} {most:{scale},.0f} ┤{row_of(heights, 1)}".rstrip()
    return [top, f"{'':<{width}} {0:{scale}} ┤{row_of(heights, 0)} {curve.end:,.0f}"]


def axis(indent: int, span: float, columns: int) -> list[str]:
    middle, end = f"{span / 2:.3g} s", f"{span:.3g} s"
    words = "0" + middle.center(columns - 1 - len(end)) + end
    return [" " * indent + "└" + "─" * columns, " " * (indent + 1) + words]


def picture(curves: Mapping[str, Curve], line: int) -> list[str]:
    """On lines of that many characters at most."""
    span = max(curve.span for curve in curves.values())
    most = max(curve.peak for curve in curves.values()) or 1
    width = max(map(len, curves))
    scale = len(f"{most:,.0f}")
    columns = min(max(line - width - 2 * scale - 4, COLUMNS_LEAST), COLUMNS)
    rows = [row for name, curve in curves.items() for row in rows_of(name, width, curve, span, most, columns)]
    return [*rows, *axis(width + scale + 2, span, columns)]
