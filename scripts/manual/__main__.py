# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the manual pages and the completion of shells, from what says these things already.

    make manual                                        (build/venv/bin/python scripts/manual [--check])

  man/hakmem.1              the commands and options of cli/hakmem/commands, the examples of the guide
  man/hakmem.3              include/hakmem/hakmem.h, experimental.h
  man/hakmem-settings.7     docs/guide/settings.md, whose table scripts/tables.py writes
  completions/              the commands and options again: for bash, zsh and fish

  --check   writes nothing; a line for each file that is not as it would be written, and exit status 1 then
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import bash_completion
import command_page
import fish_completion
import library_page
import settings_page
import zsh_completion
from commands import command_tree
from hakmem import __version__

ROOT = Path(__file__).resolve().parents[2]
DATE = re.compile(r"^\.Dd (.+)$", re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def makers() -> dict[str, Callable[[], str]]:
    """By file of the tree, what writes it; pages have no date and version yet."""
    tree = command_tree()
    return {
        "man/hakmem.1": lambda: command_page.page(tree, read("docs/guide/watch-and-profile.md")),
        "man/hakmem.3": lambda: library_page.page(read("include/hakmem/hakmem.h"), read("include/hakmem/experimental.h")),
        "man/hakmem-settings.7": lambda: settings_page.page(read("docs/guide/settings.md")),
        "completions/hakmem.bash": lambda: bash_completion.script(tree),
        "completions/_hakmem": lambda: zsh_completion.script(tree),
        "completions/hakmem.fish": lambda: fish_completion.script(tree),
    }


def dated(text: str, there: str) -> str:
    """A page that says what the one there says keeps its date."""
    known = DATE.search(there)
    if known and DATE.sub(f".Dd {known[1]}", text, count=1) == there:
        return there
    today = date.today()
    return DATE.sub(f".Dd {today:%B} {today.day}, {today.year}", text, count=1)


def stale(write: bool) -> list[str]:
    """The files that are not as they should be, or that were written anew."""
    found = []
    for name, make in makers().items():
        file = ROOT / name
        there = file.read_text(encoding="utf-8") if file.exists() else ""
        text = dated(make().replace("\n.Os HAKMEM VERSION\n", f"\n.Os HAKMEM {__version__}\n", 1), there)
        if text == there:
            continue
        found.append(name)
        if write:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the manual pages and the completion of shells.")
    parser.add_argument("--check", action="store_true", help="only say which are not up to date")
    checking = parser.parse_args().check
    found = stale(write=not checking)
    for name in found:
        print(f"{name}: not up to date: make manual" if checking else f"{name}: written")
    return 1 if checking and found else 0


if __name__ == "__main__":
    sys.exit(main())
