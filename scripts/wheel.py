#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packs what pip installs, out of build/PRESET and cli/hakmem; the same files give the same bytes.

    build/venv/bin/python scripts/wheel.py [-o FOLDER] [--build FOLDER] [PRESET ...]   default: build/wheels, build/PRESET, release

  hakmem-VERSION-py3-none-manylinux_2_34_MACHINE.whl     the libraries as they are built here
  hakmem-VERSION-py3-none-manylinux_2_17_MACHINE.whl     the same objects, linked for older systems (packaging/wheel)
  hakmem-VERSION-py3-none-musllinux_1_2_MACHINE.whl      by ziglang
  debug/.build-id/xx/*.debug                             what was stripped off; gdb: set debug-file-directory

TARGETS has a row for each wheel; `cmake --build --preset PRESET --target wheel` makes what is packed. The machine in a name
is that of the files inside. The glibc is the newest whose symbols a file inside needs, 2.17 at least; `auditwheel show`
says the same (tests/wheel). Names are sorted, and the date is that of the last commit (SOURCE_DATE_EPOCH, where that is
set).
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import dist
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "cli/hakmem"
LIBRARIES = ("libhakmem.so", "libhakmem-secure.so", "libhakmem-dl.so", "libhakprobe.so", "libhakident.so")  # and old/ its own
TOOLS = ("hak_redecide", "hak_replay", "hak_sites")  # as the libraries: old/ has others
GLIBC_TOOLS = (*TOOLS, "hak_model")  # needs ucontext, which musl lacks
PROGRAMS = ("hak_launcher", "hak_attend")  # static
MACHINES = {"x64": "x86_64", "AArch64": "aarch64"}  # as pyelftools names them, and as pip does
LICENCES = ("LICENSE", "LICENSE-MIT", "LICENSE-APACHE")
SHARED = {  # beside the interpreter's own, where shells and man find them if it is the system's or the user's
    "man/hakmem.1": "share/man/man1/hakmem.1",
    "completions/hakmem.bash": "share/bash-completion/completions/hakmem",
    "completions/_hakmem": "share/zsh/site-functions/_hakmem",
    "completions/hakmem.fish": "share/fish/vendor_completions.d/hakmem.fish",
}
LEAST_GLIBC = 17  # the oldest tag above glibc 2.12's: files that need less get this one
TOGETHER_WITH = {17: "manylinux2014"}  # what pip before 20.3 calls it
FIRST_DATE = 315532800  # 1980: no archive of this kind has an earlier one


class Target(NamedTuple):
    """A wheel."""

    preset: str
    libraries: str  # their folder in build/PRESET, which has the programs
    tools: tuple[str, ...]
    musl: str | None = None  # the oldest; None: for glibc, and the files tell


TARGETS = (
    Target("release", ".", GLIBC_TOOLS),
    Target("release", "old", GLIBC_TOOLS),
    Target("release-aarch64", ".", GLIBC_TOOLS),
    Target("release-aarch64", "old", GLIBC_TOOLS),
    Target("musl-zig", ".", TOOLS, musl="1.2"),
    Target("musl-zig-aarch64", ".", TOOLS, musl="1.2"),
)

Files = dict[str, tuple[bytes, int]]  # by name in the archive: what it holds, and its mode


# ---- binaries ----

def built(file: Path) -> Path:
    """The program of another machine stands behind a file that starts it (tests/emulate.c)."""
    with file.open("rb") as stream:
        return file.with_name(f"{file.name}.elf") if stream.read(2) == b"#!" else file


def machine_of(file: Path) -> str:
    with file.open("rb") as stream:
        return MACHINES[ELFFile(stream).get_machine_arch()]


def glibc_minor(file: Path) -> int:
    """Of the newest glibc 2.x that it needs."""
    with file.open("rb") as stream:
        sections = [section for section in ELFFile(stream).iter_sections() if isinstance(section, GNUVerNeedSection)]
        names = [version.name for section in sections for _, versions in section.iter_versions() for version in versions]
    return max((int(found[1]) for name in names if (found := re.match(r"GLIBC_2\.(\d+)", name))), default=0)


def build_id(file: Path) -> str:
    with file.open("rb") as stream:
        return str(next(ELFFile(stream).get_section_by_name(".note.gnu.build-id").iter_notes())["n_desc"])


def stripped(file: Path, debug: Path) -> bytes:
    """Without what only a debugger reads, which goes to the folder `debug`, by build id."""
    number = build_id(file)
    aside = debug / ".build-id" / number[:2] / f"{number[2:]}.debug"
    aside.parent.mkdir(parents=True, exist_ok=True)
    machine = machine_of(file)
    binutils = "" if machine == os.uname().machine else f"{machine}-linux-gnu-"
    subprocess.run([f"{binutils}objcopy", "--only-keep-debug", file, aside], check=True)
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare"
        subprocess.run([f"{binutils}strip", "--strip-unneeded", "-o", bare, file], check=True)
        return bare.read_bytes()


# ---- what is said about the package ----

def loosened(requirement: str) -> str:
    """Pinned here; whoever installs it may have what is compatible."""
    return re.sub(r"==(\d+\.\d+)[.\d]*", r"~=\1", requirement)


def metadata() -> str:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return "\n".join([
        "Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {dist.version()}",
        f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}",
        "License-Expression: MIT OR Apache-2.0", *(f"License-File: {name}" for name in LICENCES),
        "Classifier: Operating System :: POSIX :: Linux", "Classifier: Programming Language :: C",
        *(f"Requires-Dist: {loosened(each)}" for each in project["dependencies"]), "Description-Content-Type: text/markdown", "",
        (ROOT / "packaging/wheel/description.md").read_text(encoding="utf-8"),
    ])


def wheel_facts(tags: list[str]) -> str:
    lines = ["Wheel-Version: 1.0", "Generator: hakmem scripts/wheel.py", "Root-Is-Purelib: false"]
    return "".join(f"{line}\n" for line in [*lines, *(f"Tag: py3-none-{tag}" for tag in tags)])


# ---- the archive ----

def package_files() -> Iterator[tuple[str, bytes]]:
    for file in sorted(PACKAGE.rglob("*")):
        name = file.relative_to(PACKAGE)
        if file.is_file() and file.suffix in (".py", ".html") and name.parts[0] != "lib":
            yield f"hakmem/{name}", file.read_bytes()


def common_files() -> Files:
    """What all wheels have."""
    files = {name: (text, 0o644) for name, text in package_files()}
    top = f"hakmem-{dist.version()}"
    files[f"{top}.data/scripts/hakmem"] = ((PACKAGE.parent / "bin/hakmem").read_bytes(), 0o755)
    files |= {f"{top}.data/data/{name}": ((ROOT / file).read_bytes(), 0o644) for file, name in SHARED.items()}
    files |= {f"{top}.dist-info/licenses/{name}": ((ROOT / name).read_bytes(), 0o644) for name in LICENCES}
    files[f"{top}.dist-info/METADATA"] = (metadata().encode(), 0o644)
    return files


def record(files: Files, name: str) -> bytes:
    rows = []
    for file, (text, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        rows.append(f"{file},sha256={digest},{len(text)}\n")
    return "".join([*rows, f"{name},,\n"]).encode()


def entry(name: str, mode: int, when: int) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name, time.gmtime(max(when, FIRST_DATE))[:6])
    made.external_attr = (0o100000 | mode) << 16
    made.create_system = 3
    made.compress_type = zipfile.ZIP_DEFLATED
    return made


def write(file: Path, files: Files, when: int) -> None:
    """It is there as a whole or not at all."""
    part = file.with_name(file.name + ".part")
    try:
        with zipfile.ZipFile(part, "w") as archive:
            for name, (text, mode) in sorted(files.items(), key=lambda each: (".dist-info/" in each[0], each[0])):
                archive.writestr(entry(name, mode, when), text, compresslevel=9)
        part.rename(file)
    finally:
        part.unlink(missing_ok=True)


def platform(target: Target, binaries: list[Path]) -> tuple[list[str], str]:
    """Tags, and what the package refuses elsewhere by (hakmem/process/places.py)."""
    machine = machine_of(binaries[0])
    if target.musl:
        return [f"musllinux_{target.musl.replace('.', '_')}_{machine}"], f"{machine} musl"
    minor = max(LEAST_GLIBC, *map(glibc_minor, binaries))
    return [f"{name}_{machine}" for name in (f"manylinux_2_{minor}", TOGETHER_WITH.get(minor)) if name], f"{machine} 2.{minor}"


def make(common: Files, target: Target, build: Path, output: Path, when: int) -> Path:
    names = (*LIBRARIES, *target.tools)
    binaries = [*(build / target.libraries / name for name in names), *(build / name for name in PROGRAMS)]
    tags, made_for = platform(target, [built(file) for file in binaries])
    files = common | {f"hakmem/lib/{file.name}": (stripped(built(file), output / "debug"), 0o755) for file in binaries}
    files["hakmem/lib/made-for"] = (f"{made_for}\n".encode(), 0o644)
    info = f"hakmem-{dist.version()}.dist-info"
    files[f"{info}/WHEEL"] = (wheel_facts(tags).encode(), 0o644)
    files[f"{info}/RECORD"] = (record(files, f"{info}/RECORD"), 0o644)
    file = output / f"hakmem-{dist.version()}-py3-none-{'.'.join(tags)}.whl"
    write(file, files, when)
    return file


def main() -> int:
    parser = argparse.ArgumentParser(description="Pack what pip installs.")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", default=ROOT / "build/wheels")
    parser.add_argument("--build", type=Path, metavar="FOLDER")
    presets = list(dict.fromkeys(target.preset for target in TARGETS))
    parser.add_argument("presets", nargs="*", metavar="PRESET", default=["release"], help=", ".join(presets))
    given = parser.parse_args()
    if unknown := set(given.presets) - set(presets):
        parser.error(f"no wheel is made of {', '.join(sorted(unknown))}: {', '.join(presets)}")
    try:
        given.output.mkdir(parents=True, exist_ok=True)
        common, when = common_files(), dist.date(dist.names())
        for target in (target for target in TARGETS if target.preset in given.presets):
            file = make(common, target, given.build or ROOT / "build" / target.preset, given.output, when)
            print(f"wheel: {file}: {file.stat().st_size / 1024:,.0f} KiB")
    except (OSError, dist.CannotPack, subprocess.CalledProcessError) as failure:
        print(f"wheel: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
