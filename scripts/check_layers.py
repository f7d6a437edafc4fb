#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that every source includes and calls only what layers.txt allows.

    scripts/check_layers.py [--root FOLDER] [--build build/release]

Twice: on the #include lines of src/, and on the symbols of the object files of the build (a shared header can hide
a call from the first check). One line per breach on stdout; exit status 1 when there is any, 2 when the check cannot
be made at all.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SOURCE_ENDINGS = (".c", ".cpp", ".h", ".def")
OBJECT_OF_SOURCE = re.compile(r"\.dir/(?:__/)*src/(?P<file>[^/]+/[^/]+\.(?:c|cpp))\.o$")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
OWN_SYMBOL = re.compile(r"^(hak_|g_)")
OTHER_LIBC = "_musl.c"  # not compiled for glibc, whose builds are checked
PUBLIC_HEADERS = ("hakmem/hakmem.h", "hakmem/experimental.h")


class CannotCheck(Exception):
    """The rules, the tools or the build are not there."""


@dataclass
class Rules:
    """layers.txt, read."""

    below: dict[str, set[str]] = field(default_factory=dict)
    blind: set[str] = field(default_factory=set)
    public: set[str] = field(default_factory=set)
    doors: set[str] = field(default_factory=set)
    kernel: set[str] = field(default_factory=set)
    kernel_names: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Source:
    """One file of src: `blocks/slab_fill.c` is of layer `blocks`, module `slab`."""

    name: str

    @property
    def layer(self) -> str:
        return self.name.split("/")[0]

    @property
    def module(self) -> str:
        return Path(self.name).stem.split("_")[0]


@dataclass
class Symbols:
    """What one object file defines for others and what it wants from them."""

    defined: set[str] = field(default_factory=set)
    undefined: set[str] = field(default_factory=set)


def read_rules(text: str) -> Rules:
    rules = Rules()
    special = {"blind": rules.blind, "public": rules.public, "door": rules.doors, "kernel": rules.kernel,
               "kernel names": rules.kernel_names}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        key, colon, rest = line.partition(":")
        if not colon:
            raise CannotCheck(f"layers.txt:{number}: expected `layer: lower layers`, got `{line}`")
        if key in special:
            special[key].update(rest.split())
        else:
            add_layer(rules, key, rest.split(), number)
    return rules


def add_layer(rules: Rules, layer: str, lower: list[str], number: int) -> None:
    for name in lower:
        if name not in rules.below:
            raise CannotCheck(f"layers.txt:{number}: {layer} names {name}, which is not a layer above this line")
    rules.below[layer] = set(lower)


def refusal(rules: Rules, user: Source, used: Source) -> str | None:
    """Why `user` may not include or call `used`; None when it may."""
    if user.layer == used.layer:
        if user.layer in rules.blind and user.module != used.module:
            return f"modules of {user.layer} are blind to each other"
        return None
    if used.layer in rules.below[user.layer]:
        return behind_door(rules, used)
    allowed = " ".join(sorted(rules.below[user.layer])) or "no layer"
    return f"{user.layer} may use {allowed}, not {used.layer}"


def behind_door(rules: Rules, used: Source) -> str | None:
    """Why another layer may not use this file of a layer that has a door; None when it may."""
    doors = sorted(door for door in rules.doors if door.split("/")[0] == used.layer)
    if not doors or any(Path(door).with_suffix("") == Path(used.name).with_suffix("") for door in doors):
        return None
    return f"the door of {used.layer} is {' '.join(doors)}"


# ---- includes ----

def sources_of(root: Path) -> list[Source]:
    src = root / "src"
    found = [p for p in sorted(src.glob("*/*")) if p.suffix in SOURCE_ENDINGS]
    return [Source(p.relative_to(src).as_posix()) for p in found]


def includes_of(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1)


def include_breach(rules: Rules, root: Path, source: Source, name: str) -> str | None:
    if name in PUBLIC_HEADERS:
        return None if source.layer in rules.public else f"{source.layer} may not use the public header"
    if name.split("/")[0] in rules.below and "/" in name:
        return refusal(rules, source, Source(name))
    if (root / "src" / source.layer / name).exists():
        return f'write it as "{source.layer}/{name}"'
    return None


def check_includes(rules: Rules, root: Path) -> list[str]:
    breaches = []
    for source in sources_of(root):
        if source.layer not in rules.below:
            breaches.append(f"src/{source.name}: layers.txt has no layer {source.layer}")
            continue
        for number, name in includes_of(root / "src" / source.name):
            why = include_breach(rules, root, source, name)
            if why:
                breaches.append(f"src/{source.name}:{number}: includes {name}: {why}")
    return breaches


# ---- symbols ----

def read_symbols(output: str) -> dict[str, Symbols]:
    """By object file, from the output of `nm -A -P`: lines of `file: name type ...`."""
    symbols: dict[str, Symbols] = {}
    for line in output.splitlines():
        path, _, rest = line.partition(": ")
        fields = rest.split()
        if len(fields) < 2:
            continue
        own = symbols.setdefault(path, Symbols())
        if fields[1] in "Uwv":
            own.undefined.add(fields[0].split("@")[0])
        elif fields[1].isupper():
            own.defined.add(fields[0])
    return symbols


def run_nm(paths: list[Path]) -> dict[str, Symbols]:
    if not paths:
        return {}
    command = ["nm", "-A", "-P", "--extern-only", *map(str, paths)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError as missing:
        raise CannotCheck("nm is not installed (Debian package binutils)") from missing
    except subprocess.CalledProcessError as failed:
        raise CannotCheck(f"nm failed: {failed.stderr.strip()}") from failed
    return read_symbols(done.stdout)


def objects_of(build: Path, sources: list[Source]) -> dict[Source, list[Path]]:
    """The object files of every C and C++ source: one per variant of the library."""
    objects: dict[Source, list[Path]] = {s: [] for s in sources if s.name.endswith((".c", ".cpp"))}
    for path in sorted(build.rglob("*.o")):
        match = OBJECT_OF_SOURCE.search(path.as_posix())
        if match and Source(match.group("file")) in objects:
            objects[Source(match.group("file"))].append(path)
    return objects


def symbols_of(objects: dict[Source, list[Path]]) -> dict[Source, Symbols]:
    """What each source defines and wants in any of its variants."""
    by_file = run_nm([path for paths in objects.values() for path in paths])
    merged: dict[Source, Symbols] = {source: Symbols() for source in objects}
    for source, paths in objects.items():
        for path in paths:
            one = by_file.get(str(path), Symbols())
            merged[source].defined |= one.defined
            merged[source].undefined |= one.undefined
    return merged


def definers(symbols: dict[Source, Symbols]) -> dict[str, Source]:
    return {name: source for source, s in symbols.items() for name in s.defined if OWN_SYMBOL.match(name)}


def symbol_breaches(rules: Rules, symbols: dict[Source, Symbols]) -> list[str]:
    breaches = []
    where = definers(symbols)
    for source, own in symbols.items():
        for name in sorted(own.undefined):
            why = symbol_refusal(rules, where, source, name)
            if why:
                breaches.append(f"src/{source.name}: object file uses {name}{why}")
    return breaches


def symbol_refusal(rules: Rules, where: dict[str, Source], source: Source, name: str) -> str | None:
    if name in rules.kernel_names and source.layer not in rules.kernel:
        return f": only {' '.join(sorted(rules.kernel))} may ask the kernel"
    if name not in where:
        return None
    why = refusal(rules, source, where[name])
    return f" of src/{where[name].name}: {why}" if why else None


def check_symbols(rules: Rules, root: Path, build: Path) -> list[str]:
    objects = objects_of(build, [s for s in sources_of(root) if s.layer in rules.below])
    absent = [source for source, paths in objects.items() if not paths and not source.name.endswith(OTHER_LIBC)]
    breaches = [f"src/{source.name}: no object file under {build}: build first" for source in absent]
    return breaches + symbol_breaches(rules, symbols_of(objects))


# ---- the command ----

def check(root: Path, build: Path) -> list[str]:
    try:
        rules = read_rules((root / "layers.txt").read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        raise CannotCheck(f"{root}: no layers.txt") from missing
    return check_includes(rules, root) + check_symbols(rules, root, build)


def main() -> int:
    parser = argparse.ArgumentParser(description="Check sources and object files against layers.txt.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--build", type=Path)
    arguments = parser.parse_args()
    build = arguments.build or arguments.root / "build/release"
    try:
        breaches = check(arguments.root, build)
    except CannotCheck as reason:
        print(f"check_layers: {reason}", file=sys.stderr)
        return 2
    print("\n".join(breaches + [f"layers: {len(sources_of(arguments.root))} files, {len(breaches)} breaches"]))
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
