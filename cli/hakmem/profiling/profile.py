# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem profile`: who holds memory, from a file that HAKMEM_PROFILE_FILE made, or of a process that runs.

    PID --SIGUSR2--> the process writes PATH.<pid> anew -> read, named -> a table, stacks, OUT.pb.gz
    PID of a process that keeps a table of samples: that is read as it is
    PID of any other process on HAKMEM: it samples for some seconds (from_outside.py)
"""

from __future__ import annotations

import os
import signal
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from hakmem.base.atomic_write import refuse_unless_writable
from hakmem.base.attended import program_of
from hakmem.base.console import stderr_console, stdout_console
from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.base.figures import bytes_text, counted as number_of, time_text
from hakmem.profiling.columns import print_columns
from hakmem.profiling.short_names import short_name
from hakmem.reading.estimate import (
    EVER,
    NOTHING,
    NOW,
    PEAK,
    Evidence,
    Moment,
    blocks_about,
    counted_in_use,
    counted_peak,
    evidence_of,
    from_samples,
    has_moment,
    is_hint,
    is_sampled,
    range_of,
    range_text,
    sampling_lines,
    size_about,
    whole_evidence,
)
from hakmem.reading.image import same_image
from hakmem.reading.living import facts_of, gone, own_numbers, refuse_if_gone, root_of, why_forbidden
from hakmem.reading.mapped import find_mapped
from hakmem.reading.pprof import columns, read, text_of, write
from hakmem.reading.scale import hindrance, scale_of, scale_text, scaled
from hakmem.reading.symbols import Frame, Names, asking, root_before, with_names
from hakmem.reading.table_file import ANY_VERSION
from hakmem.reading.tables import Changed, Memory, Tables

VARIABLE = "HAKMEM_PROFILE_FILE"
SECONDS_MOST, SECONDS_LEAST = 10, 0.01
FRAMES_SHOWN = 16
ORDERS = ("inuse_space", "inuse_objects", "alloc_space", "alloc_objects")
OF_OTHERS = "HAKMEM keeps that in profiles of this version on"


@dataclass(frozen=True)
class Wishes:
    output: Path | None
    leaks: bool
    rows: int  # 0: all
    by: str
    moment: Moment = NOW  # of what is live
    seconds: Optional[float] = None  # for which a process is sampled from outside

    @property
    def order(self) -> str:
        """The column."""
        return {NOW.space: self.moment.space, NOW.objects: self.moment.objects}.get(self.by, self.by)


# ---- a process that runs ----

def folder_of(pid: int) -> Path:
    return Path("/proc") / str(pid)


def environment_of(pid: int) -> dict[str, str]:
    refuse_if_gone(pid)
    try:
        pairs = (folder_of(pid) / "environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        raise gone(pid) from None
    except PermissionError:
        raise Refusal(why_forbidden(pid, attached=False)) from None
    except OSError as failure:
        raise Refusal(f"process {pid}: {(failure.strerror or '').lower()}") from None
    return dict(pair.decode(errors="surrogateescape").split("=", 1) for pair in pairs if b"=" in pair)


def catches(pid: int, number: int) -> bool:
    try:
        caught = facts_of(pid).get("SigCgt", "0")
    except OSError:
        raise gone(pid) from None
    return bool(int(caught, 16) >> (number - 1) & 1)


def is_served(pid: int) -> bool:
    try:
        return "libhakmem" in (folder_of(pid) / "maps").read_text(errors="replace") or has_own_copy(pid) or has_tables(pid)
    except OSError:
        return False


def has_tables(pid: int) -> bool:
    """In its memory, whatever the file is called that they are from."""
    memory = Memory(pid)
    try:
        Tables(memory)
        return True
    except (Refusal, Changed, struct.error):
        return False
    finally:
        memory.close()


def refuse_unless_served(pid: int) -> None:
    refuse_if_gone(pid)
    if not is_served(pid):
        raise Refusal(f"process {pid} does not run on HAKMEM: hakmem exec --watch -- PROGRAM starts one that does")


def writes_profile(pid: int) -> bool:
    """By the environment that it began with, and as far as that says, when it is told to."""
    return path_of(pid) is not None and catches(pid, signal.SIGUSR2)


def has_own_copy(pid: int) -> bool:
    """Linked into the program, as libhakmem-override.a is."""
    from hakmem.doctor.program import OWN_NOTE
    from hakmem.doctor.symbols import symbols_of

    symbols = symbols_of(folder_of(pid) / "exe", ())
    return symbols is not None and OWN_NOTE in symbols.notes


def seen_from_here(pid: int, file: Path) -> Path:
    if not file.is_absolute():
        return folder_of(pid) / "cwd" / file
    return Path(f"{root_of(pid)}{file}")


def with_own_number(pid: int, path: str) -> Path:
    """PATH.<pid> as the process itself writes it: in a namespace of its own it has another number there."""
    try:
        return Path(f"{path}.{own_numbers(pid)[-1]}")
    except OSError:
        raise gone(pid) from None


def path_of(pid: int) -> Path | None:
    """Where it writes to, seen from here, by the environment that it began with. None: that does not say."""
    path = environment_of(pid).get(VARIABLE)
    return seen_from_here(pid, with_own_number(pid, path)) if path else None


def told_file(pid: int, told: Path) -> Path:
    """An absolute path is one of this command's own files."""
    return told if told.is_absolute() else seen_from_here(pid, told)


def file_of(pid: int, told: Optional[Path] = None) -> Path:
    """Where it writes to, seen from here; it is not told to when it would end it."""
    file = told_file(pid, told) if told else path_of(pid)
    if file is None:
        raise Refusal(f"process {pid} runs without {VARIABLE}")
    refuse_unless_served(pid)
    if not catches(pid, signal.SIGUSR2):
        raise Refusal(f"process {pid} does not take SIGUSR2 for a profile (HAKMEM_PROFILE_SIGNALS=off?)")
    return file


def table_file_of(pid: int) -> Path | None:
    """By what it has mapped. None: it keeps none, or not any more."""
    found = find_mapped(pid, ANY_VERSION)
    return found[0] if found else None


def state_of(file: Path) -> tuple[int, int] | None:
    try:
        there = file.stat()
    except OSError:
        return None
    return there.st_ino, there.st_mtime_ns


def written_anew(pid: int, told: Optional[Path] = None) -> Path:
    file = file_of(pid, told)
    before, deadline = state_of(file), time.monotonic() + SECONDS_MOST
    try:
        os.kill(pid, signal.SIGUSR2)
    except OSError as failure:
        raise Refusal(f"process {pid}: {(failure.strerror or '').lower()}") from None
    while state_of(file) in (before, None):
        if time.monotonic() > deadline:
            raise Refusal(f"process {pid} wrote no {file} within {SECONDS_MOST} s")
        time.sleep(0.01)
    return file


# ---- sums ----

@dataclass
class Row:
    flat: list[int]
    cum: list[int]
    evidence: Evidence = NOTHING  # of what is live of `flat`, at a moment
    cum_evidence: Evidence = NOTHING  # the same of `cum`
    ever: Evidence = NOTHING  # of what `flat` has of all blocks ever


def frames_of(sample: Any, names: Names) -> list[Frame]:
    return [frame for number in sample.location_id for frame in names.frames[number]]


def rows_of(profile: Any, names: Names, moment: Moment = NOW) -> dict[str, Row]:
    """By function, or line of an interpreted program: what it asked for itself, and with those that it called."""
    width = len(profile.sample_type)
    rows: dict[str, Row] = {}
    for sample, evidence, ever in zip(profile.sample, evidence_of(profile, moment), evidence_of(profile, EVER)):
        frames = frames_of(sample, names)
        for function in {frame.row() for frame in frames}:
            row = rows.setdefault(function, Row([0] * width, [0] * width))
            row.cum = [a + b for a, b in zip(row.cum, sample.value)]
            row.cum_evidence = row.cum_evidence.plus(evidence)
        if frames:
            row = rows[asking(frames).row()]
            row.flat = [a + b for a, b in zip(row.flat, sample.value)]
            row.evidence, row.ever = row.evidence.plus(evidence), row.ever.plus(ever)
    return rows


def totals(profile: Any) -> list[int]:
    return [sum(values) for values in zip(*(sample.value for sample in profile.sample))] or [0] * len(profile.sample_type)


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def size_text(name: str, value: int) -> str:
    return f"{value:,}" if name.endswith("objects") else bytes_text(value)


# ---- what is printed ----

def heading(profile: Any, moment: Moment = NOW) -> str:
    comment = next((text_of(profile, number) for number in profile.comment), "")
    said = live_text(profile, f" {moment.live}", moment)
    return said + (f" ({singular(printable(comment).removeprefix('hakmem: '))})" if comment else "")


def singular(text: str) -> str:
    """Of a comment that a process wrote, which has one form for all numbers."""
    return text.replace(", 1 blocks sampled", ", 1 block sampled")


def live_text(profile: Any, live: str, moment: Moment = NOW) -> str:
    """What is live, how far off that may be, and what ever was."""
    at, sums, period = columns(profile), totals(profile), int(profile.period)
    evidence, size = whole_evidence(profile, moment), sums[at[moment.space]]
    about, blocks = size_about(size, evidence, period), blocks_about(sums[at[moment.objects]], period)
    ever = f"{size_about(sums[at['alloc_space']], whole_evidence(profile, EVER), period)} ever, in "
    ever += blocks_about(sums[at["alloc_objects"]], period) + rate_text(profile, sums[at["alloc_space"]])
    if is_sampled(profile) and not size:
        words = {NOW: "is live", PEAK: "was live at the peak"}.get(moment, "was temporary")
        none = f"no block that was sampled {words}" if sums[at["alloc_space"]] else "no block was sampled"
        return f"{none}: {about}{live}" + (f"; {ever}" if sums[at["alloc_space"]] else "")
    return f"{about}{live} in {blocks} {'block' if sums[at[moment.objects]] == 1 else 'blocks'}{from_samples(size, evidence, period)}; {ever}"


def rate_text(profile: Any, size: int) -> str:
    """Of what was ever allocated; empty: the profile does not say in which time."""
    seconds = profile.duration_nanos / 1e9
    return f" ({bytes_text(size / seconds)}/s)" if seconds >= SECONDS_LEAST else ""


def heading_lines(profile: Any, moment: Moment = NOW) -> Iterator[str]:
    yield heading(profile, moment)
    counted, at_peak = counted_in_use(profile), peak_text(profile)
    if moment == NOW and counted is not None:
        yield counted_line(profile, NOW, f"{counted_text(counted)} by the counters of HAKMEM")
    if at_peak and moment == NOW:
        yield f"at the peak {at_peak}; --peak shows that"
    elif at_peak and moment == PEAK:
        yield counted_line(profile, PEAK, at_peak)
    yield from sampling_lines(profile)


def counted_line(profile: Any, moment: Moment, said: str) -> str:
    """That the figures are scaled to the count, or `said`, and why they are not."""
    if (scale := scale_of(profile, moment)) is not None:
        peak = counted_peak(profile) if moment == PEAK else None
        return scale_text(scale) + (f", {time_text(peak.after_ns)} after the first sample" if peak else "")
    why = hindrance(profile, moment)
    return f"{said}, older blocks too" + (f"; not scaled to it: {why}" if why else "")


def peak_text(profile: Any) -> str:
    """By the counters; empty: the profile does not say."""
    counted = counted_peak(profile)
    if counted is None:
        return ""
    return f"{counted_text(counted.in_use)} by the counters, {time_text(counted.after_ns)} after the first sample"


def counted_text(counted: int) -> str:
    return f"{bytes_text(counted)} ({counted:,} B) in use"


def print_top(profile: Any, names: Names, wishes: Wishes) -> None:
    at, sums = columns(profile), totals(profile)
    column, moment = at[wishes.order], wishes.moment
    every = list(rows_of(profile, names, moment).items())
    # rows without content would hide the others; where no row has any, they say what there was
    found = [item for item in every if item[1].cum[column]] or (every if moment == NOW else [])
    rows = sorted(found, key=lambda item: (-item[1].flat[column], -item[1].cum[column], item[0]))
    ranges = is_sampled(profile) and wishes.order == moment.space
    shown = ("range (95 %)", "samples") if ranges else ()
    heads = ("itself", *shown, "share", "with callees", "share", f"blocks {moment.live}", "ever", "function")
    cells = [
        (
            size_text(wishes.by, row.flat[column]), *(row_range(row, column, profile.period) if ranges else ()),
            share(row.flat[column], sums[column]),
            with_range(wishes.by, row.cum[column], row.cum_evidence, profile.period * ranges),
            share(row.cum[column], sums[column]), f"{row.flat[at[moment.objects]]:,}",
            with_range("", row.flat[at["alloc_space"]], row.ever, profile.period), printable(short_name(function)),
        ) for function, row in rows[: wishes.rows or None]
    ]
    print_columns(heads, cells, ("ever", f"blocks {moment.live}", "share", "with callees", "samples", "range (95 %)"))
    say_more([row.flat[column] for _, row in rows[wishes.rows:] if wishes.rows], "function", wishes.by, profile)


def say_more(sizes: list[int], what: str, by: str, profile: Any) -> None:
    """How many rows are not shown, and what they have together."""
    if sizes:
        about = "≈ " * is_sampled(profile) + size_text(by, sum(sizes))
        text = f"{number_of(len(sizes), f'smaller {what}', f'smaller {what}s')}, {about} together, not shown (--rows 0)"
        stdout_console().print(text, markup=False, highlight=False)


def with_range(name: str, value: int, evidence: Evidence, period: int) -> str:
    """10.9 MiB (9.5 to 12.5 MiB). period: 0 or 1 where there is no range, as of numbers of blocks."""
    text = size_text(name, value)
    return f"{text} ({range_text(*range_of(value, evidence, period))})" if period > 1 and value else text


def row_range(row: Row, column: int, period: int) -> tuple[str, str]:
    """The range, and the samples that it rests on."""
    if not row.flat[column]:
        return "", ""
    text = range_text(*range_of(row.flat[column], row.evidence, period))
    return text, f"{row.evidence.samples:,.0f}{' (hint)' * is_hint(row.flat[column], row.evidence)}"


def place_text(frame: Frame) -> str:
    """For a terminal. A file whose symbols alone are known has no lines (0)."""
    function, file = printable(short_name(frame.function)), printable(frame.file)
    if not file:
        return function
    return f"{function}  {file}:{frame.line}" if frame.line else f"{function}  {file}"


def leaks_of(profile: Any, moment: Moment) -> list[tuple[Any, Evidence]]:
    column, pairs = columns(profile)[moment.space], zip(profile.sample, evidence_of(profile, moment))
    live = ((sample, evidence) for sample, evidence in pairs if sample.value[column])
    return sorted(live, key=lambda one: -one[0].value[column])


def leak_lines(profile: Any, names: Names, wishes: Wishes, most: int = FRAMES_SHOWN) -> Iterator[str]:
    at, moment, period = columns(profile), wishes.moment, profile.period
    whole = totals(profile)[at[moment.space]]
    for sample, evidence in leaks_of(profile, moment)[: wishes.rows or None]:
        size, blocks = sample.value[at[moment.space]], sample.value[at[moment.objects]]
        head = f"{size_about(size, evidence, period)} in {blocks_about(blocks, period)} block{'s' * (blocks != 1)}"
        yield f"\n{head}{from_samples(size, evidence, period)}, {share(size, whole)} of {moment.of_it}"
        frames = frames_of(sample, names)
        yield from (f"    {place_text(frame)}" for frame in frames[:most])
        if len(frames) > most:
            yield f"    ... {len(frames) - most} more"


def say_stale(names: Names) -> None:
    for path in names.stale:
        stderr_console().print(f"note: {printable(str(path))} is another build than the one that ran; its functions are not named")


def refuse_without(profile: Any, moment: Moment, file: Path) -> None:
    if not has_moment(profile, moment):
        raise Refusal(f"{file}: no {moment.space} in this profile: {OF_OTHERS}")


def show(profile: Any, names: Names, wishes: Wishes, more: Iterable[str] = ()) -> None:
    """`more`: lines below the heading."""
    console = stdout_console()
    if wishes.output:
        write(wishes.output, with_names(profile, names))
    for line in (*heading_lines(profile, wishes.moment), *more):
        console.print(line, markup=False, highlight=False)
    if wishes.leaks:
        for line in leak_lines(profile, names, wishes):
            console.print(line, markup=False, highlight=False)
        rest = leaks_of(profile, wishes.moment)[wishes.rows:] if wishes.rows else []
        say_more([sample.value[columns(profile)[wishes.moment.space]] for sample, _ in rest], "stack", NOW.space, profile)
    elif profile.sample:
        print_top(profile, names, wishes)
    say_stale(names)


def process_of(asked: str) -> Optional[int]:
    """A file of that name goes before a process of that number."""
    return program_of(int(asked)) if asked.isascii() and asked.isdecimal() and not Path(asked).exists() else None


def kept_by(pid: int) -> Path | None:
    """The file of a process that makes one: a table as it is, or a profile that it is told to write. None: it was
    started without, or its environment does not say."""
    if (table := table_file_of(pid)) is not None:
        return table
    return written_anew(pid) if writes_profile(pid) else None


def read_kept(pid: int) -> tuple[Path, Any] | None:
    """As kept_by, with what is in the file: of one program."""
    with same_image(pid, "read"):
        file = kept_by(pid)
        return (file, scaled(read(file))) if file is not None else None


def show_file(file: Path, profile: Any, wishes: Wishes) -> None:
    refuse_without(profile, wishes.moment, file)
    show(profile, Names(profile, root_before(file)), wishes)


def show_process(pid: int, wishes: Wishes) -> None:
    from hakmem.profiling.from_outside import SECONDS, outside_lines, refuse_if_idle, take
    from hakmem.reading.start_line import start_line

    if (kept := read_kept(pid)) is not None:
        show_file(*kept, wishes)
        return
    refuse_unless_served(pid)
    if wishes.moment != NOW:
        raise Refusal(f"process {pid} was started without a profile, so its {wishes.moment.space} is not known: "
                      f"{start_line(pid)}")
    seconds = SECONDS if wishes.seconds is None else wishes.seconds
    found = take(pid, seconds)
    refuse_if_idle(found, seconds)
    more = list(outside_lines(found))
    if wishes.output:
        more.append(f"{wishes.output} is no mark for --since, which needs a process that was started with a profile")
    show(found.profile, Names(found.profile, root_of(pid)), wishes, more)


def show_profile(asked: str, wishes: Wishes) -> int:
    if wishes.by not in ORDERS:
        raise Refusal(f"--by {wishes.by}: one of {', '.join(ORDERS)}")
    pid = process_of(asked)
    if wishes.seconds is not None and pid is None:
        raise Refusal("--seconds goes with a PID (see hakmem profile --help)")
    if wishes.output:
        refuse_unless_writable(wishes.output)
    if pid is None:
        show_file(Path(asked), scaled(read(Path(asked))), wishes)
    else:
        show_process(pid, wishes)
    return 0
