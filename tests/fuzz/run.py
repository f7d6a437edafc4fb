# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a fuzzer for 7 seconds, or for FUZZ_SECONDS, or for FUZZ_RUNS inputs, from its seeds and its corpus.

    run.py PROGRAM KIND
    run.py all FOLDER HOURS     every fuzzer of the folder and the readers of Python, one after the other: readers_fuzz.py,
                                where atheris is installed, and the damaged files of cli/tests/test_hostile.py

What breaks it is left beside PROGRAM as KIND-crash-*, KIND-timeout-* or KIND-oom-*, for `PROGRAM FILE`. `all` begins
anew after a finding, and inputs that reached new code stay in FOLDER/found/KIND.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from seeds import SEEDS  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
Number = TypeVar("Number", int, float)
SECONDS = 7
SEEDS_MADE = 20
LONGEST = {"python": 14000, "system": 16384, "operations": 1024}  # bytes of an input; 2048 of the others
OPTIONS = ["-rss_limit_mb=2048", "-malloc_limit_mb=256", "-timeout=60", "-verbosity=0", "-print_final_stats=1"]
ENVIRONMENT = {"ASAN_OPTIONS": "allocator_may_return_null=1"}


# ---- what the command line says ----

class BadInput(Exception):
    """What cannot be run; its text is one line."""


MOST = 10 ** 9  # hours, seconds or runs


def positive_number(name: str, text: str, kind: Callable[[str], Number]) -> Number:
    """A number above 0, at most MOST."""
    try:
        number = kind(text)
    except ValueError:
        number = kind("0")
    if not 0 < number <= MOST:
        raise BadInput(f"{name} is a {'whole ' if kind is int else ''}number above 0, not '{text}'")
    return number


def fuzzer_at(program: Path) -> Path:
    if not os.access(program, os.X_OK) or program.is_dir():
        raise BadInput(f"no fuzzer {program}: `make fuzz` builds them, with clang and its libFuzzer")
    return program


def kind_of(name: str) -> str:
    if name not in SEEDS:
        raise BadInput(f"no kind {name}: the kinds are {', '.join(sorted(SEEDS))}")
    return name


# ---- running ----

def run(program: Path, kind: str, length: list[str], found: Path) -> int:
    for number in range(SEEDS_MADE):
        (found / f"seed-{number}").write_bytes(SEEDS[kind](random.Random(number)))
    folders = [found, *([HERE / "corpus" / kind] if (HERE / "corpus" / kind).is_dir() else [])]
    options = [*OPTIONS, f"-max_len={LONGEST.get(kind, 2048)}", f"-artifact_prefix={program.parent}/{kind}-"]
    command = [program, *options, *length, *folders]
    try:
        return subprocess.run(command, env=os.environ | ENVIRONMENT, check=False).returncode
    except OSError as error:
        raise BadInput(f"{program} cannot be started: {error.strerror}") from error


def run_once(program: Path, kind: str) -> int:
    runs, seconds = os.environ.get("FUZZ_RUNS"), os.environ.get("FUZZ_SECONDS", str(SECONDS))
    most = positive_number("FUZZ_RUNS", runs, int) if runs else positive_number("FUZZ_SECONDS", seconds, int)
    length = [f"-{'runs' if runs else 'max_total_time'}={most}"]
    with tempfile.TemporaryDirectory(prefix="hakmem-fuzz-") as folder:
        return run(program, kind, length, Path(folder))


def findings(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if re.search("-(crash|timeout|oom)-", path.name)}


def run_on(program: Path, kind: str, seconds: int, found: Path) -> None:
    found.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    while (left := round(end - time.monotonic())) > 0:
        run(program, kind, [f"-max_total_time={left}"], found)


def run_readers(seconds: int, artifacts: Path, found: Path) -> None:
    found.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds}", "-timeout=60", "-max_len=20000", f"-artifact_prefix={artifacts}/readers-"]
    subprocess.run([sys.executable, HERE / "readers_fuzz.py", "all", *options, found], check=False)


def run_damaged(seconds: int) -> int:
    environment = os.environ | {"FUZZ_SECONDS": str(seconds)}
    return subprocess.run([sys.executable, "test_hostile.py"], cwd=ROOT / "cli" / "tests", env=environment, check=False).returncode


def run_all(folder: Path, hours: float) -> int:
    has_atheris = find_spec("atheris") is not None
    each, before = max(round(hours * 3600 / (len(SEEDS) + 1 + has_atheris)), 1), findings(folder)
    for kind in SEEDS:
        print(f"=== {kind}: {each} s", flush=True)
        run_on(folder / f"{kind}_fuzz", kind, each, folder / "found" / kind)
    print(f"=== readers of Python{' twice' * has_atheris}: {each} s", flush=True)
    if has_atheris:
        run_readers(each, folder, folder / "found" / "readers")
    failed = run_damaged(each)
    new = sorted(findings(folder) - before)
    print(f"=== {len(new)} inputs that broke a fuzzer{': ' if new else ''}{' '.join(new)}")
    return int(bool(new) or failed != 0)


def main(words: list[str]) -> int:
    try:
        if len(words) == 3 and words[0] == "all":
            folder, hours = Path(words[1]), positive_number("HOURS", words[2], float)
            for kind in sorted(SEEDS):
                fuzzer_at(folder / f"{kind}_fuzz")
            return run_all(folder, hours)
        if len(words) == 2:
            return run_once(fuzzer_at(Path(words[0])), kind_of(words[1]))
        raise BadInput("usage: run.py PROGRAM KIND, or run.py all FOLDER HOURS")
    except BadInput as trouble:
        print(f"run.py: {trouble}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
