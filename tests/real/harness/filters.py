# SPDX-License-Identifier: MIT OR Apache-2.0
"""filters: the checked-in rules that take times, addresses and process ids out of a program's output.

what      Reads filter.txt and applies its rules, in order, to one text. What stands above the first heading
          `[case ...]` is for every case, what follows a heading for the cases it names.
failure   A malformed line, or a rule without an explaining comment above it, is a FilterError naming the line.
not here  Comparing (compare.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

SEPARATOR = "  =>  "
HEADING = re.compile(r"\[([\w ]+)\]")


class FilterError(ValueError):
    """filter.txt cannot be used as it stands."""


@dataclass(frozen=True)
class Rule:
    """One line of filter.txt: what matches the pattern is replaced."""

    pattern: re.Pattern[str]
    replacement: str
    cases: tuple[str, ...] = ()


def parse_rule(line: str, where: str, cases: tuple[str, ...] = ()) -> Rule:
    """`<regex>  =>  <replacement>`, two blanks on both sides of the arrow."""
    if SEPARATOR not in line:
        raise FilterError(f"{where}: expected <regex>{SEPARATOR}<replacement>")
    pattern, replacement = line.split(SEPARATOR, 1)
    try:
        return Rule(re.compile(pattern, re.MULTILINE), replacement, cases)
    except re.error as error:
        raise FilterError(f"{where}: bad regular expression: {error}") from error


def parse_rules(text: str, name: str) -> list[Rule]:
    """All rules of a filter file; each needs a comment (`# why`) directly above it or above its group."""
    rules: list[Rule] = []
    cases: tuple[str, ...] = ()
    explained = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            explained = True
        elif not line.strip():
            explained = False
        elif heading := HEADING.fullmatch(line):
            cases = tuple(heading[1].split())
        elif not explained:
            raise FilterError(f"{name}:{number}: a rule needs a comment above it that says why")
        else:
            rules.append(parse_rule(line, f"{name}:{number}", cases))
    return rules


def load_rules(path: Path) -> list[Rule]:
    """The rules of the checked-in file."""
    return parse_rules(path.read_text(encoding="utf-8"), path.name)


def rules_for(rules: list[Rule], case: str) -> list[Rule]:
    """Those that hold for the case."""
    return [rule for rule in rules if case in rule.cases or not rule.cases]


def apply_rules(rules: list[Rule], text: str) -> str:
    """The text with every rule applied, in the order of the file."""
    for rule in rules:
        text = rule.pattern.sub(rule.replacement, text)
    return text
