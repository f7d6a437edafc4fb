# SPDX-License-Identifier: MIT OR Apache-2.0
"""packages: which Debian packages a case needs, whether they are here, and in which version.

what      Reads the lists in scripts/ (a line is `case: package ...`, or packages alone) and asks dpkg-query.
failure   Where there is no dpkg nothing is missing, and versions are unknown: the case itself shows what is not there.
not here  Installing (scripts/setup.sh).
"""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
LISTS = ("packages.txt", "programs.txt")


def parse_list(text: str) -> dict[str, list[str]]:
    """The packages of each case that the list names."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {case.strip(): packages.split() for case, packages in pairs}


@functools.cache
def wanted_packages() -> dict[str, list[str]]:
    """Those of every case."""
    return {case: packages for name in LISTS for case, packages in parse_list((SCRIPTS / name).read_text()).items()}


@functools.cache
def installed(package: str) -> str | None:
    """The version of an installed package; "" without dpkg."""
    try:
        answer = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", package],
                                capture_output=True, text=True)
    except OSError:
        return ""
    status, _, version = answer.stdout.partition(" ")
    return version if status == "installed" else None


def missing_packages(case: str) -> list[str]:
    """What has to be installed before the case can run."""
    return [package for package in wanted_packages().get(case, []) if installed(package) is None]


def version(case: str) -> str:
    """The first package of a case and its version, without the epoch."""
    packages = wanted_packages().get(case, [])
    found = installed(packages[0]) if packages else None
    return f"{packages[0]} {found.rpartition(':')[2]}" if found else "unknown"
