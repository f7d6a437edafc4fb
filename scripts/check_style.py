#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks the house style of src/ and prints its numbers.

    scripts/check_style.py [--root FOLDER]

  - no function over 60 lines, and a median below 10 (from the line of its name to the closing brace)
  - no #if, #ifdef, #ifndef, #elif, #else inside a function
  - every .c, .cpp and .h opens, below its licence, with its name and what it is; of the other facts (owner, locks,
    orders, hot path, failure, not here) those that say something, in this order (include/hakmem/hakmem.h too)
  - no line over 120 characters (rows of a .def table aside); a file of a layer over 600 lines is named, and passes: a file
    has one job, and is not cut by its length
  - no marks of unfinished work

One line per breach on stdout; exit status 1 when there is any.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDERS = ("src/*/*", "bench/*", "bench/harness/*")
MAX_FUNCTION_LINES = 60
MEDIAN_FUNCTION_LINES = 10
MAX_FILE_LINES = 600
MAX_LINE_LENGTH = 120
FACTS = ("what", "owner", "locks", "orders", "hot path", "failure", "not here")
LICENCE = "/* SPDX-License-Identifier: MIT OR Apache-2.0 */\n"
EMPTY_FACT = re.compile(r" \* (owner|locks|orders|hot path|failure|not here) +(None|No|Nothing|See \S+[.]h)[.]", re.I)
UNFINISHED = re.compile("|".join((r"\bTO" r"DO\b", r"\bFIX" r"ME\b", r"\bX" r"XX\b", r"\bfor " r"now\b")), re.IGNORECASE)
CONDITIONAL = re.compile(r"#\s*(if|ifdef|ifndef|elif|else)\b")
TOKENS = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
TRANSPARENT = re.compile(r"(\bextern\b|\bnamespace\b[^;{}()]*)$")
NOT_FUNCTION_NAME = {"__attribute__", "__asm__", "alignas", "_Alignas", "noexcept", "if", "for", "while", "switch"}
NAME_BEFORE_PARENTHESIS = re.compile(r"([A-Za-z_~][\w:]*(?:\s+(?:new|delete)\s*(?:\[\s*\])?)?)\s*\(")


@dataclass(frozen=True)
class Function:
    name: str
    first: int
    last: int

    @property
    def lines(self) -> int:
        return self.last - self.first + 1


def blank(match: re.Match[str]) -> str:
    """The same lines, with nothing on them."""
    return re.sub(r"[^\n]", " ", match.group(0))


def bare_code(text: str) -> str:
    """The text without comments, literals and preprocessor lines; lines and columns stay where they are."""
    return DIRECTIVE.sub(blank, TOKENS.sub(blank, text))


def outside_parentheses(text: str) -> str:
    count = 1
    while count:
        text, count = re.subn(r"\([^()]*\)", " ", text)
    return text


def function_name(head: str) -> tuple[str, int] | None:
    """The name of the function that `head`, the text before a brace, declares, and its place in it."""
    if "=" in outside_parentheses(head) and "operator" not in head:
        return None
    for match in NAME_BEFORE_PARENTHESIS.finditer(head):
        if match.group(1) not in NOT_FUNCTION_NAME:
            return match.group(1), match.start(1)
    return None


def functions_of(text: str) -> Iterator[Function]:
    """Every function body: a brace at file level (or inside extern "C" or a namespace) after a declarator."""
    code = bare_code(text)
    start = 0
    position = 0
    while position < len(code):
        char = code[position]
        if char in ";}":
            start = position + 1
        elif char == "{":
            head = code[start:position]
            if TRANSPARENT.search(head.rstrip()):
                start = position + 1
            else:
                end = closing_brace(code, position)
                found = function_name(head)
                if found:
                    first = code.count("\n", 0, start + found[1]) + 1
                    yield Function(found[0], first, code.count("\n", 0, end) + 1)
                    start = end + 1
                position = end
        position += 1


def closing_brace(code: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[position], 0)
        if depth == 0:
            return position
    return len(code) - 1


# ---- the rules, each a generator of "line: text" ----

def long_functions(functions: list[Function]) -> Iterator[str]:
    for f in functions:
        if f.lines > MAX_FUNCTION_LINES:
            yield f"{f.first}: {f.name} has {f.lines} lines, at most {MAX_FUNCTION_LINES}"


def conditionals_inside(text: str, functions: list[Function]) -> Iterator[str]:
    uncommented = TOKENS.sub(blank, text).splitlines()
    for f in functions:
        for number in range(f.first, f.last + 1):
            if CONDITIONAL.match(uncommented[number - 1].strip()):
                yield f"{number}: {uncommented[number - 1].strip()} inside {f.name}"


def opening_comment(text: str) -> list[str]:
    end = text.find("*/")
    return text[:end].splitlines() if text.startswith("/*") and end > 0 else []


def missing_facts(name: str, text: str) -> Iterator[str]:
    first = 2 if text.startswith(LICENCE) else 1  # scripts/check_spdx.py wants it there
    comment = opening_comment(text.removeprefix(LICENCE))
    if not comment or not comment[0].startswith(f"/* {name}: "):
        yield f"{first}: must open with `/* {name}: what it is in a line`"
        return
    given = [fact for line in comment for fact in FACTS if re.match(rf" \* {fact} ", line)]
    if given[:1] != ["what"] or given != [fact for fact in FACTS if fact in given]:
        yield f"{first}: opening comment must state what, then of {', '.join(FACTS[1:])} those that say something, in order"
    for number, line in enumerate(comment, first):
        if EMPTY_FACT.fullmatch(line):
            yield f"{number}: a fact that says nothing is left out"


def long_or_unfinished(text: str, wide_lines_matter: bool) -> Iterator[str]:
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if wide_lines_matter and len(line) > MAX_LINE_LENGTH:
            yield f"{number}: {len(line)} characters, at most {MAX_LINE_LENGTH}"
        if UNFINISHED.search(line):
            yield f"{number}: unfinished: {line.strip()}"


def file_breaches(path: Path, text: str, functions: list[Function]) -> Iterator[str]:
    yield from long_or_unfinished(text, path.suffix != ".def")
    if path.suffix != ".def":
        yield from missing_facts(path.name, text)
        yield from long_functions(functions)
        yield from conditionals_inside(text, functions)


# ---- the whole tree ----

def files_of(root: Path) -> list[Path]:
    files = (path for folder in FOLDERS for path in root.glob(folder))
    found = [p for p in files if p.suffix in (".c", ".cpp", ".h", ".def")]
    return sorted(found) + sorted((root / "include").rglob("*.h"))


def check(root: Path) -> tuple[list[str], list[Function]]:
    breaches: list[str] = []
    functions: list[Function] = []
    for path in files_of(root):
        text = path.read_text(encoding="utf-8")
        here = [] if path.suffix == ".def" else list(functions_of(text))
        functions += here
        breaches += [f"{path.relative_to(root)}:{breach}" for breach in file_breaches(path, text, here)]
    return breaches + median_breach(functions), functions


def long_files(root: Path) -> list[str]:
    counts = ((path, len(path.read_text(encoding="utf-8").splitlines())) for path in files_of(root))
    return [f"{path.relative_to(root)}: {n} lines, a note" for path, n in counts if n > MAX_FILE_LINES]


def median_breach(functions: list[Function]) -> list[str]:
    median = statistics.median(f.lines for f in functions) if functions else 0
    if median < MEDIAN_FUNCTION_LINES:
        return []
    return [f"src: the median function has {median:g} lines, must be below {MEDIAN_FUNCTION_LINES}"]


def summary(root: Path, functions: list[Function], breaches: list[str]) -> str:
    if not functions:
        return "style: no functions found"
    lengths = sorted(f.lines for f in functions)
    total = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in files_of(root))
    longest = max(functions, key=lambda f: f.lines)
    return (f"style: {len(files_of(root))} files, {total} lines, {len(functions)} functions, "
            f"median {statistics.median(lengths):g} lines, 9 of 10 within {lengths[len(lengths) * 9 // 10]}, "
            f"longest {longest.lines} ({longest.name}), {len(breaches)} breaches")


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the house style of src/.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    breaches, functions = check(root)
    print("\n".join(long_files(root) + breaches + [summary(root, functions, breaches)]))
    return 1 if breaches or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
