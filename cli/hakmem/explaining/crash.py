# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report that guarded blocks leave on stderr (src/observe/guard_report.c), with functions and lines."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.reading.symbols import Frame, Image, frames_of_image

LINE = "hakmem: guard: "
IMAGE = re.compile(r"image (0x[0-9a-f]+) to (0x[0-9a-f]+) offset (0x[0-9a-f]+) id ([0-9a-f]*), (.+)")
STACK = re.compile(r"(faulted|called free|taken|freed), thread (\d+):((?: 0x[0-9a-f]+)+)")
INSTRUCTION = "faulted"  # its address is the instruction's, those of the others return to the next one
LARGEST = 64 << 20  # bytes of a text
REPORTS, IMAGES, FRAMES = 100, 100, 100  # in a text; in a report, which has three stacks of 24 frames; what is beyond is noise


@dataclass
class Report:
    error: str
    stacks: dict[str, list[int]] = field(default_factory=dict)  # by "taken, thread 7"
    images: list[tuple[int, int, int, Image]] = field(default_factory=list)  # first, end, offset

    def room(self) -> int:
        """For further frames."""
        return FRAMES - sum(map(len, self.stacks.values()))

    def read_line(self, text: str) -> None:
        if (found := STACK.fullmatch(text)) and self.room():
            back = 0 if found[1] == INSTRUCTION else 1
            frames = [int(word, 16) - back for word in found[3].split()[:self.room()]]
            self.stacks.setdefault(f"{found[1]}, thread {found[2]}", []).extend(frames)
        elif (found := IMAGE.fullmatch(text)) and len(self.images) < IMAGES:
            first, end, offset = (int(found[n], 16) for n in (1, 2, 3))
            self.images.append((first, end, offset, Image(found[5], found[4])))

    def frames(self) -> dict[int, list[Frame]]:
        """By address."""
        addresses = {address for stack in self.stacks.values() for address in stack}
        found: dict[int, list[Frame]] = defaultdict(list)
        for first, end, offset, image in self.images:
            inside = {address: address - first + offset for address in addresses if first <= address < end}
            found |= frames_of_image(image, inside) if inside else {}
        return found

    def place_of(self, address: int) -> str:
        for first, end, offset, image in self.images:
            if first <= address < end:
                return f"{image.path}+{address - first + offset:#x}{' (another file by now)' if image.stale else ''}"
        return f"{address:#x}"


def reports_in(text: str) -> list[Report]:
    """A line that is no stack and no image begins a report."""
    reports: list[Report] = []
    for line in text.splitlines():
        said = line.partition(LINE)[2].rstrip()
        if not said:
            continue
        if STACK.fullmatch(said) or IMAGE.fullmatch(said):
            if reports:
                reports[-1].read_line(said)
        elif len(reports) == REPORTS:
            break
        else:
            reports.append(Report(said))
    return reports


def lines_of(report: Report) -> list[str]:
    frames = report.frames()
    lines = [report.error]
    for what, stack in report.stacks.items():
        lines.append(f"  {what}")
        for address in stack:
            named = [f"{each.function}  {each.file}:{each.line}" if each.file else each.function for each in frames.get(address, [])]
            lines += [f"    {name}" for name in named or [report.place_of(address)]]
    return lines


def text_at(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.buffer.read(LARGEST).decode(errors="replace")
        with Path(path).open("rb") as file:
            return file.read(LARGEST).decode(errors="replace")
    except OSError as failure:
        raise Refusal(f"{path}: {failure.strerror}") from None


def show_crashes(path: str) -> int:
    reports = reports_in(text_at(path))
    if not reports:
        raise Refusal(f"{path}: no report of a guarded block in it (lines that begin with '{LINE.rstrip()}')")
    print("\n\n".join("\n".join(printable(line) for line in lines_of(report)) for report in reports))
    return 0
