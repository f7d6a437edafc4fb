# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tests that a build folder registers, run one by one: each with its own limit, all ended at the first failure."""
from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

WORST_OOM_SCORE = 1000  # the kernel ends a test of a faulty library first


@dataclass(frozen=True)
class Test:
    name: str
    command: tuple[str, ...]
    folder: str
    environment: dict[str, str] = field(hash=False)
    labels: frozenset[str]


@dataclass(frozen=True)
class Ending:
    """How a test ended, and after how many seconds."""

    test: str
    how: str  # passed, failed, time limit
    seconds: float


def _property(row: dict, name: str, default: object) -> object:
    return next((entry["value"] for entry in row.get("properties", []) if entry["name"] == name), default)


def _test_of(row: dict) -> Test:
    pairs = (entry.split("=", 1) for entry in _property(row, "ENVIRONMENT", []) if "=" in entry)
    return Test(row["name"], tuple(row["command"]), str(_property(row, "WORKING_DIRECTORY", ".")), dict(pairs),
                frozenset(_property(row, "LABELS", [])))


def registered(build: Path) -> dict[str, Test]:
    """All tests by name. A test whose program was not built yet has no command, and is left out."""
    told = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True,
                          check=True)
    rows = json.loads(told.stdout)["tests"]
    return {row["name"]: _test_of(row) for row in rows if row.get("command")}


def _prepare_child() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    Path("/proc/self/oom_score_adj").write_text(str(WORST_OOM_SCORE))


class _Running:
    """A test under way, with all processes that it makes, as a group."""

    def __init__(self, test: Test, limit: float) -> None:
        self.test, self.begun, self.limit = test, time.monotonic(), limit
        self.process = subprocess.Popen(test.command, cwd=test.folder, env={**os.environ, **test.environment},
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True,
                                        preexec_fn=_prepare_child)

    def end(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def ending(self) -> Ending | None:
        """None: still under way."""
        seconds = time.monotonic() - self.begun
        status = self.process.poll()
        if status is None and seconds < self.limit:
            return None
        self.end()
        how = "time limit" if status is None else "passed" if status == 0 else "failed"
        return Ending(self.test.name, how, seconds)


def run(tests: Sequence[Test], limits: dict[str, float], jobs: int, to_the_end: bool = False) -> list[Ending]:
    """Runs the tests in order, `jobs` at a time, and stops at the first that does not pass, which is the last of the
    list; with to_the_end, runs all. limits: seconds by name."""
    waiting, running, endings = list(tests), [], []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                test = waiting.pop(0)
                running.append(_Running(test, limits[test.name]))
            time.sleep(0.02)
            for one in list(running):
                ending = one.ending()
                if ending is None:
                    continue
                running.remove(one)
                endings.append(ending)
                if ending.how != "passed" and not to_the_end:
                    return endings
        return endings
    finally:
        for one in running:
            one.end()
