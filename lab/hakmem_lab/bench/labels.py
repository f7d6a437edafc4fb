# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names beside points, placed so that they cover neither each other nor a point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from hakmem.process.peers import HAKMEM

POINT_RADIUS = 8  # pixels around a point that stay free
DISTANCES = (8, 16, 26, 38)  # points between a point and its name
SIDES = ((0.9, 0.9, "left", "bottom"), (0.9, -0.9, "left", "top"), (-0.9, 0.9, "right", "bottom"),
         (-0.9, -0.9, "right", "top"), (1, 0, "left", "center"), (-1, 0, "right", "center"),
         (0, 1, "center", "bottom"), (0, -1, "center", "top"))


def place_labels(axis: Axes, points: Mapping[str, tuple[float, float]], cross: tuple[float, float]) -> None:
    """Each name takes the first free place around its point, off the lines that meet in `cross`; the axes' limits must
    be final."""
    figure = axis.get_figure()
    figure.canvas.draw()
    taken = [around(axis, point) for point in points.values()] + lines_of(axis, cross)
    for name, point in points.items():
        label = free_label(axis, name, point, taken)
        taken.append(label.get_window_extent())


def around(axis: Axes, point: tuple[float, float]) -> Bbox:
    x, y = axis.transData.transform(point)
    return Bbox.from_extents(x - POINT_RADIUS, y - POINT_RADIUS, x + POINT_RADIUS, y + POINT_RADIUS)


def lines_of(axis: Axes, cross: tuple[float, float]) -> list[Bbox]:
    x, y = axis.transData.transform(cross)
    box = axis.bbox
    return [Bbox.from_extents(x - 1, box.y0, x + 1, box.y1), Bbox.from_extents(box.x0, y - 1, box.x1, y + 1)]


def free_label(axis: Axes, name: str, point: tuple[float, float], taken: list[Bbox]) -> Annotation:
    """The last place that was tried where none is free."""
    label = None
    for options in places():
        if label is not None:
            label.remove()
        label = axis.annotate(name, point, textcoords="offset points", annotation_clip=False, zorder=6,
                              fontweight="bold" if name == HAKMEM else "normal", fontsize=9, **options)
        box = label.get_window_extent()
        if axis.bbox.contains(box.x0, box.y0) and axis.bbox.contains(box.x1, box.y1) and not box.count_overlaps(taken):
            return label
    assert label is not None
    return label


def places() -> Iterator[dict]:
    for distance in DISTANCES:
        for x, y, ha, va in SIDES:
            yield {"xytext": (x * distance, y * distance), "ha": ha, "va": va}
