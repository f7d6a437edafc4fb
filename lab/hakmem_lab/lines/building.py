# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tool lines and the program turns, built in a folder of their own when their source is newer.

The built tool holds parts of valgrind and is under its licence; it is in no package.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.places import candidate_roots

SOURCE = Path("lab") / "lines"
FOLDER = Path("build") / "lines"
VALGRIND = Path("/usr/libexec/valgrind")  # what valgrind starts
ARCHIVES = Path("/usr/lib/x86_64-linux-gnu/valgrind")
HEADERS = Path("/usr/include/valgrind")
TOOL = "lines-amd64-linux"
LIBRARIES = tuple(f"lib{name}-amd64-linux.a" for name in ("coregrind", "vex", "gcc-sup"))
PLATFORM = ("-DVGA_amd64=1", "-DVGO_linux=1", "-DVGP_amd64_linux=1", "-DVGPV_amd64_linux_vanilla=1")
PLAIN = ("-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter")
BARE = ("-m64", "-fno-stack-protector", "-fno-strict-aliasing", "-fno-builtin", "-fomit-frame-pointer")
ALONE = ("-static", "-nodefaultlibs", "-nostartfiles", "-u", "_start", "-Wl,--build-id=none",
         "-Wl,-Ttext-segment=0x58000000")


@dataclass(frozen=True)
class Built:
    folder: Path  # VALGRIND_LIB
    program: Path


def built() -> Built:
    root = next((root for root in candidate_roots() if (root / SOURCE).is_dir()), None)
    if root is None:
        raise Refusal(f"{SOURCE} is missing: run this inside the checkout of HAKMEM")
    for path in (VALGRIND, HEADERS / "pub_tool_basics.h", ARCHIVES / LIBRARIES[0]):
        if not path.exists():
            raise Refusal(f"{path} is missing (apt-get install valgrind)")
    source, folder = root / SOURCE, root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    tool, program = folder / TOOL, folder / "turns"
    if is_older(tool, source):
        archives = [str(ARCHIVES / name) for name in LIBRARIES]
        compile_with(*PLAIN, *BARE, *PLATFORM, f"-I{HEADERS}", *ALONE, "-o", str(tool), str(source / "lines.c"), *archives,
                     "-lgcc")
    if is_older(program, source):
        compile_with(*PLAIN, "-o", str(program), str(source / "turns.c"), "-lpthread")
    for part in VALGRIND.iterdir():
        link = folder / part.name
        if not link.exists():
            link.symlink_to(part)
    return Built(folder, program)


def is_older(target: Path, source: Path) -> bool:
    newest = max(file.stat().st_mtime for file in source.iterdir())
    return not target.exists() or target.stat().st_mtime < newest


def compile_with(*words: str) -> None:
    done = subprocess.run(["gcc", *words], capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise Refusal(f"gcc: {lines[0] if lines else done.returncode}")
