#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that a static name of src/ stands in one file only, so that a search for it finds one thing.

    scripts/check_names.py [--root FOLDER]

The headers of src/arch, one of which is chosen by processor, count as one file. Static are functions and variables at file level that are declared `static` or HAK_INLINE. One line per name that stands
in two files or more on stdout; exit status 1 when there is any.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from check_style import bare_code, function_name

STATIC = re.compile(r"\b(static|HAK_INLINE)\b")
MACRO_CALL = re.compile(r"\b(HAK_[A-Z_]+|__attribute__\s*\()\s*\([^()]*\)\)?")

VARIABLE = re.compile(r"(\w+)\s*(\[[^\]]*\]\s*)*(=|;|$)")


def file_level(text: str) -> str:
    """The code with `{}` in place of what stands in braces."""
    found: list[str] = []
    depth = 0
    for char in bare_code(text):
        depth -= char == "}"
        if depth == 0:
            found.append(char)
        depth += char == "{"
        if char == "{" and depth == 1:
            found.append("{")
    return "".join(found)


def declarations(text: str) -> Iterator[str]:
    """Each ends in front of a semicolon or a function's body."""
    start = 0
    code = file_level(text)
    for match in re.finditer(r";|\{\}", code):
        head = code[start:match.start()]
        if match.group() == "{}" and not function_name(MACRO_CALL.sub(" ", head)):
            continue  # of a struct or an initialiser
        yield head
        start = match.end()


def name_of(declaration: str) -> str | None:
    """The name that it makes static."""
    match = STATIC.search(declaration)
    if not match:
        return None
    rest = MACRO_CALL.sub(" ", declaration[match.end():])
    function = function_name(rest)
    if function:
        return function[0]
    variable = VARIABLE.search(re.sub(r"\bstruct\s*\w*\s*\{\}", " ", rest))
    return variable.group(1) if variable else None


def static_names(text: str) -> set[str]:
    """Of one file."""
    names = (name_of(declaration) for declaration in declarations(text))
    return {name for name in names if name}


def doubles(root: Path) -> dict[str, list[str]]:
    """Names that stand in more than one file, and the files."""
    files: dict[str, list[str]] = defaultdict(list)
    for path in sorted((root / "src").glob("*/*.[ch]")):
        if path.parent.name == "arch" and path.name != "x86_64.h":
            continue
        for name in static_names(path.read_text(encoding="utf-8")):
            files[name].append(path.relative_to(root / "src").as_posix())
    return {name: at for name, at in sorted(files.items()) if len(at) > 1}


def main() -> int:
    parser = argparse.ArgumentParser(description="Check that static names of src/ are unique.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    found = doubles(parser.parse_args().root)
    for name, files in found.items():
        print(f"{name}: static in {', '.join(files)}")
    print(f"names: {len(found)} static names stand in two files or more")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
