#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packs the sources into an archive that builds and tests without git; the same files give the same bytes.

    scripts/dist.py [-o FILE]          default: build/hakmem-VERSION.tar.gz

Packed is what git tracks, as it lies in the work tree; out of an unpacked archive, everything but what was built. Names
are sorted, owners are nobody, and the date is that of the last commit (SOURCE_DATE_EPOCH, where that is set; the newest
file's, where there is no git).
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = re.compile(r"(^|/)(build|__pycache__|[^/]*\.egg-info)/|\.pyc$|^compile_commands\.json$")  # as .gitignore says


class CannotPack(Exception):
    """Why there is no archive."""


def git(*arguments: str) -> str:
    """Its output; none when this is no checkout."""
    if not (ROOT / ".git").exists():
        return ""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise CannotPack("this is a checkout, and git is not installed") from None
    except subprocess.CalledProcessError as failed:
        raise CannotPack(f"git {arguments[0]}: {failed.stderr.strip()}") from None
    return done.stdout


def walked() -> Iterator[str]:
    for folder, folders, files in os.walk(ROOT):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        yield from (os.path.relpath(os.path.join(folder, name), ROOT) for name in files + links)


def names() -> list[str]:
    tracked = git("ls-files", "-z").split("\0") if (ROOT / ".git").exists() else walked()
    return sorted(name for name in tracked if name and not BUILT.search(name) and os.path.lexists(ROOT / name))


def date(files: list[str]) -> int:
    said = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct").strip()
    if said and not said.isdigit():
        raise CannotPack(f"SOURCE_DATE_EPOCH={said}: not a number of seconds")
    plain = (ROOT / name for name in files if not (ROOT / name).is_symlink())  # tools unpack links with the date of today
    return int(said) if said else max(int(path.stat().st_mtime) for path in plain)


def version() -> str:
    header = (ROOT / "include/hakmem/hakmem.h").read_text(encoding="utf-8")
    return ".".join(re.findall(r"^#define HAK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header, re.MULTILINE))


def anonymous(entry: tarfile.TarInfo, when: int) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = when
    entry.mode = 0o777 if entry.issym() else 0o755 if entry.mode & 0o100 else 0o644
    return entry


def pack(output: Path) -> int:
    """How many files it holds. The archive is there as a whole or not at all."""
    files = names()
    when, top = date(files), f"hakmem-{version()}"
    part = output.with_name(output.name + ".part")
    try:
        with part.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed, \
                tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name in files:
                archive.add(ROOT / name, f"{top}/{name}", recursive=False, filter=lambda entry: anonymous(entry, when))
        part.rename(output)
    finally:
        part.unlink(missing_ok=True)
    return len(files)


def state_of_tree() -> str:
    if not (ROOT / ".git").exists():
        return "as they lie here"
    changed = git("status", "--porcelain", "--untracked-files=no")
    commit = git("rev-parse", "--short", "HEAD").strip()
    return "with changes that are not committed" if changed else f"of commit {commit}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Pack the sources into an archive that builds without git.")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    output = parser.parse_args().output or ROOT / f"build/hakmem-{version()}.tar.gz"
    try:
        (ROOT / "build").mkdir(exist_ok=True)
        count = pack(output)
        state = state_of_tree()
    except (OSError, CannotPack) as failure:
        print(f"dist: {failure}", file=sys.stderr)
        return 1
    print(f"dist: {output}: {count} files, {state}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
