# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures as text, with their units."""

from __future__ import annotations


def bytes_text(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(number) < 1024 or unit == "GiB":
            return f"{number:.0f} {unit}" if unit == "B" or abs(number) >= 100 else f"{number:.1f} {unit}"
        number /= 1024
    raise AssertionError


def time_text(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def unit_of_column(most: float) -> tuple[str, int]:
    """The unit, and its bytes, in which no figure of a column has more than four digits before the point."""
    units = [(unit, 1 << 10 * power) for power, unit in enumerate(("KiB", "MiB", "GiB"), 1)]
    return next((one for one in units if most < 10_000 * one[1]), units[-1])
