# SPDX-License-Identifier: MIT OR Apache-2.0
"""One line that says what runs, how far it is, and how long it still takes.

It is drawn between the runs only: no thread that would disturb what is timed. Off a terminal it is a line every ten
seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from types import TracebackType

from rich import progress
from rich.console import Console

from hakmem.base.exit import printable
from hakmem_lab.bench.budget import Clock

COLUMNS = (
    progress.TextColumn("{task.description:<44}"),
    progress.BarColumn(),
    progress.TaskProgressColumn(),
    progress.TimeRemainingColumn(),
)


LINE_SECONDS = 10


class Progress:
    """Used by every pass: begin, then step before each process, and say what went wrong."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        self.console = console
        self.clock = clock
        self.total, self.began, self.told = 0, clock(), clock()
        self.most_left: Callable[[], float] = lambda: inf  # seconds
        self.bar = progress.Progress(
            *COLUMNS, console=console, transient=True, auto_refresh=False, disable=not console.is_terminal
        )
        self.title = ""
        self.troubles: list[str] = []
        self.started = 0
        self.task: progress.TaskID | None = None

    def __enter__(self) -> Progress:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, what: BaseException | None, at: TracebackType | None) -> None:
        self.bar.stop()

    def begin(self, title: str, total: int) -> None:
        """A pass begins that starts `total` processes."""
        if self.task is not None:
            self.bar.remove_task(self.task)
        self.title, self.started, self.total, self.began = title, 0, total, self.clock()
        self.task = self.bar.add_task(title, total=total)

    def step(self, text: str) -> None:
        """A process is about to start; the one before it is done."""
        if self.task is not None:
            self.bar.update(self.task, description=f"{self.title}: {text}", completed=self.started)
        if not self.console.is_terminal:
            self.tell(text)
        self.started += 1
        self.bar.refresh()

    def tell(self, text: str) -> None:
        now = self.clock()
        if now - self.told < LINE_SECONDS:
            return
        self.told = now
        left = (now - self.began) / self.started * (self.total - self.started) if self.started else 0
        rest = f", {min(left, max(0, self.most_left())):.0f} s left at most" if left else ""
        self.note(f"{self.title}: {text} ({self.started} of {self.total}{rest})")

    def say(self, text: str) -> None:
        """One line above the bar, that stays: what could not be measured, and why."""
        self.troubles.append(text)
        self.note(text)

    def note(self, text: str) -> None:
        """The same of what is no trouble."""
        self.console.print(printable(text), highlight=False, markup=False, soft_wrap=True)
