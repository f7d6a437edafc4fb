#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that every module of the command imports only what cli/layers.txt allows, and that no import goes in a circle.

    scripts/check_python_layers.py [--root FOLDER]

All imports count, also those inside functions and those for types only. One line per breach on stdout; exit status 1
when there is any, 2 when the check cannot be made at all.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from check_layers import CannotCheck, read_rules

PRODUCT, LABORATORY = "hakmem", "hakmem_lab"
FOLDERS = {PRODUCT: "cli", LABORATORY: "lab"}
Modules = dict[str, Path]


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    used: str  # a module of ours


# ---- what is imported ----

def modules_of(root: Path) -> Modules:
    found = {}
    for package, folder in FOLDERS.items():
        for file in sorted((root / folder / package).rglob("*.py")):
            parts = file.relative_to(root / folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def names_of(statement: ast.stmt) -> list[str]:
    """What may be modules: `from a import b` is a.b, or b of a."""
    if isinstance(statement, ast.ImportFrom) and statement.module:
        return [f"{statement.module}.{alias.name}" for alias in statement.names]
    return [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []


def imports_of(name: str, file: Path, known: Modules) -> Iterator[Import]:
    for statement in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        for used in names_of(statement) if isinstance(statement, ast.stmt) else []:
            module = used if used in known else used.rpartition(".")[0]
            if module in known and module != name:
                yield Import(name, statement.lineno, module)


# ---- what is wrong ----

def layer_of(module: str, file: Path) -> str:
    """That of hakmem.reading.pprof is reading; hakmem.cli has none."""
    parts = module.split(".")
    is_inside = parts[0] == PRODUCT and len(parts) > (1 if file.name == "__init__.py" else 2)
    return parts[1] if is_inside else ""


def refusal(below: dict[str, set[str]], known: Modules, one: Import) -> str | None:
    if one.module.startswith(LABORATORY):
        return None
    if one.used.startswith(LABORATORY):
        return "the product may not import the laboratory"
    user, used = layer_of(one.module, known[one.module]), layer_of(one.used, known[one.used])
    if user not in below or not used or used in {user, *below[user]}:
        return None
    return f"{user} may import {' '.join(sorted(below[user])) or 'no layer'}, not {used}"


def circle_from(start: str, uses: dict[str, set[str]]) -> list[str] | None:
    """The shortest way by which it imports itself."""
    ways = [[start]]
    seen = set()
    while ways:
        way = ways.pop(0)
        for used in sorted(uses.get(way[-1], ())):
            if used == start:
                return [*way, start]
            if used not in seen:
                seen.add(used)
                ways.append([*way, used])
    return None


def circles(uses: dict[str, set[str]]) -> Iterator[str]:
    told: set[str] = set()
    for module in sorted(uses):
        way = circle_from(module, uses)
        if way and not told & set(way):
            told |= set(way)
            yield f"a circle: {' -> '.join(way)}"


def check(root: Path) -> tuple[int, list[str]]:
    """How many modules there are, and the breaches."""
    try:
        below = read_rules((root / "cli/layers.txt").read_text(encoding="utf-8")).below
    except FileNotFoundError as missing:
        raise CannotCheck(f"{root}: no cli/layers.txt") from missing
    known = modules_of(root)
    layers = {layer_of(module, file) for module, file in known.items()} - {""}
    breaches = [f"cli/layers.txt has no layer {layer}" for layer in sorted(layers - set(below))]
    uses: dict[str, set[str]] = {}
    for module, file in known.items():
        for one in imports_of(module, file, known):
            uses.setdefault(module, set()).add(one.used)
            why = refusal(below, known, one)
            if why:
                breaches.append(f"{file.relative_to(root)}:{one.line}: imports {one.used}: {why}")
    return len(known), breaches + list(circles(uses))


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the command's modules against cli/layers.txt.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    try:
        count, breaches = check(parser.parse_args().root)
    except CannotCheck as reason:
        print(f"check_python_layers: {reason}", file=sys.stderr)
        return 2
    print("\n".join([*breaches, f"layers of Python: {count} modules, {len(breaches)} breaches"]))
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
