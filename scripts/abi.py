#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds the built libraries to what abi/ says of their names and types, or writes that anew.

    scripts/abi.py [--build FOLDER] [--abi FOLDER] [--renew]

  abi/LIBRARY.symbols   the names that leave each of the five, with version and binding
  abi/LIBRARY.xml       functions and types behind those of the shared ones, as libabigail's abidw writes them

A name that is new is told, so that it is listed on purpose; --renew lists it. A name that is gone, or a function or
type that is another one now, is a break: that needs another SONAME, which is HAK_VERSION_MAJOR of hakmem.h, and then
--renew; without one --renew refuses. Names of the version node HAKMEM_EXPERIMENTAL may change and go. docs/guide/abi.md says
more. One line per finding on stdout; exit status 1 when there is
any.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXPERIMENTAL = "HAKMEM_EXPERIMENTAL"
SHARED = ("libhakmem.so", "libhakmem-dl.so", "libhakmem-secure.so")
ARCHIVES = ("libhakmem.a", "libhakmem-override.a")
OWN = re.compile(r"(hak|g|_)_\w+|.*[.].*")  # an archive's other global names; the last two are compilers'
SONAME = re.compile(r"soname='([^']*)'")
REACHED = "--exported-interfaces-only"  # types that no name leads to are the library's own


class CannotCheck(Exception):
    """Why nothing can be said."""


@dataclass(frozen=True)
class Places:
    build: Path
    abi: Path

    def symbols(self, library: str) -> Path:
        return self.abi / f"{library}.symbols"

    def types(self, library: str) -> Path:
        return self.abi / f"{library}.xml"


def run(*command: str | Path, good: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        package = "binutils" if command[0] == "readelf" else "abigail-tools"
        raise CannotCheck(f"{command[0]} is not installed (Debian package {package})") from None
    if done.returncode not in good:
        raise CannotCheck(f"{command[0]} failed: {(done.stderr or done.stdout).strip()}")
    return done


# ---- names ----

def global_names(library: Path) -> Iterator[tuple[str, str, str]]:
    """Name, binding and visibility of all that it defines for others."""
    table = "--dyn-syms" if library.suffix == ".so" else "--syms"
    for line in run("readelf", "-W", table, library).stdout.splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[4] in ("GLOBAL", "WEAK") and fields[6] not in ("UND", "Ndx", "ABS"):
            yield fields[7], fields[4].lower(), fields[5]


def exported(library: Path) -> list[str]:
    return sorted({f"{name.replace('@@', '@')} {binding}" for name, binding, seen in global_names(library)
                   if seen == "DEFAULT"})


def listed(file: Path) -> list[str]:
    if not file.exists():
        raise CannotCheck(f"{file} is not there: scripts/abi.py --renew writes it")
    return [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def new_names(places: Places, library: str) -> list[str]:
    return sorted(set(exported(places.build / library)) - set(listed(places.symbols(library))))


def lost_names(places: Places, library: str) -> list[str]:
    """Without those of hakmem/experimental.h, which may go."""
    lost = sorted(set(listed(places.symbols(library))) - set(exported(places.build / library)))
    return [line for line in lost if f"@{EXPERIMENTAL} " not in line]


def loose_names(library: Path) -> list[str]:
    """Of an archive: global names that a program may want for itself."""
    return sorted({name for name, _, seen in global_names(library) if seen != "DEFAULT" and not OWN.fullmatch(name)})


# ---- types ----

def soname(library: Path) -> str:
    found = re.search(r"\(SONAME\).*\[(.*)\]", run("readelf", "-W", "-d", library).stdout)
    return found[1] if found else ""


def listed_soname(places: Places, library: str) -> str:
    found = SONAME.search(listed_types(places, library).read_text(encoding="utf-8"))
    return found[1] if found else ""


def listed_types(places: Places, library: str) -> Path:
    file = places.types(library)
    if not file.exists():
        raise CannotCheck(f"{file} is not there: scripts/abi.py --renew writes it")
    return file


def changed_types(places: Places, library: str) -> str:
    """What abidiff has to say; empty when nothing that programs rely on is another one. Additions are allowed."""
    known = places.abi / "compatible.ini"
    quiet = ("--suppressions", known) if known.exists() else ()
    done = run("abidiff", REACHED, "--no-added-syms", *quiet, listed_types(places, library), places.build / library,
               good=(0, 4, 8, 12))
    return done.stdout.strip() if done.returncode else ""


# ---- both ----

def is_renamed(places: Places) -> bool:
    """The SONAME of the one that has a number speaks for all four."""
    return soname(places.build / SHARED[0]) != listed_soname(places, SHARED[0])


def breaks(places: Places) -> list[str]:
    """What a program that was linked before would stumble over, while the SONAME is as it was."""
    if is_renamed(places):
        return []
    found = [f"{library}: {name} is gone" for library in SHARED + ARCHIVES for name in lost_names(places, library)]
    for library in SHARED:
        changes = changed_types(places, library)
        found += [f"{library}: a function or type has changed:\n{changes}\n{library}"] if changes else []
    return found


def findings(places: Places) -> list[str]:
    if is_renamed(places):
        return [f"{soname(places.build / SHARED[0])} is a new SONAME: scripts/abi.py --renew"]
    found = [f"{line}: a break, which needs another SONAME (docs/guide/abi.md)" for line in breaks(places)]
    for library in SHARED + ARCHIVES:
        found += [f"{library}: {name} is exported, but not listed: scripts/abi.py --renew, if it is meant"
                  for name in new_names(places, library)]
    for library in ARCHIVES:
        found += [f"{library}: {name} may be a program's own name: it must begin with hak_ or g_"
                  for name in loose_names(places.build / library)]
    return found


def write(places: Places, library: str) -> None:
    lines = exported(places.build / library)
    head = f"# {library}: the names that leave it, by scripts/abi.py --renew\n"
    places.symbols(library).write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    if library in SHARED:
        run("abidw", REACHED, "--type-id-style", "hash", "--no-show-locs", "--no-comp-dir-path",
            "--no-corpus-path", "--out-file", places.types(library), places.build / library)


def renew(places: Places) -> list[str]:
    """Why it does not; a file that is not there is written without a question."""
    there = all(places.symbols(library).exists() for library in SHARED + ARCHIVES)
    refused = breaks(places) if there and all(places.types(library).exists() for library in SHARED) else []
    if not refused:
        places.abi.mkdir(exist_ok=True)
        for library in SHARED + ARCHIVES:
            write(places, library)
    return [f"{line}: not listed anew, as the SONAME is as it was (docs/guide/abi.md)" for line in refused]


def main() -> int:
    parser = argparse.ArgumentParser(description="Hold the libraries to what abi/ says of them.")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--abi", type=Path, default=ROOT / "abi")
    parser.add_argument("--renew", action="store_true", help="write abi/ anew")
    given = parser.parse_args()
    places = Places(given.build, given.abi)
    try:
        lines = renew(places) if given.renew else findings(places)
    except CannotCheck as why:
        lines = [str(why)]
    names = "" if lines else f", {sum(len(listed(places.symbols(library))) for library in SHARED + ARCHIVES)} names"
    print("\n".join([*lines, f"abi: {len(SHARED + ARCHIVES)} libraries{names}, {len(lines)} findings"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
