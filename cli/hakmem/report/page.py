# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem report`: a profile as one HTML page that needs nothing else.

    two profiles   -> tree, sites: what grew    \\
    profile, named -> tree, sites, sizes, ages   \\
    a process: watched for some seconds          > JSON -> page.html, which draws it
               its RSS, part by part            /

What is not known is left out, and the page says how to get it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Optional

from hakmem import __version__
from hakmem.base.atomic_write import is_written_as_it_is, refuse_unless_writable
from hakmem.base.console import stderr_console, stdout_console
from hakmem.base.errors import Refusal
from hakmem.base.figures import bytes_text
from hakmem.base.html_page import filled, write_page
from hakmem.profiling.difference import (
    Change,
    Read,
    Side,
    change_range,
    heading_lines,
    is_by_chance,
    is_change_hint,
    read_named,
    scale_both,
    scales_text,
    whole_of,
)
from hakmem.profiling.flame import AT_PEAK, BEFORE, EVER, IN_USE, TEMPORARY, compared, picture_of, stacks_of
from hakmem.profiling.from_outside import outside_lines, take
from hakmem.profiling.profile import (
    counted_text,
    file_of,
    heading,
    process_of,
    refuse_unless_served,
    say_stale,
    singular,
    table_file_of,
    totals,
    writes_profile,
    written_anew,
)
from hakmem.reading.estimate import (
    NOW,
    PEAK,
    Evidence,
    Moment,
    counted_in_use,
    counted_peak,
    has_peak,
    is_hint,
    is_sampled,
    range_of,
    sampling_lines,
    whole_evidence,
)
from hakmem.reading.image import same_image
from hakmem.reading.living import root_of
from hakmem.reading.memory import Waterfall, waterfall_of
from hakmem.reading.pprof import columns, read, text_of
from hakmem.reading.start_line import start_line
from hakmem.reading.scale import MOMENTS, hindrance, scale_of, scale_text, scaled
from hakmem.reading.symbols import Names, root_before
from hakmem.report.ages import ages_of
from hakmem.report.timeline import end_with, watch

TEMPLATE = Path(__file__).with_name("page.html")
NO_AGES = "Not in this profile: HAKMEM writes it into those that a process writes itself."
NO_PROCESS = "Only of a process that runs: hakmem report PID."
MISSING = {"ages": NO_AGES, "timeline": NO_PROCESS, "waterfall": NO_PROCESS}
ERROR_TOLD = 0.001
MADE_OF_SAMPLES = "Sizes and lifetimes are as sampled."


@dataclass(frozen=True)
class Order:
    asked: list[str]  # one, or the earlier and the later of two
    output: Optional[Path]
    seconds: float  # for which a process is watched
    file: Optional[Path] = None  # of a process: where it writes to, if it cannot be found out


# ---- what there is to say ----

def facts_of(profile: Any, file: Path) -> dict[str, Any]:
    program = text_of(profile, profile.mapping[0].filename) if len(profile.mapping) else ""
    end = (profile.time_nanos + profile.duration_nanos) / 1e9  # the profile is of then; time_nanos is when sampling began
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(end)) if profile.time_nanos else ""
    comment = next((text_of(profile, number) for number in profile.comment), "")
    comment = singular(comment)
    at, sums = columns(profile), totals(profile)
    peak = counted_peak(profile)
    return {
        "file": file.name, "program": program, "when": when, "comment": comment, "period": profile.period,
        "version": __version__, "totals": {name: sums[n] for name, n in at.items()},
        "counted": counted_in_use(profile), "sampling": " ".join(sampling_lines(profile)), "scaled": scale_words(profile),
        "range": range_facts(profile, sums[at[NOW.space]], NOW), "peak": peak._asdict() if peak else None,
        "peak_range": range_facts(profile, sums[at[PEAK.space]], PEAK) if has_peak(profile) else None,
    }


def scale_words(profile: Any) -> str:
    """What the figures are scaled to, and why others are not."""
    found = []
    for moment in MOMENTS if is_sampled(profile) else ():
        if (scale := scale_of(profile, moment)) is not None:
            found.append(f"What is {moment.live} is {scale_text(scale)}.")
        elif why := hindrance(profile, moment):
            found.append(f"What is {moment.live} is not scaled to the count: {why}.")
    is_scaled = any(scale_of(profile, moment) is not None for moment in MOMENTS)
    return " ".join([*found, *([MADE_OF_SAMPLES] if is_scaled else [])])


def range_facts(profile: Any, size: int, moment: Moment) -> Optional[dict[str, Any]]:
    """Of what is live at that moment; None: it is exact, or unknown how far off."""
    if not is_sampled(profile):
        return None
    return range_with_samples(size, whole_evidence(profile, moment), profile.period)


def range_with_samples(size: int, evidence: Evidence, period: int) -> dict[str, Any]:
    low, high = range_of(size, evidence, period)
    return {"low": low, "high": high, "samples": round(evidence.samples), "hint": is_hint(size, evidence)}


def with_ranges(sites: dict[str, Any], profile: Any) -> dict[str, Any]:
    """Each place has its own, in use, at the peak, ever allocated and temporary, instead of what they are made from."""
    for row in sites["rows"]:
        values, proofs = row[2], row[-1]
        pairs = [(values[IN_USE], proofs.now), (values[AT_PEAK], proofs.peak), (values[EVER], proofs.ever),
                 (values[TEMPORARY], proofs.brief)]
        row[-1] = [
            range_with_samples(size, evidence, profile.period) if is_sampled(profile) and size else None
            for size, evidence in pairs
        ]
    return sites


def note_of(found: Waterfall) -> str:
    note = f"What is resident of HAKMEM's memory is counted by {found.by}; smaps has {bytes_text(found.smaps)}."
    if abs(found.error) >= ERROR_TOLD:
        note += f" The parts are {found.error:.1%} of it short: it changed while it was counted."
    return note


def seen_waterfall(pid: int, profile: Any) -> tuple[Optional[Waterfall], str]:
    """Or why it cannot be known."""
    try:
        return waterfall_of(pid, profile), ""
    except Refusal as refusal:
        return None, f"{refusal}."


def waterfall_parts(found: Waterfall) -> dict[str, Any]:
    parts = [[part.label, part.bytes, part.help] for part in found.parts]
    sums = {"mine": found.mine, "outside": found.outside, "rss": found.rss}
    return {"parts": parts, **sums, "note": note_of(found)}


def page_data(profile: Any, names: Names, file: Path) -> dict[str, Any]:
    data = {"facts": facts_of(profile, file), **picture_of(stacks_of(profile, names))}
    data["sites"] = with_ranges(data["sites"], profile)
    data |= {"ages": ages_of(profile), "stale": names.stale, "difference": None}
    return data | {"timeline": None, "waterfall": None, "missing": MISSING}


# ---- two profiles ----

def change_facts(before: Side, after: Side, periods: tuple[int, int]) -> Optional[dict[str, Any]]:
    """The range of what it changed by; None: it is exact."""
    if max(periods) <= 1:
        return None
    low, high = change_range(before, after, periods)
    samples, hint = before.evidence.samples + after.evidence.samples, is_change_hint(Change([], before, after))
    return {"low": low, "high": high, "samples": round(samples), "hint": hint, "chance": is_by_chance(low, high)}


def with_changes(sites: dict[str, Any], periods: tuple[int, int]) -> dict[str, Any]:
    """Each place has the ranges of what it changed by, in use and at the peak."""
    for row in sites["rows"]:
        values, proofs = row[2], row[-1]
        pairs = [(IN_USE, proofs.now_before, proofs.now), (AT_PEAK, proofs.peak_before, proofs.peak)]
        row[-1] = [
            change_facts(Side(values[BEFORE + n], 0, before), Side(values[n], 0, after), periods) for n, before, after in pairs
        ]
    return sites


def difference_data(before: Read, after: Read) -> dict[str, Any]:
    """The page of the later one, with what changed since the earlier."""
    periods = (before.profile.period, after.profile.period)
    picture = picture_of(compared(before.profile, before.names, after.profile, after.names))
    moments = [NOW, PEAK] if has_peak(before.profile) and has_peak(after.profile) else [NOW]
    changes = [change_facts(whole_of(before, each), whole_of(after, each), periods) for each in moments]
    data = {"facts": facts_of(after.profile, after.file), **picture, "ages": None, "timeline": None, "waterfall": None}
    data["sites"] = with_changes(data["sites"], periods)
    said = (scales_text(before.profile, after.profile, each) for each in moments)
    data["facts"]["scaled"] = " ".join(f"What is {each.live}: {text}." for each, text in zip(moments, said) if text)
    stale = sorted({*before.names.stale, *after.names.stale})
    difference = {"before": facts_of(before.profile, before.file), "changes": changes}
    return data | {"missing": MISSING, "stale": stale, "difference": difference}


def page_text(data: dict[str, Any]) -> str:
    return filled(TEMPLATE, data)


# ---- the command ----

def name_of(pid: int) -> str:
    """As it calls itself: its file may have many names."""
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


class Watched(NamedTuple):
    """A process, once it was watched."""

    profile: Any
    file: Path  # where the profile is from, or what its page is called after
    timeline: dict[str, Any]
    said: tuple[str, ...] = ()  # of a profile that was taken from outside


def watched_from_outside(pid: int, seconds: float) -> Watched:
    """It samples while it is watched, and then as before."""
    timelines: list[dict[str, Any]] = []
    found = take(pid, seconds, lambda seconds: timelines.append(watch(pid, seconds)))
    file = Path(f"{name_of(pid).replace('/', '_') or 'process'}.{pid}")
    return Watched(found.profile, file, timelines[0], tuple(outside_lines(found)))


def watched(pid: int, order: Order) -> Watched:
    """A process is watched first: then its profile and its memory are of the same moment."""
    writes = order.file is not None or writes_profile(pid)
    table = None if writes else table_file_of(pid)
    if table is None and not writes:
        refuse_unless_served(pid)
        return watched_from_outside(pid, order.seconds)
    if table is None:
        file_of(pid, order.file)
    timeline = watch(pid, order.seconds)
    file = table or written_anew(pid, order.file)
    return Watched(scaled(read(file)), file, timeline)


def data_of(order: Order) -> tuple[dict[str, Any], Any, Names]:
    pid = process_of(order.asked[0])
    if pid is None:
        file = Path(order.asked[0])
        profile = scaled(read(file))
        names = Names(profile, root_before(file))
        return page_data(profile, names, file), profile, names
    with same_image(pid, "watched"):
        profile, file, timeline, said = watched(pid, order)
        waterfall, why = seen_waterfall(pid, profile if profile.sample and not said else None)
        program = name_of(pid)
    names = Names(profile, root_of(pid))
    data = page_data(profile, names, file)
    data["facts"]["program"] = program or data["facts"]["program"]
    data["facts"]["outside"] = said
    data["facts"]["sampling"] = ". ".join(f"{line[0].upper()}{line[1:]}" for line in (*said, data["facts"]["sampling"]) if line)
    if waterfall is not None:
        data["facts"]["counted"] = waterfall.live  # as the parts have it, and the end of the timeline
        end_with(timeline, waterfall)
    parts = waterfall_parts(waterfall) if waterfall is not None else None
    missing = MISSING | {"waterfall": why, "ages": f"Not known of this process; its own profile has them: "
                         f"{start_line(pid, '--set profile_file=FILE')}."}
    return data | {"timeline": timeline, "waterfall": parts, "missing": missing}, profile, names


def default_output(data: dict[str, Any]) -> Path:
    return Path(f"{data['facts']['file']}.html")


def make_difference(order: Order) -> int:
    before, after = (read_named(one) for one in order.asked)
    for moment in MOMENTS if has_peak(before.profile) and has_peak(after.profile) else (NOW,):
        scale_both(before, after, moment)
    output = order.output or Path(f"{before.file.name}.{after.file.name}.html")
    write_page(output, page_text(difference_data(before, after)))
    console = stderr_console() if is_written_as_it_is(output) else stdout_console()
    lines = list(heading_lines(before, after, NOW))
    console.print(f"{output}: {next(line for line in lines if line.startswith('change'))}", markup=False, highlight=False)
    for one in (before, after):
        say_stale(one.names)
    return 0


def make_page(order: Order) -> int:
    if order.output:
        refuse_unless_writable(order.output)
    if len(order.asked) > 1:
        return make_difference(order)
    data, profile, names = data_of(order)
    output = order.output or default_output(data)
    write_page(output, page_text(data))
    console = stderr_console() if is_written_as_it_is(output) else stdout_console()  # the page itself may go to stdout
    counted = data["facts"]["counted"]
    how = "sampled" if scale_of(profile, NOW) is None else "scaled"
    exactly = f"{counted_text(counted)} by HAKMEM's counters; {how}: " if counted is not None else ""
    console.print(f"{output}: {exactly}{heading(profile)}", markup=False, highlight=False)
    for line in data["facts"].get("outside", ()):
        console.print(line, markup=False, highlight=False)
    say_stale(names)
    return 0
