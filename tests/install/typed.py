#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Types the install table of docs/guide/install.md: typed.py [WORD...], the rows whose first column has such a word.

Each row in a fresh copy of an empty root of Debian 12, with the packages that its second column wants. What stands in the
last two columns is typed there as it is, or written into a project where it is no shell's line; `program` is one that
says who served its malloc, by hak_owns. What the row would get from elsewhere lies in the folder or is pointed to:

    /sources/program.c, hakmem/, hakmem-VERSION.tar.gz   the sources, from `make dist`
    /wheels, /repository                                 for pip and apt, from `make wheel` and `make deb`
    /root/registries.crt                                 what this system trusts, for pip and cargo
    /root/.cargo, /root/.rustup                          this system's, where it has them by rustup: Debian 12's is too old

`make install-table`; not in CI, as it takes minutes. tests/debian_root.sh makes the root.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "build/roots/bookworm"
COPY = ROOT / "build/roots/bookworm-typed"
PROVEN = "served by HAKMEM"
ELSEWHERE = {"rpm"}  # make rpm-root
ENVIRONMENT = "python3 -m venv /v && . /v/bin/activate"
REGISTRIES = "export PIP_FIND_LINKS=/wheels PIP_CERT=/root/registries.crt CARGO_HTTP_CAINFO=/root/registries.crt\n"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
MINE_IN_C = """#define MALLOC_IS_HAKMEM 1
#define main check
#include "consumer.c"
#undef main
int main(void) { return check() != 0 || puts("served by HAKMEM") < 0; }
"""
MINE_IN_RUST = """
fn main() {
    let block = Box::new([0u8; 99]);
    assert!(hakmem::owns(block.as_ptr()));
    println!("served by HAKMEM");
}
"""
CMAKE = "cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES C)\nadd_executable(program program.c)\n"


class Row(NamedTuple):
    by: str
    wants: list[str]
    lines: list[str]
    then: list[str]


def rows() -> list[Row]:
    section = (ROOT / "docs/guide/install.md").read_text(encoding="utf-8").partition("\n## Ways\n")[2].partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line] for line in lines]
    spans = [[row[0], *(re.findall(r"`([^`]+)`", cell) for cell in row[1:])] for row in cells[1:]]
    return [Row(*each) for each in spans]


# ---- what a row needs in its folder ----

def wrap() -> str:
    page = (ROOT / "docs/guide/build-systems.md").read_text(encoding="utf-8")
    return re.sub("^    ", "", page[page.index("    [wrap-file]"):].partition("\n\nThe ")[0], flags=re.MULTILINE)


def is_shell(line: str) -> bool:
    return line.split()[0] in ("pip", "apt", "make", "conan", "cargo")


def project_files(row: Row) -> dict[str, str]:
    """With the row's lines that are no shell's."""
    lines = "\n".join(line for line in row.lines if not is_shell(line))
    if row.by.startswith("CMake"):
        return {"CMakeLists.txt": CMAKE + lines}
    if row.by == "Meson":
        build = f"project('mine', 'c')\nexecutable('program', 'program.c', dependencies: {lines})\n"
        return {"meson.build": build, "subprojects/hakmem.wrap": wrap()}
    if row.by == "Conan":
        return {"CMakeLists.txt": CMAKE + "\n".join(installed_by_cmake().lines)}
    if row.by == "Cargo":
        return {"/project/main.rs": lines + MINE_IN_RUST}
    return {}


def installed_by_cmake() -> Row:
    return next(row for row in rows() if row.by.startswith("CMake, where"))


def before(row: Row) -> list[str]:
    """What a user has done already: an active environment of Python, an installation, a crate of their own."""
    if row.by in ("pip", "Conan"):
        return [ENVIRONMENT]
    if row.by.startswith("CMake, where"):
        return ["apt-get -qq -y install --no-install-recommends make", "(cd hakmem && make install PREFIX=/usr/local)"]
    if row.by == "Cargo":
        return [". /root/.cargo/env", "cargo init --quiet --name mine --vcs none .", "cp /project/main.rs src/"]
    return ["cd hakmem"] if row.by == "the sources" else []


def typed(row: Row) -> str:
    wanted = [f"apt-get -qq -y install --no-install-recommends {' '.join(row.wants)}"] if row.wants else []
    shell = [line.replace("apt install", "apt -qq -y install") for line in row.lines if is_shell(line)]
    steps = ["set -eu", "apt-get -qq update", *wanted, "cd /sources", *before(row), "set -x", *shell, *row.then]
    return "\n".join([*steps, ""])


# ---- the root ----

def one_of(pattern: str) -> Path:
    found = sorted(ROOT.glob(pattern))
    if not found:
        sys.exit(f"typed.py: there is no {pattern}: `make install-table` makes it")
    return found[-1]


def copy_all(pattern: str, folder: Path) -> Path:
    folder.mkdir()
    for file in one_of(pattern).parent.glob(Path(pattern).name):
        shutil.copy(file, folder)
    return folder


def lay_sources(work: Path) -> None:
    archive = one_of("build/hakmem-*.tar.gz")
    shutil.copy(archive, work)
    (work / "subprojects/packagefiles").mkdir(parents=True)
    shutil.copy(archive, work / "subprojects/packagefiles")
    subprocess.run(["tar", "-xf", archive, "-C", work], check=True)
    (work / archive.name.removesuffix(".tar.gz")).rename(work / "hakmem")
    shutil.copy(ROOT / "tests/consumer/project/consumer.c", work)
    (work / "program.c").write_text(MINE_IN_C)


def lay_packages() -> None:
    copy_all("build/wheels/*.whl", COPY / "wheels")
    repository = copy_all("build/deb/*.deb", COPY / "repository")
    with (repository / "Packages").open("w") as index:
        subprocess.run(["dpkg-scanpackages", "--multiversion", "."], cwd=repository, stdout=index, stderr=subprocess.DEVNULL,
                       check=True)
    (COPY / "etc/apt/sources.list.d/hakmem.list").write_text("deb [trusted=yes] file:/repository ./\n")


def lay(row: Row) -> None:
    work, program = COPY / "sources", COPY / "usr/local/bin/program"
    work.mkdir()
    lay_sources(work)
    lay_packages()
    if CERTIFICATES.is_file():
        shutil.copy(CERTIFICATES, COPY / "root/registries.crt")
    program.write_text("#!/usr/bin/env python3\n" + (ROOT / "packaging/debian/tests/served.py").read_text())
    program.chmod(0o755)
    for name, text in project_files(row).items():
        file = COPY / (Path("/sources") / name).relative_to("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (COPY / "typed.sh").write_text(REGISTRIES + typed(row))


def mounts() -> str:
    """This system's Rust, seen inside."""
    folders = [Path.home() / name for name in (".cargo", ".rustup")]
    pairs = [(folder, COPY / "root" / folder.name) for folder in folders if folder.is_dir()]
    return "".join(f'mkdir -p "{there}" && mount --bind "{folder}" "{there}" && ' for folder, there in pairs)


def inside(row: Row) -> subprocess.CompletedProcess[str]:
    bind = mounts() if row.by == "Cargo" else ""
    line = f'. tests/debian_root.sh && {bind}inside "{COPY}" bash /typed.sh'
    return subprocess.run(["unshare", "--mount", "bash", "-c", line], cwd=ROOT, text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def perform(row: Row) -> bool:
    """True when the program was served."""
    make_copy = f'. tests/debian_root.sh; ensure_root bookworm "{BASE}"; copy_root "{BASE}" "{COPY}"'
    subprocess.run(["bash", "-ec", make_copy], cwd=ROOT, check=True)
    started = time.monotonic()
    try:
        lay(row)
        done = inside(row)
    finally:
        shutil.rmtree(COPY, ignore_errors=True)
    served = done.returncode == 0 and PROVEN in done.stdout.splitlines()
    print(f"{'passed' if served else 'FAILED'}  {row.by}  ({time.monotonic() - started:.0f} s)", flush=True)
    if not served:
        print("\n".join(done.stdout.splitlines()[-40:]))
    return served


def main(words: list[str]) -> int:
    chosen = [row for row in rows() if row.by not in ELSEWHERE and (not words or any(word in row.by for word in words))]
    if not chosen:
        print(f"typed.py: no row of docs/guide/install.md's table has {' or '.join(words)}", file=sys.stderr)
        return 2
    return 0 if all([perform(row) for row in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
