# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names, files and lines for the addresses of a profile.

    address -> mapping -> file with the same build-id, or its debug file -> addr2line -> functions, innermost first
                                                                       \\-> symbol tables, where there are no lines
    address -> in no file                                               -> perf_map.py: code that was made while it ran
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from hakmem.reading.mapped import regular_file
from hakmem.reading.names import NO_PROGRAM, demangled, symbols_of
from hakmem.reading.perf_map import made_code
from hakmem.reading.pprof import text_of

DEBUG_FOLDER = Path("/usr/lib/debug/.build-id")
BUILD_ID = re.compile("[0-9a-f]{4,128}")
UNKNOWN = "??"
INTERPRETER = re.compile(r"(?:lib)?python\d[\d.]*(?:\.so[\d.]*)?|(?:lib)?node(?:\.so[\d.]*)?|libjvm\.so")  # files
PROCESS_ROOT = re.compile(r"/proc/\d+/root(?=/)")
AT_LINE = re.compile(r"(.*):(\d+|\?)(?: \(discriminator \d+\))?$")


@dataclass(frozen=True)
class Frame:
    function: str
    file: str  # "": not known
    line: int
    is_interpreted: bool = field(default=False, compare=False)  # of a program that an interpreter runs
    is_interpreter: bool = field(default=False, compare=False)  # a function of the interpreter itself

    def row(self) -> str:
        """By which sums are told: functions, or lines of an interpreted program."""
        if not self.is_interpreted:
            return self.function
        place = os.path.basename(self.file) + (f":{self.line}" if self.line else "")
        return f"{self.function} ({place})"


def asking(frames: list[Frame]) -> Frame:
    """The innermost one. In an interpreter that is known to run a line of a program, that line, or what it called
    outside of the interpreter."""
    own = any(frame.is_interpreted for frame in frames)
    return next((frame for frame in frames if not (own and frame.is_interpreter)), frames[0])


def root_before(file: Path) -> str:
    """Of a process's file that was found through its root: so are those that it had mapped."""
    found = PROCESS_ROOT.match(str(file))
    return found[0] if found else ""


def build_id_of(path: Path) -> str:
    """"": it has none, or is not there."""
    try:
        with regular_file(path) as file:
            for section in ELFFile(file).iter_sections():
                if isinstance(section, NoteSection):
                    for note in section.iter_notes():
                        if note["n_type"] == "NT_GNU_BUILD_ID":
                            return str(note["n_desc"])
    except NO_PROGRAM:
        pass
    return ""


def debug_file(build_id: str) -> Path | None:
    path = DEBUG_FOLDER / build_id[:2] / f"{build_id[2:]}.debug"
    return path if BUILD_ID.fullmatch(build_id) and os.path.isfile(path) else None


class Image:
    """A file of the profile, as it is here. `usable`: it is the one that was mapped. `root`: as living.root_of has it."""

    def __init__(self, path: str, build_id: str, root: str = "") -> None:
        self.path = path
        self.file = root + path
        self.stale = path.startswith("/") and build_id_of(Path(self.file)) not in ("", build_id)
        self.usable = path.startswith("/") and os.path.isfile(self.file) and not self.stale
        self.lines = debug_file(build_id) or (Path(self.file) if self.usable else None)

    def address_of(self, offset: int) -> int | None:
        for first, size, address in symbols_of(self.file).segments if self.usable else ():
            if first <= offset < first + size:
                return offset - first + address
        return None


def parsed(text: str) -> dict[int, list[Frame]]:
    """What addr2line says: a line with the address, then two for each function."""
    found: dict[int, list[Frame]] = {}
    at: list[Frame] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("0x"):
            at = found.setdefault(int(line, 16), [])
            continue
        place = AT_LINE.match(next(lines, ""))
        file, number = (place[1], place[2]) if place else ("", "")
        known = file not in ("", UNKNOWN)
        at.append(Frame(line, file if known else "", int(number) if known and number.isdigit() else 0))
    return found


def asked(tool: str, file: Path, addresses: Iterable[int]) -> dict[int, list[Frame]]:
    text = "".join(f"{address:#x}\n" for address in addresses)
    command = [tool, "-e", str(file), "--addresses", "--functions", "--inlines", "--demangle"]
    ended = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", check=False)
    return parsed(ended.stdout)


def by_symbol(image: Image, place: int | None) -> list[Frame]:
    """Only of a function that the byte lies in: addr2line names the one before, however far, where there are no lines."""
    for file in (image.lines, image.file) if place is not None else ():
        if found := symbols_of(str(file)).function(place + 1):
            return [Frame(found[0], "", 0)]
    return []


def frames_of_image(image: Image, offsets: dict[int, int]) -> dict[int, list[Frame]]:
    """`offsets`: in the file, by address in memory."""
    places = {address: image.address_of(offset) for address, offset in offsets.items()}
    tool = shutil.which("addr2line")
    wanted = sorted({place for place in places.values() if place is not None})
    lines = asked(tool, image.lines, wanted) if tool and image.lines and wanted else {}
    found = {}
    for address, place in places.items():
        frames = [frame for frame in lines.get(place or 0, []) if frame.function != UNKNOWN and frame.file]
        found[address] = frames or by_symbol(image, place)
    plain = demangled(frame.function for frames in found.values() for frame in frames)
    return {
        address: [Frame(plain.get(frame.function, frame.function), frame.file, frame.line) for frame in frames]
        for address, frames in found.items()
    }


class Names:
    """The frames of each location, innermost first; at least one. `stale`: files that are others by now. fresh: the
    process ended just now."""

    def __init__(self, profile: Any, root: str = "", fresh: bool = False) -> None:
        self.root = root
        self.frames: dict[int, list[Frame]] = {}
        self.stale: list[str] = []
        mappings = {mapping.id: mapping for mapping in profile.mapping}
        functions = {function.id: function for function in profile.function}
        groups = defaultdict(list)
        for location in profile.location:
            groups[location.mapping_id].append(location)
        images: dict[tuple[str, str], Image] = {}
        for number, locations in groups.items():
            mapping = mappings.get(number)
            if mapping is not None and not mapping.has_functions:
                self.name(profile, mapping, locations, images)
            if mapping is None or not is_file(text_of(profile, mapping.filename)):
                self.name_made(profile, locations, fresh)
            for location in locations:
                if location.id not in self.frames:
                    self.frames[location.id] = as_they_are(profile, functions, mapping, location)
        self.stale = sorted({image.path for image in images.values() if image.stale})

    def name_made(self, profile: Any, locations: list[Any], fresh: bool) -> None:
        """Code in no file."""
        waiting = {location.id: location.address for location in locations if not location.line and location.address}
        found = made_code(profile, self.root, waiting.values(), fresh) if waiting else {}
        self.frames.update({number: [Frame(*found[at], bool(found[at].file))] for number, at in waiting.items() if at in found})

    def name(self, profile: Any, mapping: Any, locations: list[Any], images: dict[tuple[str, str], Image]) -> None:
        key = (text_of(profile, mapping.filename), text_of(profile, mapping.build_id))
        if key not in images:
            images[key] = Image(*key, self.root)
        image = images[key]
        base = mapping.memory_start - mapping.file_offset
        found = frames_of_image(image, {location.address: location.address - base for location in locations})
        interprets = is_interpreter(key[0])
        for location in locations:
            if frames := found.get(location.address):
                own = [replace(frame, is_interpreter=True) for frame in frames] if interprets else frames
                self.frames[location.id] = own


def is_file(name: str) -> bool:
    """Else it is memory that the program made code in."""
    return name.startswith("/") and not name.startswith("/memfd:") or name == "[vdso]"


def is_interpreter(name: str) -> bool:
    return INTERPRETER.fullmatch(os.path.basename(name)) is not None


def as_they_are(profile: Any, functions: dict[int, Any], mapping: Any, location: Any) -> list[Frame]:
    """The names that the profile has; else the file and the place in it."""
    named = [
        Frame(text_of(profile, f.name), text_of(profile, f.filename), line.line)
        for line in location.line
        if (f := functions.get(line.function_id)) is not None
    ]
    module = text_of(profile, mapping.filename) if mapping is not None else ""
    if named:
        return [replace(frame, is_interpreted=bool(frame.file) and not is_file(module),
                        is_interpreter=is_interpreter(module)) for frame in named]
    if mapping is None:
        return [Frame(f"{location.address:#x}", "", 0)]
    name = os.path.basename(module) or "anonymous memory"
    offset = location.address - mapping.memory_start + mapping.file_offset
    return [Frame(f"{name}+{offset:#x}", "", 0, is_interpreter=is_interpreter(module))]


def with_names(profile: Any, names: Names) -> Any:
    """A copy that names its functions, so that nobody needs the files."""
    named = type(profile)()
    named.CopyFrom(profile)
    del named.function[:]
    strings = {text: number for number, text in enumerate(named.string_table)}
    functions: dict[tuple[str, str], int] = {}

    def number_of(text: str) -> int:
        if text not in strings:
            strings[text] = len(named.string_table)
            named.string_table.append(text)
        return strings[text]

    def function_of(frame: Frame) -> int:
        key = (frame.function, frame.file)
        if key not in functions:
            functions[key] = len(functions) + 1
            name = number_of(frame.function)
            named.function.add(id=functions[key], name=name, system_name=name, filename=number_of(frame.file))
        return functions[key]

    for location in named.location:
        del location.line[:]
        for frame in names.frames[location.id]:
            location.line.add(function_id=function_of(frame), line=frame.line)
    for mapping in named.mapping:
        mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = mapping.has_inline_frames = True
    return named
