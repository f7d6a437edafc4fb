#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packages for Debian and by RPM, out of the source archive of scripts/dist.py.

    build/venv/bin/python scripts/package.py deb                 build/deb/*.deb, their sources, and what lintian says of them
    build/venv/bin/python scripts/package.py deb --arch arm64    build/deb-arm64/*.deb, by a cross compiler, and the same
    build/venv/bin/python scripts/package.py rpm                 build/rpm/RPMS/*/*.rpm, build/rpm/SRPMS/*.rpm

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
# What both are built for: Debian's name, and the kernel's
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


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


# ---- other machines ----

def own_arch() -> str:
    cpu = os.uname().machine
    return next((arch for arch, its in ARCHITECTURES.items() if its == cpu), cpu)


def is_foreign(arch: str) -> bool:
    return arch != own_arch()


def folder_of(kind: str, arch: str) -> Path:
    """A cross build's is a folder of its own beside this machine's."""
    return ROOT / "build" / (f"{kind}-{arch}" if is_foreign(arch) else kind)


def compilers(arch: str) -> tuple[str, str]:
    """Of a cross build; its packages have the libc as well."""
    triple = f"{ARCHITECTURES[arch]}-linux-gnu"
    return f"{triple}-gcc", f"{triple}-g++"


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
    log = out / "lintian.log"
    log.write_text(done.stdout + done.stderr)
    if done.returncode != 0 or re.search("^[EW]: ", done.stdout, re.MULTILINE):
        raise CannotBuild(f"lintian:\n{done.stdout}{done.stderr}")
    overridden = len(re.findall("^O: ", done.stdout, re.MULTILINE))
    say(f"lintian: no error, no warning, {overridden} overridden ({log.relative_to(ROOT)})")


def make_deb(arch: str) -> None:
    out = empty(folder_of("deb", arch))
    top = debian_tree(out)
    how, options = ["-us", "-uc", "-j2"], os.environ.get("DEB_BUILD_OPTIONS", "")
    if is_foreign(arch):
        how, options = [*how, "-b", f"-a{arch}", "-Pcross,nocheck"], f"{options} nocheck"
    call("dpkg-buildpackage", *how, cwd=top, log=out / "build.log", DEB_BUILD_OPTIONS=options.strip())
    check_by_lintian(out)
    for file in sorted(out.glob("*.deb")):
        say(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1024:,.0f} KiB")


# ---- RPM ----

def cross_macros(arch: str) -> dict[str, str]:
    """The spec's own one, and the strip by which rpmbuild looks for debug information."""
    cpu = ARCHITECTURES[arch]
    return {"hak_toolchain": f"cmake/{cpu}-linux-gnu.cmake", "__strip": f"{cpu}-linux-gnu-strip"}


def make_rpm(arch: str) -> None:
    out = empty(folder_of("rpm", arch))
    sources = out / "SOURCES"
    sources.mkdir()
    dist.pack(sources / f"hakmem-{dist.version()}.tar.gz")
    macros = {"_topdir": str(out), "hak_version": dist.version()}
    kind, target = "-ba", []
    if is_foreign(arch):
        kind, target, macros = "-bb", ["--target", f"{ARCHITECTURES[arch]}-linux"], macros | cross_macros(arch)
    defined = [word for name, value in macros.items() for word in ("--define", f"{name} {value}")]
    call("rpmbuild", kind, *target, *defined, ROOT / "packaging/rpm/hakmem.spec", cwd=out, log=out / "build.log")
    for file in sorted(out.rglob("*.rpm")):
        say(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1024:,.0f} KiB")


def refuse_without_tools(kind: str, arch: str) -> None:
    needs, packages = NEEDS[kind], COMES_WITH[kind]
    if is_foreign(arch):
        needs, packages = (*needs, *compilers(arch)), f"{packages} crossbuild-essential-{arch}"
    missing = [name for name in needs if not shutil.which(name)]
    if missing:
        raise CannotBuild(f"{', '.join(missing)} not found: apt-get install --no-install-recommends {packages}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Make packages for Debian and by RPM.")
    parser.add_argument("kind", choices=sorted(NEEDS))
    parser.add_argument("--arch", choices=sorted(ARCHITECTURES), default=own_arch(), help="another one than this machine's: "
                        "by a cross compiler (default: %(default)s)")
    order = parser.parse_args()
    try:
        refuse_without_tools(order.kind, order.arch)
        {"deb": make_deb, "rpm": make_rpm}[order.kind](order.arch)
    except (OSError, dist.CannotPack, CannotBuild) as failure:
        print(f"package: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
