# SPDX-License-Identifier: MIT OR Apache-2.0
"""The allocators that are measured: where their libraries are, which version, and whether they really served."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.executable import ELF_MAGIC, first_bytes
from hakmem.process.places import candidate_roots
from hakmem.process.preload import preload_value

HAKMEM = "hakmem"
GLIBC = "glibc"
TRIPLET = f"{os.uname().machine}-linux-gnu"
LIBRARY_FOLDERS = (f"/usr/lib/{TRIPLET}", f"/lib/{TRIPLET}", "/usr/lib64", "/usr/lib", "/usr/local/lib")

# Debian's packages: name, file, package. tbbmalloc's file hands the calls on to libtbbmalloc.so.2 of the same package.
DEBIAN = (
    ("mimalloc", "libmimalloc.so.2", "libmimalloc2.0"),  # where there is none from PyPI
    ("jemalloc", "libjemalloc.so.2", "libjemalloc2"),
    ("tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    ("tbbmalloc", "libtbbmalloc_proxy.so.2", "libtbbmalloc2"),
)
# From PyPI, installed with this command: name, file, distribution.
PYPI = (("mimalloc", "libmimalloc.so", "cmeel-mimalloc"),)
# Built by `make peers`: libNAME.so, and libNAME.version, which names the version of its crate.
BUILT = ("snmalloc", "rpmalloc", "google-tcmalloc")
BUILT_FOLDER = Path("build") / "peers"

# Variables that steer one of the allocators: they stay as the caller set them, and the report names them.
STEERING = re.compile(r"HAKMEM_|MALLOC_|MIMALLOC_|TCMALLOC_|TBB_MALLOC_|GLIBC_TUNABLES$|MALLOC_CONF$")
HASH_DIGITS = 16
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
FINGERPRINT_DIGITS = 8


@dataclass(frozen=True)
class Allocator:
    """One column: `so_file` is preloaded; None is glibc, with nothing preloaded.

    `version` is for display; `sha256` (its first digits) says exactly which file it was, libc.so.6 itself for glibc.
    """

    name: str
    so_file: Path | None
    version: str
    sha256: str = ""

    @property
    def preload(self) -> str:
        return preload_value([self.so_file], []) if self.so_file else ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


# ---- finding them ----

def find_allocators(hakmem: Path | None, extra: Iterable[str]) -> tuple[list[Allocator], list[str]]:
    """What is there, HAKMEM first, and one reason for each that is missing. The first of a name is taken."""
    found: dict[str, Allocator] = {}
    missing: dict[str, str] = {}
    for allocator in (hakmem_at(hakmem), glibc(), *pypi_peers(), *debian_peers(), *built_peers()):
        if isinstance(allocator, str):
            missing.setdefault(allocator.split()[0], allocator)
        else:
            found.setdefault(allocator.name, allocator)
    return with_peers([*found.values()], extra), [why for name, why in missing.items() if name not in found]


def with_peers(found: list[Allocator], extra: Iterable[str]) -> list[Allocator]:
    """A name is a column: figures of two libraries must not meet in one."""
    for text in extra:
        peer = named_peer(text)
        if any(one.name == peer.name for one in found):
            raise Refusal(f"--peer {text}: there is a {peer.name} already; give it another name")
        found = [*found, peer]
    return found


def hakmem_at(library: Path | None) -> Allocator | str:
    if library is None or not library.is_file():
        return f"{HAKMEM} (build it with `make`)"
    return at_file(HAKMEM, library)


def at_file(name: str, library: Path, version: str = "") -> Allocator:
    """Without a version of its own a library goes by its hash."""
    digits = hash_of(library)
    return Allocator(name, library.resolve(), version or digits[:FINGERPRINT_DIGITS], digits)


def glibc() -> Allocator:
    text = os.confstr("CS_GNU_LIBC_VERSION") or "unknown"
    library = installed_library("libc.so.6")
    return Allocator(GLIBC, None, text.removeprefix("glibc "), hash_of(library) if library else "")


def pypi_peers() -> Iterator[Allocator | str]:
    for name, file, distribution in PYPI:
        library = distribution_file(distribution, file)
        if library:
            yield at_file(name, library, metadata.version(distribution))
        else:
            yield f"{name} (pip install {distribution})"


def distribution_file(distribution: str, name: str) -> Path | None:
    try:
        files = metadata.files(distribution) or []
    except metadata.PackageNotFoundError:
        return None
    found = (Path(str(file.locate())) for file in files if file.name == name)
    return next((path.resolve() for path in found if path.is_file()), None)


def debian_peers() -> Iterator[Allocator | str]:
    for name, file, package in DEBIAN:
        library = installed_library(file)
        if library:
            yield at_file(name, library, debian_version(package))
        else:
            yield f"{name} (apt-get install {package})"


def built_peers() -> Iterator[Allocator | str]:
    for name in BUILT:
        files = (root / BUILT_FOLDER / f"lib{name}.so" for root in candidate_roots())
        library = next((path for path in files if path.is_file()), None)
        if library:
            yield at_file(name, library, noted_version(library))
        else:
            yield f"{name} (make peers)"


def noted_version(library: Path) -> str:
    try:
        return library.with_suffix(".version").read_text().strip()
    except OSError:
        return ""


def installed_library(file: str) -> Path | None:
    """The file that the dynamic linker takes for this name."""
    folders = (Path(folder) / file for folder in LIBRARY_FOLDERS)
    return linker_cache().get(file) or next((path for path in folders if path.is_file()), None)


@cache
def linker_cache() -> dict[str, Path]:
    """Library name -> file, as the dynamic linker finds it (64-bit)."""
    try:
        listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, errors="surrogateescape", check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return {}
    lines = re.findall(r"^\s*(\S+) \(libc6,(?:x86-64|AArch64).*\) => (\S+)$", listing, re.MULTILINE)
    return {name: Path(path) for name, path in lines if os.path.isfile(path)}


def debian_version(package: str) -> str:
    command = ["dpkg-query", "-W", "-f=${Version}", package]
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "of unknown version"


def named_peer(text: str) -> Allocator:
    """--peer NAME=FILE."""
    name, _, path = text.partition("=")
    if not NAME.fullmatch(name) or not os.path.isfile(path) or first_bytes(Path(path), len(ELF_MAGIC)) != ELF_MAGIC:
        raise Refusal(f"--peer {text}: expected NAME=FILE with a library that exists and a name of letters, digits, . _ + -")
    return at_file(name, Path(path))


def hash_of(library: Path) -> str:
    return sha256(library.read_bytes()).hexdigest()[:HASH_DIGITS]


def rebuilt_meanwhile(allocators: Iterable[Allocator]) -> list[str]:
    """Those whose file is gone or no longer the one that was found."""
    return [a.name for a in allocators if a.so_file and not (a.so_file.is_file() and hash_of(a.so_file) == a.sha256)]


def chosen(allocators: list[Allocator], names: str | None, given: Sequence[str] = ()) -> list[Allocator]:
    """--allocators a,b: those, and the libraries of --peer NAME=FILE, in the order they were found in."""
    if names is None:
        return allocators
    wanted = [name.strip() for name in names.split(",")] + [text.partition("=")[0] for text in given]
    unknown = [name for name in wanted if name not in {one.name for one in allocators}]
    if unknown:
        there = ", ".join(one.name for one in allocators)
        raise Refusal(f"--allocators {', '.join(unknown)}: not among those found ({there})")
    return [one for one in allocators if one.name in wanted]


def steering_variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if STEERING.match(name)}


# ---- whether they served ----

def who_served_instead(allocator: Allocator, proof: Mapping[str, str]) -> str | None:
    """None when the process that printed `proof` was served by `allocator`, else who or what did it."""
    malloc, free = proof.get("malloc", "nothing"), proof.get("free", "nothing")
    if malloc != free:
        return f"{malloc} (malloc) and {free} (free)"
    if not is_file_of(allocator, malloc):
        return malloc
    if allocator.so_file and proof.get("glibc_served") != "no":
        return f"glibc: {malloc} hands the calls on"
    if allocator.so_file is None and proof.get("glibc_served") != "yes":
        return "something that is not glibc's heap"
    if allocator.name == HAKMEM and proof.get("hak_owns") != "yes":
        return f"{malloc}, which is no HAKMEM (hak_owns: {proof.get('hak_owns', 'absent')})"
    return None


def is_file_of(allocator: Allocator, path: str) -> bool:
    if allocator.so_file is None:
        return os.path.basename(path) == "libc.so.6"
    return os.path.realpath(path) == os.path.realpath(allocator.so_file)
