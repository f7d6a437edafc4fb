# SPDX-License-Identifier: MIT OR Apache-2.0
"""PostgreSQL: its regression tests, from Debian's source, on a cluster of Debian's server made for them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from judging.side import USER, Ran, Side
from judging.sources import compiled, fetched, unpacked
from judging.verdicts import Verdicts

TITLE = "PostgreSQL"
PACKAGE = "postgresql-15"
PART = "the parallel schedule, whole"
HOME = Path("/usr/lib/postgresql/15")
MODULES = {"regress": "src/test/regress", "refint": "contrib/spi", "autoinc": "contrib/spi"}
LINE = re.compile(r"^(?:test| ) *(\S+) +\.\.\. (ok|FAILED|failed)", re.MULTILINE)


def prepare(folder: Path) -> None:
    """The tests' modules of C, by the headers of the package for developers."""
    source = fetched("postgresql-15", folder)
    headers = unpacked(["postgresql-server-dev-15", "libpq-dev"], PACKAGE, folder) / "usr/include/postgresql"
    flags = ["-O1", "-w", "-shared", "-fPIC", f"-I{headers / '15/server'}", f"-I{headers}"]
    for name, where in MODULES.items():
        compiled(["cc", *flags, str(source / where / f"{name}.c")], folder / f"{name}.so", folder)


def units(folder: Path) -> list[str]:
    return ["parallel_schedule"]


def run(side: Side, folder: Path, unit: str) -> Verdicts:
    """The server refuses to run as root; the suite writes beside its inputs."""
    place = side.folder / "tmp" / "regress"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder.parent / "sources" / "postgresql-15" / "src/test/regress", place)
    for name in MODULES:
        shutil.copy(folder / f"{name}.so", place)
    for path in (place, *place.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    ran = side.run(str(HOME / "lib/pgxs/src/test/regress/pg_regress"), f"--bindir={HOME / 'bin'}", f"--inputdir={place}",
                   f"--outputdir={place}", f"--dlpath={place}", f"--temp-instance={place / 'instance'}", "--max-concurrent-tests=20",
                   "--no-locale", "--encoding=UTF8", f"--schedule={place / unit}", cwd=place, user=USER)
    return verdicts_of(unit, ran)


def verdicts_of(unit: str, ran: Ran) -> Verdicts:
    verdicts: Verdicts = {(unit, "the run"): ran.ending()}
    return verdicts | {(unit, name): word.lower() for name, word in LINE.findall(ran.text)}
