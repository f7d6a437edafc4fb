# SPDX-License-Identifier: MIT OR Apache-2.0
"""sources: what suites are made from: Debian's source packages, and its binary packages without an installation.

failure   Refusal, with the end of the log, if the mirror has no such package or a compiler fails.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from hakmem.base.errors import Refusal

SUITES = Path(__file__).resolve().parents[1]
SCRIPT = SUITES.parent / "debian_sources.sh"


def logged(command: list[str], cwd: Path, log: Path, what: str) -> None:
    """Runs a command with its output in the log."""
    with log.open("a", encoding="utf-8") as file:
        ended = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False)
    if ended.returncode:
        last = log.read_text(errors="replace").splitlines()[-3:]
        raise Refusal(f"{what} (see {log}): {' / '.join(last)}")


def fetched(name: str, folder: Path) -> Path:
    """The unpacked source of a Debian package, below build/suites/sources."""
    place = folder.parent / "sources"
    place.mkdir(parents=True, exist_ok=True)
    logged(["bash", "-c", f'set -e; . "$0"; fetch {name}', str(SCRIPT)], place, place / "log", f"no source of {name}")
    return place / name


def installed(package: str) -> str:
    """Its version; "" if it is not installed."""
    asked = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=False)
    return asked.stdout if asked.returncode == 0 else ""


def unpacked(packages: list[str], beside: str, folder: Path) -> Path:
    """The files of binary packages, of the version of `beside`, which is installed; in folder/root."""
    root = folder / "root"
    if not root.is_dir():
        for package in packages:
            exact = f"{package}={installed(beside)}"
            logged(["apt-get", "-qq", "download", exact], folder, folder / "log", f"no package {exact}")
        for file in folder.glob("*.deb"):
            logged(["dpkg", "-x", str(file), str(root)], folder, folder / "log", f"{file.name} cannot be unpacked")
    return root


def compiled(command: list[str], target: Path, folder: Path) -> Path:
    """A program or library, made once."""
    if not target.exists():
        logged([*command, "-o", str(target)], folder, folder / "log", f"{target.name} does not compile")
    return target
