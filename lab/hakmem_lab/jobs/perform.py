# SPDX-License-Identifier: MIT OR Apache-2.0
"""Types the lines of a tool: a shell runs them in a copy of the job's folder, watched, in a group where the job says so."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem_lab.bench.limit import inside, memory_group
from hakmem_lab.jobs.model import Job, Way
from hakmem_lab.jobs.watch import Watch


@dataclass(frozen=True)
class Done:
    text: str  # all that was printed
    wall_s: float
    cpu_s: float  # of the program
    all_cpu_s: float  # of all lines
    peak_bytes: int  # of the program
    tree_bytes: int


def environment() -> dict[str, str]:
    """This interpreter's commands first; JOBS_PYTHON runs the Python programs."""
    here = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{here}:{os.environ['PATH']}", "COLUMNS": "100", "LANG": "C.UTF-8"}


def prepared(job: Job, folder: Path) -> None:
    """A fresh copy of the job's folder, with its program built."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(job.folder, folder)
    for line in job.build:
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment(), capture_output=True, text=True)
        if done.returncode:
            raise Refusal(f"{job.name}: {line}: {done.stderr.strip()[:200]}")


@contextmanager
def command_of(job: Job, way: Way) -> Iterator[list[str]]:
    words = ["bash", "-c", way.script]
    if not job.limited:
        yield words
        return
    with memory_group() as group:
        yield inside(group, words)


def perform(job: Job, way: Way, folder: Path, log: Path) -> Done:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with command_of(job, way) as command, log.open("wb") as out:
        shell = subprocess.Popen(command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        with Watch(shell.pid, job.process) as watch:
            wait_for(shell, job.timeout_s)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    text = log.read_text("utf-8", "replace")
    return Done(text, wall, sum(watch.cpu_s.values()), used, watch.peak_bytes, watch.tree_bytes)


def wait_for(shell: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        shell.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, 9)
        shell.wait()
