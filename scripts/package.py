#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packages for Debian and by RPM, out of the source archive of scripts/dist.py.

    build/venv/bin/python scripts/package.py deb      build/deb/*.deb, their sources, and what lintian says of them
    build/venv/bin/python scripts/package.py rpm      build/rpm/RPMS/*/*.rpm, build/rpm/SRPMS/*.rpm

Sources are hakmem-VERSION.tar.gz as `make dist` makes it; for Debian, packaging/debian is laid into it as debian/.

Both are built elsewhere too, by dpkg-buildpackage or rpmbuild alone, from the source packages made here.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import dist

ROOT = Path(__file__).resolve().parent.parent
NEEDS = {"deb": ("dpkg-buildpackage", "dh", "dh_python3", "lintian"), "rpm": ("rpmbuild",)}
COMES_WITH = {"deb": "debhelper dh-python dpkg-dev lintian fakeroot", "rpm": "rpm"}


class CannotBuild(Exception):
    """Why there is no package."""


def say(text: str) -> None:
    print(f"package: {text}", flush=True)


def call(*words: str | Path, cwd: Path, log: Path, **variables: str) -> None:
    """Its output goes to the log, and is shown when it fails."""
    with log.open("a") as out:
        done = subprocess.run([str(word) for word in words], cwd=cwd, env=os.environ | variables,
                              stdout=out, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-30:])
        raise CannotBuild(f"{words[0]} failed (all of it: {log})\n{tail}")


def empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


# ---- Debian ----

def debian_tree(out: Path) -> Path:
    """The unpacked archive with debian/ in it, beside the archive under the name that Debian wants."""
    top = out / f"hakmem-{dist.version()}"
    orig = out / f"hakmem_{dist.version()}.orig.tar.gz"
    dist.pack(orig)
    with tarfile.open(orig) as archive:
        archive.extractall(out)
    shutil.copytree(ROOT / "packaging/debian", top / "debian")
    return top


def check_by_lintian(out: Path) -> None:
    """Errors and warnings end it; one that is overridden has its reason beside it in packaging/debian, and is counted."""
    (changes,) = out.glob("*.changes")
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "none", "--info", "--show-overrides", changes],
                          capture_output=True, text=True, check=False)
    (out / "lintian.log").write_text(done.stdout + done.stderr)
    if done.returncode != 0 or re.search("^[EW]: ", done.stdout, re.MULTILINE):
        raise CannotBuild(f"lintian:\n{done.stdout}{done.stderr}")
    say(f"lintian: no error, no warning, {len(re.findall('^O: ', done.stdout, re.MULTILINE))} overridden (build/deb/lintian.log)")


def make_deb() -> None:
    out = empty(ROOT / "build/deb")
    top = debian_tree(out)
    call("dpkg-buildpackage", "-us", "-uc", "-j2", cwd=top, log=out / "build.log")
    check_by_lintian(out)
    for file in sorted(out.glob("*.deb")):
        say(f"build/deb/{file.name}: {file.stat().st_size / 1024:,.0f} KiB")


# ---- RPM ----

def make_rpm() -> None:
    out = empty(ROOT / "build/rpm")
    sources = out / "SOURCES"
    sources.mkdir()
    dist.pack(sources / f"hakmem-{dist.version()}.tar.gz")
    call("rpmbuild", "-ba", "--define", f"_topdir {out}", "--define", f"hak_version {dist.version()}",
         ROOT / "packaging/rpm/hakmem.spec", cwd=out, log=out / "build.log")
    for file in sorted(out.rglob("*.rpm")):
        say(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1024:,.0f} KiB")


def refuse_without_tools(kind: str) -> None:
    missing = [name for name in NEEDS[kind] if not shutil.which(name)]
    if missing:
        raise CannotBuild(f"{', '.join(missing)} not found: apt-get install --no-install-recommends {COMES_WITH[kind]}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Make packages for Debian and by RPM.")
    parser.add_argument("kind", choices=sorted(NEEDS))
    kind = parser.parse_args().kind
    try:
        refuse_without_tools(kind)
        {"deb": make_deb, "rpm": make_rpm}[kind]()
    except (OSError, dist.CannotPack, CannotBuild) as failure:
        print(f"package: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
