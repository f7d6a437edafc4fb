#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Types the lines of docs/guide/recipes.md, and has each program say who served it: type_recipes.py ci|more|all

  <!-- file: NAME -->             the block below it is a file of its section
  <!-- typed: ci PROGRAM... -->   the block below it is typed into bash, in a folder with these files; `more`: by
                                  `make recipes` only. Each PROGRAM must have said, by hak_owns, that HAKMEM serves it
  #=> text                        a line that was printed, in this order

A PROGRAM of TOOLS must be installed and need not be served; `pyroscope` is receiver.py, at the address in $PYROSCOPE.

The path that the package has is the build's here, and libhakident.so is preloaded before it (tools/identity.c). PostgreSQL
refuses root: where this is root, its lines are typed by an ordinary user, who must be able to read the tree. The block of
a program that is not installed is left out, and said so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HAK_TEST_BUILD", ROOT / "build/release"))
PAGE = (ROOT / "docs/guide/recipes.md").read_text(encoding="utf-8")
INSTALLED = "/usr/lib/x86_64-linux-gnu/libhakmem.so.0"
BLOCK = re.compile(r"^<!-- (file|typed): (.*?) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ORDINARY = 65534  # nobody
TOOLS = ("prometheus-node-exporter", "curl")
PYROSCOPE = "pyroscope"
sys.path.insert(0, str(ROOT / "cli"))

from hakmem.process.proof import read_records  # noqa: E402
from receiver import receiver  # noqa: E402

Files = dict[str, str]


class Block(NamedTuple):
    section: str
    when: str
    programs: list[str]
    lines: str
    files: Files


def blocks() -> list[Block]:
    found: list[Block] = []
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        files: Files = {}
        for kind, about, text in BLOCK.findall(section):
            if kind == "file":
                files[about] = text
            else:
                when, *programs = about.split()
                found.append(Block(section.partition("\n")[0], when, programs, text, dict(files)))
    return found


def installed(program: str) -> bool:
    return bool(shutil.which(program) or list(Path("/usr/lib/postgresql").glob(f"*/bin/{program}")))


def missing(block: Block) -> list[str]:
    wanted = [*(name for name in block.programs if name != PYROSCOPE), *(["systemd-analyze"] if "systemd-analyze" in block.lines else [])]
    return [program for program in wanted if not installed(program)]


def write(folder: Path, files: Files) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace(INSTALLED, preloads()), encoding="utf-8")


def preloads() -> str:
    return f"{BUILD / 'libhakident.so'}:{BUILD / 'libhakmem.so'}"


def environment(folder: Path) -> dict[str, str]:
    path = f"{ROOT / 'build/venv/bin'}:/usr/local/sbin:/usr/sbin:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8", "HAKPROBE_FILE": str(folder / "proof"), "PYROSCOPE": os.environ["PYROSCOPE"]}


def typed(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    ordinary = os.geteuid() == 0 and "postgres" in block.programs
    user = {"user": ORDINARY, "group": ORDINARY, "extra_groups": []} if ordinary else {}
    if user:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, ORDINARY, ORDINARY)
    lines = "set -eu\n" + block.lines.replace(INSTALLED, preloads())
    return subprocess.run(["bash", "-c", lines], cwd=folder, env=environment(folder), text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **user)


def faults(block: Block, folder: Path) -> list[str]:
    done = typed(block, folder)
    wanted = re.findall(r"^#=> (.*)$", block.lines, re.MULTILINE)
    found = [] if done.returncode == 0 else [f"ended with status {done.returncode}"]
    if done.stdout.splitlines() != wanted:
        found.append(f"printed {done.stdout!r} instead of {wanted}")
    records = read_records(folder / "proof")
    served = {os.path.basename(record.exe) for record in records
              if record.owned and record.served_by(BUILD / "libhakmem.so")}
    others = {os.path.basename(record.exe) for record in records} - served
    served_ones = [name for name in block.programs if name not in (*TOOLS, PYROSCOPE)]
    unproven = [name for name in served_ones if not any(exe.startswith(name) for exe in served)]
    if unproven:
        found.append(f"{', '.join(unproven)}: not proven to be served; served: {sorted(served)}")
    if others:
        found.append(f"served by another: {sorted(others)}")
    return found


def perform(block: Block) -> bool:
    """True when it is not as the page says."""
    name = f"{block.section}: {block.lines.splitlines()[0][:70]}"
    absent = missing(block)
    if absent:
        print(f"left out  {name} ({', '.join(absent)}: not installed)")
        return False
    with tempfile.TemporaryDirectory(prefix="hakmem-recipe-") as folder:
        write(Path(folder), block.files)
        with receiver() as address:
            os.environ["PYROSCOPE"] = address
            found = faults(block, Path(folder))
    print("\n".join([f"{'FAILED' if found else 'passed'}    {name}", *(f"          {fault}" for fault in found)]), flush=True)
    return bool(found)


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in ("ci", "more", "all"):
        print("type_recipes.py ci|more|all", file=sys.stderr)
        return 2
    chosen = [block for block in blocks() if sys.argv[1] in (block.when, "all")]
    return 1 if not chosen or sum(map(perform, chosen)) else 0


if __name__ == "__main__":
    sys.exit(main())
