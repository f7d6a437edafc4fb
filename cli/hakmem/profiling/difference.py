# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem profile A B`: what grew and what shrank from one profile to another, by function or by stack.

    A, B -> named -> sums by the names of functions, as addresses of two runs differ -> changes, the largest first

The range of a change is made of the ranges of its sides (Zou and Donner 2008): right where the two are sampled apart,
and wider than need be where they are of one process, which has the samples that stay in both.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rich import box
from rich.table import Table

from hakmem.base.console import stdout_console
from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.base.figures import bytes_text, counted
from hakmem.profiling.profile import (
    FRAMES_SHOWN,
    Wishes,
    frames_of,
    kept_by,
    live_text,
    place_text,
    process_of,
    refuse_without,
    say_stale,
)
from hakmem.profiling.short_names import short_name
from hakmem.reading.estimate import (
    NOTHING,
    NOW,
    PEAK,
    Evidence,
    Moment,
    counted_in_use,
    counted_peak,
    evidence_of,
    is_hint,
    is_sampled,
    range_of,
    sampling_lines,
    whole_evidence,
)
from hakmem.reading.image import same_image
from hakmem.reading.pprof import columns, read
from hakmem.reading.start_line import start_line
from hakmem.reading.scale import hindrance, is_exact, scale, scale_of, unscaled
from hakmem.reading.symbols import Frame, Names, asking, root_before

GROWN, SHRUNK = "red", "blue"


class Side(NamedTuple):
    """What a place has in one of the profiles."""

    size: int = 0
    blocks: int = 0
    evidence: Evidence = NOTHING

    def plus(self, other: Side) -> Side:
        return Side(self.size + other.size, self.blocks + other.blocks, self.evidence.plus(other.evidence))


@dataclass
class Change:
    frames: list[Frame] = field(default_factory=list)  # one, of a function
    before: Side = Side()
    after: Side = Side()

    @property
    def size(self) -> int:
        return self.after.size - self.before.size


@dataclass(frozen=True)
class Read:
    """A profile that was read, with its names."""

    file: Path
    profile: Any
    names: Names


# ---- ranges ----

def side_range(side: Side, period: int) -> tuple[float, float]:
    return range_of(side.size, side.evidence, period) if period > 1 else (side.size, side.size)


def change_range(before: Side, after: Side, periods: tuple[int, int]) -> tuple[float, float]:
    """[bytes] That has the true change in 95 of 100 pairs."""
    (low, high), (after_low, after_high) = side_range(before, periods[0]), side_range(after, periods[1])
    change = after.size - before.size
    return (
        change - math.hypot(after.size - after_low, high - before.size),
        change + math.hypot(after_high - after.size, before.size - low),
    )


def is_by_chance(low: float, high: float) -> bool:
    """Whether it may have been none."""
    return low <= 0 <= high


def is_change_hint(change: Change) -> bool:
    """Each side rests on few samples, or has none."""
    return all(is_hint(side.size, side.evidence) or not side.size for side in (change.before, change.after))


def samples_of(change: Change) -> str:
    return f"{change.before.evidence.samples + change.after.evidence.samples:,.0f}"


def signed(size: float) -> str:
    return f"{'−' if size < 0 else '+'}{bytes_text(abs(size))}"


# ---- changes ----

Key = tuple[str, ...]


def functions(frames: list[Frame]) -> Key:
    """By the innermost one alone."""
    return (asking(frames).row(),)


def stacks(frames: list[Frame]) -> Key:
    return tuple(frame.row() for frame in frames)


def sides_of(one: Read, moment: Moment, key_of: Callable[[list[Frame]], Key]) -> Iterator[tuple[Key, list[Frame], Side]]:
    at = columns(one.profile)
    for sample, evidence in zip(one.profile.sample, evidence_of(one.profile, moment)):
        frames = frames_of(sample, one.names)
        if frames and sample.value[at[moment.space]]:
            yield key_of(frames), frames, Side(sample.value[at[moment.space]], sample.value[at[moment.objects]], evidence)


def changes_of(before: Read, after: Read, moment: Moment, key_of: Callable[[list[Frame]], Key]) -> list[Change]:
    """The largest first, grown or shrunk."""
    found: dict[Key, Change] = {}
    for key, frames, side in sides_of(after, moment, key_of):
        change = found.setdefault(key, Change(frames))
        change.after = change.after.plus(side)
    for key, frames, side in sides_of(before, moment, key_of):
        change = found.setdefault(key, Change(frames))
        change.before = change.before.plus(side)
    return sorted(found.values(), key=lambda change: -abs(change.size))


def whole_of(one: Read, moment: Moment) -> Side:
    at = columns(one.profile)
    values = [(sample.value[at[moment.space]], sample.value[at[moment.objects]]) for sample in one.profile.sample]
    evidence = whole_evidence(one.profile, moment)
    return Side(sum(size for size, _ in values), sum(blocks for _, blocks in values), evidence)


# ---- what is printed ----

def in_use_of(one: Read, moment: Moment) -> int | None:
    """[bytes] By the library's counters; None: not told."""
    if moment == NOW:
        return counted_in_use(one.profile)
    peak = counted_peak(one.profile) if moment == PEAK else None
    return peak.in_use if peak else None


def change_text(change: Change, periods: tuple[int, int]) -> str:
    """≈ +28 MiB (+22 to +34 MiB); of what is exact the bytes alone."""
    if max(periods) <= 1:
        return signed(change.size)
    low, high = change_range(change.before, change.after, periods)
    return f"≈ {signed(change.size)} ({signed(low)} to {signed(high)})" if low < high else signed(change.size)


def heading_lines(before: Read, after: Read, moment: Moment) -> Iterator[str]:
    periods = (before.profile.period, after.profile.period)
    change = Change([], whole_of(before, moment), whole_of(after, moment))
    for label, one in (("before", before), ("after", after)):
        text = live_text(one.profile, f" {moment.live}", moment).partition(";")[0]
        yield f"{label:<8}{text}  ({printable(one.file.name)})"
    yield f"change  {change_text(change, periods)} {moment.live}"
    one, other = in_use_of(before, moment), in_use_of(after, moment)
    if one is not None and other is not None:
        yield f"counted {signed(other - one)} ({other - one:+,} B) {moment.live}, by the counters of HAKMEM"
    if text := scales_text(before.profile, after.profile, moment):
        yield text
    if any(period > 1 for period in periods):
        yield from sampling_lines((before if is_sampled(before.profile) else after).profile)
        yield "a change whose range has 0 may be chance (?)"


def print_table(changes: list[Change], periods: tuple[int, int]) -> None:
    table, sampled = Table(box=box.SIMPLE_HEAD, pad_edge=False), max(periods) > 1
    for name in ("change", *(("range (95 %)", "samples", "") if sampled else ()), "before", "after", "blocks"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("function, itself", overflow="fold")
    for change in changes:
        low, high = change_range(change.before, change.after, periods)
        marks = ("?" if is_by_chance(low, high) else "") + (" hint" if is_change_hint(change) else "")
        table.add_row(
            signed(change.size), *((f"{signed(low)} to {signed(high)}", samples_of(change), marks.strip()) if sampled else ()),
            bytes_text(change.before.size), bytes_text(change.after.size),
            f"{change.after.blocks - change.before.blocks:+,}", printable(short_name(asking(change.frames).row())),
            style=GROWN if change.size > 0 else SHRUNK,
        )
    stdout_console().print(table)


def stack_lines(changes: list[Change], periods: tuple[int, int]) -> Iterator[str]:
    for change in changes:
        blocks = change.after.blocks - change.before.blocks
        rests = f", from {samples_of(change)} samples in both{' (a hint, no more)' * is_change_hint(change)}" * (max(periods) > 1)
        yield f"\n{change_text(change, periods)} in {blocks:+,} block{'s' * (abs(blocks) != 1)}{rests}"
        yield from (f"    {place_text(frame)}" for frame in change.frames[:FRAMES_SHOWN])
        if len(change.frames) > FRAMES_SHOWN:
            yield f"    ... {len(change.frames) - FRAMES_SHOWN} more"


def file_asked(asked: str) -> Path:
    pid = process_of(asked)
    file = Path(asked) if pid is None else kept_by(pid)
    if file is None:
        raise Refusal(f"process {asked} was started without a profile, so what changed in it is not known: {start_line(int(asked))}")
    return file


def read_named(asked: str, moment: Moment = NOW) -> Read:
    """A file, or a process that has one or is told to write one."""
    file = file_asked(asked)
    profile = unscaled(read(file))
    refuse_without(profile, moment, file)
    return Read(file, profile, Names(profile, root_before(file)))


def scale_both(before: Read, after: Read, moment: Moment) -> None:
    """To what the library counted, where both can be: else a change would have the error of one side more."""
    sampled = (one.profile for one in (before, after) if is_sampled(one.profile))
    profiles = [one for one in sampled if not is_exact(one, moment)]
    if all(hindrance(profile, moment) is None for profile in profiles):
        for profile in profiles:
            scale(profile, moment)


def scales_text(before: Any, after: Any, moment: Moment) -> str:
    """Of what both are scaled by, or why they are not; empty: there is nothing to say."""
    scales = [scale_of(one, moment) for one in (before, after)]
    if found := [f"{name} by {one.factor:.2f}" for name, one in zip(("before", "after"), scales) if one]:
        return f"scaled to what the counters know: {', '.join(found)}"
    named = zip(("before", "after"), (hindrance(one, moment) for one in (before, after)))
    return next((f"not scaled to what the counters know; {name}: {why}" for name, why in named if why), "")


def refuse_what_is_of_one(wishes: Wishes) -> None:
    if wishes.seconds is not None:
        raise Refusal("--seconds goes with one process")
    if wishes.output:
        raise Refusal("-o goes with one profile only")
    if wishes.by != NOW.space:
        raise Refusal("--by goes with one profile only: a difference is ordered by bytes in use, or with --peak at the peak")


def show_difference(asked: list[str], wishes: Wishes) -> int:
    """Of two profiles, the earlier one first."""
    if len(asked) > 2:
        raise Refusal(f"{len(asked)} profiles: give one, or two of which the difference is wanted")
    refuse_what_is_of_one(wishes)
    before, after = (read_named(one, wishes.moment) for one in asked)
    return show_change(before, after, wishes)


def show_growth(asked: str, wishes: Wishes, seconds: float) -> int:
    """Of a process, from now on."""
    if (pid := process_of(asked)) is None:
        raise Refusal("--for goes with a PID (see hakmem profile --help)")
    refuse_what_is_of_one(wishes)
    with same_image(pid, "watched"):
        end = time.monotonic() + seconds
        before = read_named(asked, wishes.moment)
        time.sleep(max(0.0, end - time.monotonic()))
        after = read_named(asked, wishes.moment)
    return show_change(before, after, wishes)


def show_change(before: Read, after: Read, wishes: Wishes) -> int:
    scale_both(before, after, wishes.moment)
    periods, console = (before.profile.period, after.profile.period), stdout_console()
    for line in heading_lines(before, after, wishes.moment):
        console.print(line, markup=False, highlight=False)
    changes = [c for c in changes_of(before, after, wishes.moment, stacks if wishes.leaks else functions) if c.size]
    shown = changes[: wishes.rows or None]
    if wishes.leaks:
        for line in stack_lines(shown, periods):
            console.print(line, markup=False, highlight=False)
    else:
        print_table(shown, periods)
    if len(shown) < len(changes):
        left = counted(len(changes) - len(shown), "smaller change is", "smaller changes are")
        console.print(f"{left} not shown (--rows 0)", highlight=False)
    for one in (before, after):
        say_stale(one.names)
    return 0
