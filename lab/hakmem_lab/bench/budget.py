# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long a session may take, and what of it is made on a machine that is slower than the usual.

    |-- twin, time -------------------------------|-- other passes ----|-- report ----------|
    0                                         0.68 x all           0.85 x all              all

The timed rounds stop when the next one would not fit, but not before so many were made that there can be a verdict: until
then the dearest rows are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from math import inf
from typing import Optional

FEWEST_ROUNDS = 5  # of a row for a verdict
TIME_SHARE, OTHERS_SHARE = 0.68, 0.85
Clock = Callable[[], float]


class Budget:
    """Without seconds there is no end."""

    def __init__(self, seconds: Optional[float] = None, clock: Clock = time.monotonic) -> None:
        self.seconds, self.clock, self.began = inf if seconds is None else seconds, clock, clock()

    def left(self, share: float) -> float:
        """Seconds until this share of all is over."""
        return self.began + share * self.seconds - self.clock()

    def over(self, share: float) -> bool:
        return self.left(share) <= 0


def too_dear(costs: Mapping[str, float], rounds: int, left: float) -> list[str]:
    """The rows to be left out, so that so many rounds of the others fit: the dearest first, never the cheapest of all.
    `costs`: seconds of each row's round."""
    found: list[str] = []
    kept = sorted(costs, key=costs.__getitem__)
    while len(kept) > 1 and rounds * sum(costs[name] for name in kept) > left:
        found.append(kept.pop())
    return found
