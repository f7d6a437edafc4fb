# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where the built library and the tools are: beside this package, as a wheel brings them, or in a checkout's build."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hakmem.base.errors import Refusal

LIBRARY = "libhakmem.so"
SECURE_LIBRARY = "libhakmem-secure.so"  # of the same sources, with checks around each block (docs/security.md)
BUILD_FOLDER = Path("build") / "release"
MUSL_FOLDER = "musl"
WHEEL_FOLDER = Path(__file__).parents[1] / "lib"
MADE_FOR = WHEEL_FOLDER / "made-for"  # "x86_64 2.17": machine, and the oldest glibc; "x86_64 musl"
MUSL = "musl"
PATH_MOST = 255  # bytes of a path that is the value of a setting


class Places(NamedTuple):
    """The allocator under test and the tools that run and watch programs."""

    so_file: Path
    launcher: Path
    counting_probe: Path
    identity_probe: Path


def find_places(build: Path | None, library: Path | None, secure: bool = False) -> Places:
    """`build` holds the tools, and the library too unless another one is given."""
    folder = find_folder(build)
    return Places(
        so_file=find_library(build, library, secure),
        launcher=existing(folder / "hak_launcher"),
        counting_probe=existing(folder / "libhakprobe.so"),
        identity_probe=existing(folder / "libhakident.so"),
    )


def find_folder(build: Path | None) -> Path:
    return Path(os.path.realpath(build or default_build()))


def find_tool(build: Path | None, name: str) -> Path:
    return existing(find_folder(build) / name)


def library_name(library: Path | None, secure: bool) -> str:
    """Of the file that is looked for in the folder; a file that was named is itself of one flavour."""
    if library and secure:
        raise Refusal("--secure or --library, one of them: --library names the file itself")
    return SECURE_LIBRARY if secure else LIBRARY


def name_of(library: Path) -> str:
    """libhakmem.so also of libhakmem.so.0.1.0, which a link may stand for."""
    stem, so, _ = library.name.partition(".so")
    return stem + so


def find_library(build: Path | None, library: Path | None, secure: bool = False) -> Path:
    name = library_name(library, secure)
    return named_library(library) if library else existing(find_folder(build) / name)


def find_musl_library(build: Path | None, program: str, name: str = LIBRARY) -> Path:
    """Where the folder's own is for glibc. Built by the preset musl: in a folder of that name in or beside the folder."""
    folder = find_folder(build)
    for place in (folder / MUSL_FOLDER / name, folder.parent / MUSL_FOLDER / name):
        if place.is_file():
            return Path(os.path.realpath(place))
    missing = f"no {MUSL_FOLDER}/{name} in or beside {folder}"
    where = "the wheel for musllinux has one" if folder == Path(os.path.realpath(WHEEL_FOLDER)) else "build it with `make musl`"
    raise Refusal(f"{program} is linked with musl, and there is {missing}: {where}, or name it with --library")


def named_library(library: Path) -> Path:
    try:
        if not stat.S_ISREG(library.stat().st_mode):
            raise Refusal(f"--library {library}: not a regular file")
        library.open("rb").close()
    except OSError as failure:
        raise Refusal(f"--library {library}: {(failure.strerror or str(failure)).lower()}") from None
    return Path(os.path.realpath(library))


def default_build() -> Path:
    """The wheel's folder; build/release of the checkout this package lies in, or of the one that holds the working folder."""
    if (WHEEL_FOLDER / LIBRARY).is_file():
        refuse_unless_made_for_here()
        return WHEEL_FOLDER
    for root in candidate_roots():
        if (root / BUILD_FOLDER / LIBRARY).is_file():
            return root / BUILD_FOLDER
    raise Refusal(f"no {BUILD_FOLDER / LIBRARY} found: build it with `make`, or name its folder with --build")


# ---- a wheel on a system that it is not for: pip would have refused, whoever unpacks it by hand is told here ----

def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def glibc_version() -> str | None:
    """None: another libc."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (ValueError, OSError):
        return None
    return version if name == "glibc" else None


def refuse_unless_made_for_here() -> None:
    machine, oldest = MADE_FOR.read_text(encoding="ascii").split()
    here, glibc = os.uname().machine, glibc_version()
    if here != machine:
        raise Refusal(f"this package of HAKMEM is for {machine}, and this machine is {here}: build it from source")
    if oldest == MUSL and glibc is not None:
        raise Refusal(f"this package of HAKMEM is for musl, and this system has glibc {glibc}: pip brings one for it")
    if oldest == MUSL:
        return
    if glibc is None:
        raise Refusal(f"this package of HAKMEM needs glibc {oldest}, and this system has another libc (musl?)")
    if numbers(glibc) < numbers(oldest):
        raise Refusal(f"this package of HAKMEM needs glibc {oldest}, and this system has {glibc}: pip brings one for it")


def candidate_roots() -> Iterator[Path]:
    yield from Path(__file__).resolve().parents
    yield Path.cwd()
    yield from Path.cwd().parents


def existing(path: Path) -> Path:
    if not path.is_file():
        inside = path.parent == WHEEL_FOLDER
        why = "is not in the installed package: build HAKMEM from source" if inside else "is missing: build it with `make`"
        raise Refusal(f"{path.name if inside else path} {why}, or name the build folder with --build")
    return path
