# SPDX-License-Identifier: MIT OR Apache-2.0
"""verdicts: how the cases of a suite end, compared between two allocators.

what      Verdicts map (unit, case) to a word: ok, failed, skipped, or the suite's own. A case whose verdict differs runs
          again with its unit, on both sides; one that is then alike is unsteady: time decided, not the allocator.
          differences/SUITE.txt lists the differences that are explained: unit | case | there | here | why. A case that is *
          stands for all of its unit.
failure   ValueError: a line of a list has not five columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

Case = tuple[str, str]
Verdicts = dict[Case, str]
ABSENT = "absent"
WORST = ("ok", "skipped", "failed")


@dataclass(frozen=True)
class Difference:
    """One case that ends otherwise on HAKMEM."""

    unit: str
    case: str
    there: str
    here: str

    def line(self) -> str:
        return f"{self.unit} | {self.case} | {self.there} | {self.here}"


@dataclass
class Comparison:
    """A suite on both sides."""

    there: Verdicts = field(default_factory=dict)
    here: Verdicts = field(default_factory=dict)
    unsteady: set[Case] = field(default_factory=set)
    explained: dict[Difference, str] = field(default_factory=dict)
    unexplained: list[Difference] = field(default_factory=list)


def add(verdicts: Verdicts, unit: str, case: str, verdict: str) -> None:
    """The worst verdict of cases of one name counts."""
    old = verdicts.get((unit, case), "ok")
    if rank(verdict) >= rank(old):
        verdicts[unit, case] = verdict


def rank(verdict: str) -> int:
    return WORST.index(verdict) if verdict in WORST else len(WORST)


def counts(verdicts: Verdicts) -> str:
    """`412 ok, 3 failed, 9 skipped`"""
    found = Counter(verdicts.values())
    return ", ".join(f"{found[word]:,} {word}" for word in sorted(found, key=lambda word: (rank(word), word)))


def differences(there: Verdicts, here: Verdicts) -> list[Difference]:
    """In the order of names."""
    both = ((case, there.get(case, ABSENT), here.get(case, ABSENT)) for case in sorted(there.keys() | here.keys()))
    return [Difference(*case, old, new) for case, old, new in both if old != new]


def parse_table(lines: Iterable[str]) -> dict[Difference, str]:
    """The explained differences."""
    table = {}
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        columns = [column.strip() for column in line.split(" | ", 4)]
        if len(columns) != 5:
            raise ValueError(f"not `unit | case | there | here | why`: {line.strip()}")
        table[Difference(*columns[:4])] = columns[4]
    return table


def read_table(path: Path) -> dict[Difference, str]:
    return parse_table(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else {}


def reason(table: dict[Difference, str], found: Difference) -> str | None:
    """Why the case ends so; None: no reason is known."""
    whole = Difference(found.unit, "*", found.there, found.here)
    return table.get(found) or table.get(whole)


def compared(there: Verdicts, here: Verdicts, table: dict[Difference, str],
             again: Callable[[str], tuple[Verdicts, Verdicts]], tries: int) -> Comparison:
    """Both sides' verdicts judged; `again` runs a unit on both sides once more."""
    result = Comparison(dict(there), dict(here))
    open_cases = [found for found in differences(there, here) if reason(table, found) is None]
    for _ in range(tries):
        open_cases = run_again(result, open_cases, again)
    for found in differences(result.there, result.here):
        why = reason(table, found)
        if why is not None:
            result.explained[found] = why
        elif (found.unit, found.case) not in result.unsteady:
            result.unexplained.append(found)
    return result


def run_again(result: Comparison, open_cases: list[Difference], again: Callable[[str], tuple[Verdicts, Verdicts]]) -> list[Difference]:
    """The cases that differ in the same way once more; the others are unsteady."""
    left = []
    for unit in sorted({found.unit for found in open_cases}):
        there, here = again(unit)
        still = set(differences(there, here))
        for found in (one for one in open_cases if one.unit == unit):
            if found in still:
                left.append(found)
            else:
                result.unsteady.add((found.unit, found.case))
    return left
