# SPDX-License-Identifier: MIT OR Apache-2.0
"""The stacks of a profile as one tree, and the places that ask for memory: what `hakmem report` draws.

Of two profiles a stack has the values of both, and for each of the bytes that are drawn the larger one: how wide it is.

    samples -> main -> f -> g     a node for each chain of functions, with the sums of all that goes through it
                    \\-> h         pruned: what is too small to be seen, until the tree is small enough to be drawn

Lists of numbers go into the page rather than nested ones: stacks may be deeper than what reads JSON can follow.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Optional

from hakmem.reading.estimate import BRIEF, EVER as TAKEN, NOTHING, NOW, PEAK, Evidence, evidence_of, has_moment, sum_of
from hakmem.reading.pprof import columns, text_of
from hakmem.reading.symbols import Names, is_interpreter

NODES_MOST = 20_000
SHARE_LEAST = 1e-4
SITES_MOST = 1_000
STACK_MOST = 24
LINES_MOST = 3
VALUES = ("inuse_space", "alloc_space", "peak_space", "inuse_objects", "alloc_objects", "peak_objects", "inuse_requested",
          "alloc_requested", "temporary_space")
IN_USE, EVER, AT_PEAK, DRAWN, TEMPORARY = 0, 1, 2, 6, 8
BYTES, BEFORE, WIDTHS = DRAWN // 2, len(VALUES), 2 * len(VALUES)  # of two profiles: later, earlier, the larger of BYTES
STRING = re.compile(r"std::(?:__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char> ?>")
# These ask on behalf of whoever calls them: the C++ library, and what is called like malloc (zmalloc, PyMem_Malloc).
LIBRARY_NAMES = ("std::", "__gnu_cxx::", "operator new", "void std::", "void* std::")
LIKE_MALLOC = re.compile(r"(?i)(?:[mczx]|re)alloc|strn?dup")
LIBRARY_FILES, LIBRARY_MODULES = "/include/c++/", ("libstdc++.so", "libc++.so")


class Place(NamedTuple):
    function: int  # in Functions
    line: int


class Proofs(NamedTuple):
    """What bytes rest on: in use, at the peak; of two profiles, those of the earlier one; allocated ever, temporary."""

    now: Evidence = NOTHING
    peak: Evidence = NOTHING
    now_before: Evidence = NOTHING
    peak_before: Evidence = NOTHING
    ever: Evidence = NOTHING
    brief: Evidence = NOTHING

    def plus(self, other: Proofs) -> Proofs:
        return Proofs(*(one.plus(more) for one, more in zip(self, other)))


def all_of(proofs: Iterable[Proofs]) -> Proofs:
    """As by plus."""
    return Proofs(*(sum_of(each for each in column if each.samples or each.whole) for column in zip(*proofs)))


class Functions:
    """Numbered in the order in which they are met: name, file, and the module that they are in."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []
        self.numbers: dict[tuple[str, str, str], int] = {}

    def number_of(self, row: tuple[str, str, str]) -> int:
        if row not in self.numbers:
            self.numbers[row] = len(self.rows)
            self.rows.append(row)
        return self.numbers[row]


@dataclass
class Stacks:
    """Each sample's places, the innermost first, and its values in the order of VALUES."""

    functions: Functions = field(default_factory=Functions)
    places: list[list[Place]] = field(default_factory=list)
    values: list[list[int]] = field(default_factory=list)
    proofs: list[Proofs] = field(default_factory=list)
    are_of_two: bool = False  # profiles

    def rows(self) -> Iterator[tuple[list[Place], list[int], Proofs]]:
        return zip(self.places, self.values, self.proofs)

    @cached_property
    def weights(self) -> list[int]:
        """By which lines are ordered: blocks that are or were live go first."""
        return [line_weight(values) for values in self.values]


def short(name: str) -> str:
    return STRING.sub("std::string", name) if "basic_string" in name else name


def places_of(profile: Any, names: Names, functions: Functions) -> dict[int, list[Place]]:
    """By the number of the location."""
    modules = {m.id: Path(text_of(profile, m.filename)).name for m in profile.mapping}
    return {
        location.id: [
            Place(functions.number_of((short(frame.function), frame.file, modules.get(location.mapping_id, ""))), frame.line)
            for frame in names.frames[location.id]
        ]
        for location in profile.location
    }


def stacks_of(profile: Any, names: Names, functions: Optional[Functions] = None) -> Stacks:
    stacks, at = Stacks(functions or Functions()), columns(profile)
    places = places_of(profile, names, stacks.functions)
    ordered = itemgetter(*(at.get(name, -1) for name in VALUES))
    for sample, proofs in zip(profile.sample, proofs_of(profile)):
        values = list(ordered([*sample.value, 0]))  # the last one: of columns that it has not
        if any(values):
            stacks.places.append(list(chain.from_iterable(map(places.__getitem__, sample.location_id))))
            stacks.values.append(values)
            stacks.proofs.append(proofs)
    return stacks


def compared(before: Any, before_names: Names, after: Any, after_names: Names) -> Stacks:
    """One of each chain of functions, whatever the lines."""
    later = stacks_of(after, after_names)
    earlier = stacks_of(before, before_names, later.functions)
    both = Stacks(later.functions, are_of_two=True)
    found: dict[tuple[int, ...], int] = {}
    none = [0] * len(VALUES)
    rows = [(places, [*values, *none], proofs) for places, values, proofs in later.rows()]
    rows += [(places, [*none, *values], Proofs(NOTHING, NOTHING, *proofs[:2])) for places, values, proofs in earlier.rows()]
    for places, values, proofs in rows:
        n = found.setdefault(tuple(place.function for place in places), len(both.places))
        if n == len(both.places):
            both.places.append(places)
            both.values.append(values)
            both.proofs.append(proofs)
        else:
            both.values[n] = [a + b for a, b in zip(both.values[n], values)]
            both.proofs[n] = both.proofs[n].plus(proofs)
    for values in both.values:
        values.extend([max(values[n], values[BEFORE + n]) for n in range(BYTES)])
    return both


def proofs_of(profile: Any) -> list[Proofs]:
    """By sample, in their order."""
    none = [NOTHING] * len(profile.sample)
    now, peak, ever, brief = (
        evidence_of(profile, moment) if has_moment(profile, moment) else none for moment in (NOW, PEAK, TAKEN, BRIEF)
    )
    return [Proofs(*pair, ever=taken, brief=gone) for *pair, taken, gone in zip(now, peak, ever, brief)]


# ---- the tree ----

def line_weight(values: list[int]) -> int:
    live = sum(values[at] for first in range(0, len(values), BEFORE) for at in (first + IN_USE, first + AT_PEAK))
    return (live << 20) + values[EVER]


class Node:
    """Sums, lines and what is called below are found when first asked for: trees of several shares are grown of it."""

    def __init__(self, stacks: Stacks, function: int, depth: int, by_line: dict[int, list[int]]) -> None:
        self.stacks, self.function, self.depth, self.by_line = stacks, function, depth, by_line

    @cached_property
    def members(self) -> list[int]:
        """Stacks, by their numbers."""
        groups = list(self.by_line.values())
        return groups[0] if len(groups) == 1 else sorted(chain.from_iterable(groups))

    @cached_property
    def values(self) -> list[int]:
        return sums_of(self.stacks, self.members)

    @cached_property
    def lines(self) -> list[int]:
        """That have most, first."""
        return lines_of(self.stacks, self.by_line) if self.depth else []

    @cached_property
    def below(self) -> list[Node]:
        groups = called_below(self.stacks, self.depth, self.members)
        found = [Node(self.stacks, function, self.depth + 1, by_line) for function, by_line in groups.items()]
        if len(found) == 1 and len(found[0].members) == len(self.members):
            found[0].values = self.values  # nothing ends here, or goes elsewhere
        return found


def sums_of(stacks: Stacks, members: Iterable[int]) -> list[int]:
    none = [0] * (WIDTHS + BYTES if stacks.are_of_two else len(VALUES))
    return [sum(column) for column in zip(*(stacks.values[n] for n in members))] or none


def lines_of(stacks: Stacks, by_line: Mapping[int, list[int]]) -> list[int]:
    """By their weight."""
    weigh = stacks.weights.__getitem__
    weights = Counter({line: sum(map(weigh, members)) for line, members in by_line.items()})
    return [line for line, _ in weights.most_common(LINES_MOST) if line]


def called_below(stacks: Stacks, depth: int, members: Iterable[int]) -> dict[int, dict[int, list[int]]]:
    """Stacks by function and line."""
    groups: defaultdict[Place, list[int]] = defaultdict(list)
    for n in members:
        places = stacks.places[n]
        if len(places) > depth:
            groups[places[-1 - depth]].append(n)
    found: defaultdict[int, dict[int, list[int]]] = defaultdict(dict)
    for place, those in groups.items():
        found[place.function][place.line] = those
    return found


def grown(stacks: Stacks, root: Node, share: float) -> Optional[tuple[list[Node], list[list[int]]]]:
    """Nodes, each behind the one that it is called by, and the sums of those that were too small. None: they are too
    many."""
    first = WIDTHS if stacks.are_of_two else 0
    least = [share * value for value in root.values[first : first + BYTES]]
    nodes: list[Node] = []
    dropped: list[list[int]] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        values = node.values
        if node.depth and not any(value and value >= bound for value, bound in zip(values[first:], least)):
            dropped.append(values[first : first + BYTES])
            continue
        nodes.append(node)
        if len(nodes) > NODES_MOST:
            return None
        waiting.extend(node.below)
    return nodes, dropped


def added(rows: Iterable[list[int]]) -> list[int]:
    """[bytes] In use, ever, and at the peak; of two profiles the larger one of each."""
    return [sum(column) for column in zip(*rows)] or [0] * BYTES


def flame_of(stacks: Stacks) -> dict[str, Any]:
    """What is drawn: all, or what has the smallest share that leaves few enough."""
    root = Node(stacks, -1, 0, {0: list(range(len(stacks.values)))})
    share, found = 0.0, grown(stacks, root, 0.0)
    while found is None:
        share = max(SHARE_LEAST, share * 2)
        found = grown(stacks, root, share)
    nodes, dropped = found
    two = {
        "before": [[node.values[BEFORE + n] for node in nodes] for n in range(DRAWN)],
        "width": [[node.values[WIDTHS + n] for node in nodes] for n in range(BYTES)],
    } if stacks.are_of_two else {}
    return two | {
        "share": share, "left_out": len(dropped), "left_bytes": added(dropped), "function": [node.function for node in nodes],
        "depth": [node.depth for node in nodes], "lines": [node.lines for node in nodes],
        "values": [[node.values[n] for node in nodes] for n in range(DRAWN)],
    }


# ---- sites ----

def asks_for_others(row: tuple[str, str, str]) -> bool:
    name, file, module = row
    is_known = name.startswith(LIBRARY_NAMES) or LIBRARY_FILES in file or module.startswith(LIBRARY_MODULES)
    return is_known or LIKE_MALLOC.search(name.partition("(")[0]) is not None


def is_interpreted(row: tuple[str, str, str]) -> bool:
    _, file, module = row
    return not module and file != ""


def asking_place(stack: list[Place], for_others: set[int], passed: set[int], interpreted: set[int]) -> Place:
    """passed: for_others, and the interpreter's own."""
    if not interpreted or all(place.function not in interpreted for place in stack):
        passed = for_others
    return next((place for place in stack if place.function not in passed), stack[0])


class Site:
    def __init__(self, stacks: Stacks, members: list[int]) -> None:
        self.stacks, self.members = stacks, members
        self.values = sums_of(stacks, members)

    def proofs(self) -> Proofs:
        return all_of(map(self.stacks.proofs.__getitem__, self.members))

    def heaviest(self) -> list[Place]:
        """The stack that has most."""
        def weight(n: int) -> tuple[int, ...]:
            return tuple(weight_of(self.stacks.values[n], column) for column in (AT_PEAK, IN_USE, EVER))

        return self.stacks.places[max(self.members, key=weight)]


def weight_of(values: list[int], column: int) -> int:
    """[bytes] Of two profiles by how much it changed."""
    return abs(values[column] - values[BEFORE + column]) if len(values) > BEFORE else values[column]


def kept_sites(sites: Mapping[Place, Site]) -> dict[Place, Site]:
    """Those that have most in use, first, and those that had most otherwise."""
    def order(item: tuple[Place, Site]) -> tuple[int, int, Place]:
        return -weight_of(item[1].values, IN_USE), -weight_of(item[1].values, EVER), item[0]

    ranked = sorted(sites.items(), key=order)
    kept = dict(ranked[: SITES_MOST // 2])
    for column in (EVER, AT_PEAK):
        kept |= dict(nlargest(SITES_MOST // 4, ranked, key=lambda item: weight_of(item[1].values, column)))
    return kept


def sites_of(stacks: Stacks) -> dict[str, Any]:
    """By the innermost place that asks for itself: sums, and the stack that has most. An interpreter asks for the program
    that it runs, where it is known which line of it that is."""
    rows = list(enumerate(stacks.functions.rows))
    for_others, interpreted = ({n for n, row in rows if of(row)} for of in (asks_for_others, is_interpreted))
    passed = for_others | {n for n, row in rows if is_interpreter(row[2])}
    members: defaultdict[Place, list[int]] = defaultdict(list)
    for n, places in enumerate(stacks.places):
        if places:
            members[asking_place(places, for_others, passed, interpreted)].append(n)
    sites = {place: Site(stacks, those) for place, those in members.items()}
    kept = kept_sites(sites)
    first = WIDTHS if stacks.are_of_two else 0
    others = (site.values[first : first + BYTES] for place, site in sites.items() if place not in kept)
    return {
        "left_out": len(sites) - len(kept), "left_bytes": added(others),
        "rows": [site_row(place, site) for place, site in kept.items()],
    }


def site_row(place: Place, site: Site) -> list[Any]:
    stack = site.heaviest()
    return [*place, site.values, [list(each) for each in stack[:STACK_MOST]], len(stack), site.proofs()]


# ---- what both name ----

def picture_of(stacks: Stacks) -> dict[str, Any]:
    """Tree, places, and only those functions that these have."""
    flame, sites = flame_of(stacks), sites_of(stacks)
    numbers: dict[int, int] = {}

    def renumbered(function: int) -> int:
        return numbers.setdefault(function, len(numbers))

    flame["function"] = [renumbered(n) if n >= 0 else n for n in flame["function"]]
    for row in sites["rows"]:
        row[0] = renumbered(row[0])
        row[3] = [[renumbered(function), line] for function, line in row[3]]
    return {"flame": flame, "sites": sites, "functions": [stacks.functions.rows[n] for n in numbers]}
