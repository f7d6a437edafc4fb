#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that every source file names its licence in its first line (in its second, after `#!` and the like).

    scripts/check_spdx.py [--root FOLDER] [--add]

  --add   writes the line where it is missing, and changes nothing else

Sources are files with an ending of STYLES below; data, prose and what takes no comment (Markdown, CSV, JSON, SVG, lists
and tables of tests) stand under the LICENSE of the tree alone. One line per breach on stdout; exit status 1 when there
is any.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

LICENCE = "SPDX-License-Identifier: MIT OR Apache-2.0"
SLASH, HASH, DASH = "/* {} */", "# {}", "-- {}"
STYLES = {
    ".c": SLASH, ".h": SLASH, ".cpp": SLASH, ".def": SLASH, ".S": SLASH, ".ld": SLASH, ".map": SLASH,
    ".js": SLASH, ".java": SLASH, ".rs": SLASH, ".php": SLASH, ".css": SLASH,
    ".py": HASH, ".sh": HASH, ".bash": HASH, ".fish": HASH, ".cmake": HASH, ".toml": HASH,
    ".pl": HASH, ".rb": HASH, ".R": HASH, ".in": HASH, ".ini": HASH, ".yml": HASH, ".cff": HASH,
    ".lua": DASH, ".sql": DASH, ".smt2": "; {}", ".ps": "% {}", ".jinja": "{{# {} -#}}",
}
NAMED = {"CMakeLists.txt": HASH, "Makefile": HASH, "run": HASH, "hakmem": HASH, "_hakmem": HASH}
FIRST_BY_RIGHT = ("#!", "#compdef", "%!", "<?")  # what other readers want in the first line
NOT_OURS = {".git", "build", "__pycache__"}


def style_of(path: Path) -> str | None:
    """How the file writes a comment of one line; None when it is no source."""
    return NAMED.get(path.name) or STYLES.get(path.suffix)


def sources(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in NOT_OURS and not name.endswith(".egg-info"))
        yield from (path for path in map(Path(folder).joinpath, sorted(files)) if style_of(path))


def place_of(lines: list[str]) -> int:
    return 1 if lines and lines[0].startswith(FIRST_BY_RIGHT) else 0


def breach(path: Path, lines: list[str]) -> str | None:
    wanted = (style_of(path) or "").format(LICENCE)
    place = place_of(lines)
    if lines[place:place + 1] == [wanted]:
        return None
    return f"{place + 1}: must be `{wanted}`"


def add(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines.insert(place_of(lines), (style_of(path) or "").format(LICENCE) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def other_licence(lines: list[str]) -> bool:
    return any(re.search(r"SPDX-License-" r"Identifier:", line) for line in lines[:5])


def check(root: Path, adding: bool = False) -> tuple[list[str], int]:
    """The breaches, and how many sources there are."""
    breaches: list[str] = []
    count = 0
    for path in sources(root):
        count += 1
        lines = path.read_text(encoding="utf-8").splitlines()
        wrong = breach(path, lines)
        if wrong and adding and not other_licence(lines):
            add(path)
        elif wrong:
            breaches.append(f"{path.relative_to(root)}:{wrong}")
    return breaches, count


def main() -> int:
    parser = argparse.ArgumentParser(description="Check that every source file names its licence.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--add", action="store_true", help="write the line where it is missing")
    given = parser.parse_args()
    breaches, count = check(given.root, given.add)
    print("\n".join([*breaches, f"licences: {count} source files, {len(breaches)} without the line"]))
    return 1 if breaches or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
