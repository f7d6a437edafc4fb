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
from importlib.util import find_spec
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from seeds import SEEDS  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS = 7
SEEDS_MADE = 20
LONGEST = {"python": 14000, "system": 16384, "operations": 1024}  # bytes of an input; 2048 of the others
OPTIONS = ["-rss_limit_mb=2048", "-malloc_limit_mb=256", "-timeout=60", "-verbosity=0", "-print_final_stats=1"]
ENVIRONMENT = {"ASAN_OPTIONS": "allocator_may_return_null=1"}


def run(program: Path, kind: str, length: list[str], found: Path) -> int:
    for number in range(SEEDS_MADE):
        (found / f"seed-{number}").write_bytes(SEEDS[kind](random.Random(number)))
    folders = [found, *([HERE / "corpus" / kind] if (HERE / "corpus" / kind).is_dir() else [])]
    options = [*OPTIONS, f"-max_len={LONGEST.get(kind, 2048)}", f"-artifact_prefix={program.parent}/{kind}-"]
    return subprocess.run([program, *options, *length, *folders], env=os.environ | ENVIRONMENT, check=False).returncode


def run_once(program: Path, kind: str) -> int:
    runs, seconds = os.environ.get("FUZZ_RUNS"), os.environ.get("FUZZ_SECONDS", str(SECONDS))
    with tempfile.TemporaryDirectory(prefix="hakmem-fuzz-") as folder:
        return run(program, kind, [f"-runs={int(runs)}" if runs else f"-max_total_time={int(seconds)}"], Path(folder))


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
    each, before = round(hours * 3600 / (len(SEEDS) + 1 + has_atheris)), findings(folder)
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


def main() -> int:
    if sys.argv[1] == "all":
        return run_all(Path(sys.argv[2]), float(sys.argv[3]))
    return run_once(Path(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
