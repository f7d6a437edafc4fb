# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where the built library and the tools are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hakmem.errors import Refusal

LIBRARY = "libhakmem.so"
BUILD_FOLDER = Path("build") / "release"


class Places(NamedTuple):
    """The allocator under test and the tools that run and watch programs."""

    so_file: Path
    launcher: Path
    counting_probe: Path
    identity_probe: Path


def find_places(build: Path | None, library: Path | None) -> Places:
    """`build` holds the tools, and the library too unless another one is given."""
    folder = find_folder(build)
    return Places(
        so_file=find_library(build, library),
        launcher=existing(folder / "hak_launcher"),
        counting_probe=existing(folder / "libhakprobe.so"),
        identity_probe=existing(folder / "libhakident.so"),
    )


def find_folder(build: Path | None) -> Path:
    return Path(os.path.realpath(build or default_build()))


def find_tool(build: Path | None, name: str) -> Path:
    return existing(find_folder(build) / name)


def find_library(build: Path | None, library: Path | None) -> Path:
    return named_library(library) if library else existing(find_folder(build) / LIBRARY)


def named_library(library: Path) -> Path:
    try:
        library.open("rb").close()
    except OSError as failure:
        raise Refusal(f"--library {library}: {(failure.strerror or str(failure)).lower()}") from None
    return Path(os.path.realpath(library))


def default_build() -> Path:
    """build/release of the checkout this package lies in, else of the one that holds the working folder."""
    for root in candidate_roots():
        if (root / BUILD_FOLDER / LIBRARY).is_file():
            return root / BUILD_FOLDER
    raise Refusal(f"no {BUILD_FOLDER / LIBRARY} found: build it with `make`, or name its folder with --build")


def candidate_roots() -> Iterator[Path]:
    yield from Path(__file__).resolve().parents
    yield Path.cwd()
    yield from Path.cwd().parents


def existing(path: Path) -> Path:
    if not path.is_file():
        raise Refusal(f"{path} is missing: build it with `make`, or name the build folder with --build")
    return path
