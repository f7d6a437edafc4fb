# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem policy`: what a program learnt about keep times, from the text that the library writes at exit.

    hakmem-policy 3                                  2: without rows of learners; 1: without `past`, too
    past RUNS LIFE_MS PEAK_KIB PAID_US KEPT_MIB_MS   what earlier runs say of the next one (src/learn/past.h)
    process ARM WAITS P0 .. P7
    bin BIN ARM WAITS P0 .. P7
    kind, level, class, capacity, arm, rating, pulls: rows of learners (learners.py)
    module BUILDID NAME                              the site lines after it are of this module
    site OFFSET DEPTH BIN ARM WAITS P0 .. P7
    end LINES SUM                                    FNV-1a of all bytes before (Fowler, Noll and Vo, 1991)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hakmem.base.errors import BAD_USAGE, Refusal
from hakmem.base.exit import printable
from hakmem.base.figures import counted
from hakmem.learning.learners import (
    ARMS, BREAK_EVEN, FETCH, KINDS, PAID_MOST, WAIT, WEIGHT_MOST, Learnt, arm_text, kind_of, table_of_learners,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

FIRST = ("hakmem-policy 1", "hakmem-policy 2", "hakmem-policy 3")
BINS = 128
DEPTH_MOST = PAST_MOST = UNMEASURED = (1 << 32) - 1
LEAST_US, LEAST_PART, BALANCED_NS, HUGE_LEAST_KIB = 500, 100, 640_000, 16 << 10  # src/learn/past.c, src/retain/huge.h
BYTES_MOST = 16 << 20  # more than any policy has
SUM_FIRST, SUM_TIMES, WORD = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1
UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
NUMBER = re.compile(r"[0-9]+")
OFFSET = re.compile(r"0x[0-9a-f]{1,16}")
BUILD_ID = re.compile(r"-|(?:[0-9a-f]{2}){1,32}")
END = re.compile(r"end ([0-9]+) ([0-9a-f]{16})")


@dataclass(frozen=True)
class Module:
    build_id: str  # "-": it has none
    name: str


@dataclass(frozen=True)
class Row:
    """Without a bin of the process, without a module of all sites."""

    arm: int
    weight: int
    paid: tuple[int, ...]
    bin: int | None = None
    module: Module | None = None
    offset: int = 0
    depth: int = 0

    @property
    def waits(self) -> float:
        return self.weight / WAIT

    def fetches(self, arm: int) -> float:
        """That a wait cost at this arm."""
        return self.paid[arm] / FETCH / self.waits


@dataclass(frozen=True)
class Past:
    """Of the program's last runs: how many, and means of the time they took, their largest heap, what giving back cost,
    and what it saved."""

    runs: int
    life_ms: int
    peak_kib: int
    paid_us: int
    kept_mib_ms: int

    @property
    def pays(self) -> bool:
        """To keep free memory, at the price `balanced`."""
        believed = self.is_measured and self.paid_us // 1000 <= self.life_ms
        matters = self.paid_us >= LEAST_US and self.paid_us >= self.life_ms * 1000 // LEAST_PART
        return believed and matters and self.paid_us * 3 / 4 > self.kept_mib_ms * BALANCED_NS / 1e6

    @property
    def is_measured(self) -> bool:
        """False after a run that outlived or outgrew the row: the next run measures."""
        return self.paid_us != UNMEASURED

    @property
    def is_large(self) -> bool:
        return self.peak_kib >= HUGE_LEAST_KIB


@dataclass
class Policy:
    rows: list[Row] = field(default_factory=list)
    past: Past | None = None
    learnt: list[Learnt] = field(default_factory=list)

    @property
    def sites(self) -> list[Row]:
        return [row for row in self.rows if row.module]

    def arms(self) -> Counter[int]:
        return Counter(row.arm for row in self.sites)


def sum_of(text: bytes) -> int:
    value = SUM_FIRST
    for byte in text:
        value = (value ^ byte) * SUM_TIMES & WORD
    return value


# ---- reading ----

class Malformed(Exception):
    """What is wrong with a line."""


def number(text: str, what: str, most: int, least: int = 0) -> int:
    if not NUMBER.fullmatch(text) or len(text) > 20 or not least <= int(text) <= most:
        raise Malformed(f"{what} is {text!r}, not a number from {least} to {most}")
    return int(text)


def hexadecimal(text: str) -> int:
    if not OFFSET.fullmatch(text):
        raise Malformed(f"the offset is {text!r}, not 0x and hexadecimal digits")
    return int(text, 16)


def fields_of(words: list[str], count: int) -> list[str]:
    if len(words) != count:
        raise Malformed(f"it has {len(words)} fields instead of {count}")
    return words


def row_of(
    words: list[str], bin_: int | None = None, module: Module | None = None, offset: int = 0, depth: int = 0
) -> Row:
    arm, weight, *paid = words
    return Row(
        number(arm, "the arm", len(ARMS) - 1), number(weight, "the weight", WEIGHT_MOST, 1),
        tuple(number(text, f"P{n}", PAID_MOST) for n, text in enumerate(paid)), bin_, module, offset, depth,
    )


def bin_of(text: str) -> int:
    return number(text, "the bin", BINS - 1)


class Reader:
    """Of the lines between the first and the end."""

    def __init__(self) -> None:
        self.policy = Policy()
        self.module: Module | None = None
        self.kinds: dict[str, Callable[[str], None]] = {
            "past": self.past, "process": self.process, "bin": self.bin, "module": self.begin_module, "site": self.site,
        }

    def line(self, text: str) -> None:
        kind, _, rest = text.partition(" ")
        of_learner = kind_of(text)
        if of_learner:
            self.learnt(of_learner, text)
        elif kind in self.kinds:
            self.kinds[kind](rest)
        else:
            raise Malformed(f"it begins with {kind!r}, which is no kind of line")

    def learnt(self, kind: str, text: str) -> None:
        bounds = KINDS[kind].bounds
        words = fields_of(text[len(kind) + 1 :].split(" "), len(bounds))
        numbers = (number(word, f"number {n}", most, least) for n, (word, (least, most)) in enumerate(zip(words, bounds), 1))
        self.policy.learnt.append(Learnt(kind, tuple(numbers)))

    def past(self, rest: str) -> None:
        words = fields_of(rest.split(" "), 5)
        if self.policy.past is not None:
            raise Malformed("there is a second row of this kind")
        runs = number(words[0], "the number of runs", PAST_MOST, 1)
        self.policy.past = Past(runs, *(number(word, "a mean", PAST_MOST) for word in words[1:]))

    def process(self, rest: str) -> None:
        self.policy.rows.append(row_of(fields_of(rest.split(" "), 10)))

    def bin(self, rest: str) -> None:
        first, *others = fields_of(rest.split(" "), 11)
        self.policy.rows.append(row_of(others, bin_of(first)))

    def begin_module(self, rest: str) -> None:
        build_id, _, name = rest.partition(" ")
        if not BUILD_ID.fullmatch(build_id):
            raise Malformed(f"the build-id is {build_id!r}, not 2 to 64 hexadecimal digits in pairs, or -")
        if not name:
            raise Malformed("the module has no name")
        self.module = Module(build_id, name)

    def site(self, rest: str) -> None:
        offset, depth, bin_, *others = fields_of(rest.split(" "), 13)
        if self.module is None:
            raise Malformed("a site comes before any module")
        place = hexadecimal(offset), number(depth, "the depth", DEPTH_MOST)
        self.policy.rows.append(row_of(others, bin_of(bin_), self.module, *place))


def check_end(lines: list[str], data: bytes) -> None:
    found = END.fullmatch(lines[-1])
    if not found:
        raise Malformed("the last line is not `end LINES SUM`: the file is cut short")
    if found[1] != str(len(lines) - 1):
        raise Malformed(f"it says {found[1]} lines, and {len(lines) - 1} come before it")
    if int(found[2], 16) != sum_of(data[: data.rindex(b"\n", 0, -1) + 1]):
        raise Malformed("the sum does not fit the lines: the file was changed")


def policy_of(data: bytes, name: str) -> Policy:
    """All of it, or a refusal that names the line."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    at = 1
    reader = Reader()
    try:
        if lines[0] not in FIRST:
            raise Malformed(f"it is not {FIRST[-1]!r}: this is no policy")
        if lines.pop():
            at = len(lines) + 1
            raise Malformed("the last line has no end: the file is cut short")
        for at, text in enumerate(lines[1:-1], 2):
            reader.line(text)
        at = len(lines)
        check_end(lines, data)
    except Malformed as wrong:
        raise Refusal(f"{name}: line {at}: {printable(str(wrong))}", BAD_USAGE) from None
    return reader.policy


def read_policy(file: Path) -> Policy:
    try:
        if not file.is_file() and file.exists():
            raise Refusal(f"{file}: not a regular file")
        with file.open("rb") as source:
            data = source.read(BYTES_MOST + 1)
    except OSError as failure:
        raise Refusal(f"{file}: {(failure.strerror or str(failure)).lower()}") from None
    if len(data) > BYTES_MOST:
        raise Refusal(f"{file}: larger than any policy")
    if not data:
        raise Refusal(f"{file}: empty; no policy")
    return policy_of(data, str(file))


# ---- writing ----

def size_text(number_of_bin: int) -> str:
    """Of the blocks of a bin: four to a doubling. The first has all smaller ones, the last all larger ones."""
    log, quarter = 15 + number_of_bin // 4, number_of_bin % 4
    least, most = (1 << log) * (4 + quarter) // 4, (1 << log) * (5 + quarter) // 4
    unit, size = next((unit, size) for unit, size in UNITS if most > size)
    if number_of_bin in (0, BINS - 1):
        return f"to {most / size:.4g} {unit}" if number_of_bin == 0 else f"from {least / size:.4g} {unit}"
    return f"{least / size:.4g} – {most / size:.4g} {unit}"


def table_of(policy: Policy) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("module", "site"):
        table.add_column(heading, overflow="fold")
    for heading in ("depth", "size", "keep time", "waits", "fetches a wait", "at break-even"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in policy.rows:
        module = row.module.name if row.module else "all sites"
        table.add_row(
            Text(printable(module)), f"{row.offset:#x}" if row.module else "", f"{row.depth:,}" if row.module else "",
            "all" if row.bin is None else size_text(row.bin), arm_text(row.arm), f"{row.waits:.0f}",
            f"{row.fetches(row.arm):.2f}", f"{row.fetches(BREAK_EVEN):.2f}",
        )
    return table


def past_text(past: Past) -> str:
    start = f"{counted(past.runs, 'run', 'runs')} of {past.life_ms / 1000:.2f} s, largest heap {past.peak_kib / 1024:.1f} MiB; "
    if not past.is_measured:
        return f"{start}what giving memory back costs is not known; the next run {next_run(past)}"
    return (f"{start}giving memory back cost {past.paid_us / 1000:.1f} ms and saved {past.kept_mib_ms / 1000:.1f} MiB x s; "
            f"the next run {next_run(past)}")


def next_run(past: Past) -> str:
    """At the price `balanced`; each 16th run gives back, to measure anew."""
    keeps = "keeps what is freed" if past.pays else "gives free memory back"
    return f"{keeps} and takes huge pages from the start" if past.is_large else keeps


def show_policy(file: Path) -> None:
    from hakmem.base.console import stdout_console

    policy, console = read_policy(file), stdout_console()
    if policy.past:
        console.print(past_text(policy.past), highlight=False)
    if policy.learnt:
        console.print(table_of_learners(policy.learnt))
    if policy.rows:
        show_rows(policy, console)


def show_rows(policy: Policy, console: Console) -> None:
    console.print(table_of(policy))
    modules = len({row.module for row in policy.sites})
    others = len(policy.sites) - policy.arms()[BREAK_EVEN]
    console.print(
        f"{counted(len(policy.rows), 'row', 'rows')}: {len(policy.sites):,} of sites in "
        f"{counted(modules, 'module', 'modules')}, {others:,} of these other than break-even; {sum(row.waits for row in policy.sites):,.0f} waits of sites remembered", highlight=False,
    )
    meaning = "Keep times are times break-even. Waits: that a row remembers, 256 at most."
    console.print(meaning, style="dim", highlight=False)
