# SPDX-License-Identifier: MIT OR Apache-2.0
"""session: one run of one case on one allocator.

what      Starts the case's programs in an empty folder with a fixed environment and the allocator preloaded, and
          writes down everything they say and use: a transcript (command, exit status, stdout, stderr), the files the
          case names as results, and the launcher's figures.
owner     run_case (runner.py) makes one Session per allocator; a case only ever sees the Session.
failure   A program that outlives its time limit fails the case; close() ends whatever still runs.
not here  Comparing two sessions (compare.py), proving who served them (proof.py), processes (process.py).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from hakmem.process.launch import Figures

from harness.process import Place, Started, end_descendants

STEP_LIMIT_S = 240
READY_LIMIT_S = 60
NOBODY = 65534
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin"
LAST_LINES = 10
FATAL = re.compile(r"^.*\bhakmem: .*$", re.MULTILINE)
CRASH = re.compile(r"^.*(?:exit signal|exited on signal|terminated by signal|got signal).*$", re.MULTILINE)


class CaseError(RuntimeError):
    """The case could not be carried out; the message says which step and why."""


@dataclass(frozen=True)
class Allocator:
    """What to preload. `so_file` is the file that must serve malloc in every process."""

    name: str
    so_file: Path
    preload: tuple[str, ...]
    counters: bool


@dataclass(frozen=True)
class Step:
    """One program that ran to its end."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str

    def text(self) -> str:
        """The step as it stands in the transcript."""
        return f"$ {' '.join(self.argv)}\n[exit {self.status}]\n[stdout]\n{self.stdout}[stderr]\n{self.stderr}\n"


def decoded(data: bytes) -> str:
    """Output as text; bytes that are not UTF-8 survive unchanged for the comparison."""
    return data.decode("utf-8", errors="surrogateescape")


def last_lines(log: Path) -> str:
    """The end of a server's log, for a failure's message."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-LAST_LINES:]) if log.is_file() else ""


@dataclass
class Session:
    """Where one allocator's run of a case happens."""

    allocator: Allocator
    work: Path
    inputs: Path
    evidence: Path
    launcher: Path
    user: int | None = None
    steps: list[Step] = field(default_factory=list)
    started: list[Started] = field(default_factory=list)
    own_malloc: set[str] = field(default_factory=set)
    logs: list[Path] = field(default_factory=list)
    results: dict[str, bytes] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)  # HAKMEM's fatal lines, and what servers' logs say of crashes

    @property
    def pids(self) -> list[int]:
        """The programs the case itself started; only once they ended."""
        return [one.figures.pid for one in self.started]

    @property
    def figures(self) -> list[Figures]:
        """What each of them used, with the children it waited for."""
        return [one.figures for one in self.started]

    def as_ordinary_user(self) -> None:
        """For programs that refuse to run as root: from here on as nobody, who owns the work folder."""
        if os.geteuid() == 0:
            self.user = NOBODY
            for folder in (self.work, self.evidence):
                for path in (folder, *folder.rglob("*")):
                    os.chown(path, NOBODY, NOBODY)

    def bring_own_malloc(self, *programs: str) -> None:
        """These programs define malloc in their executables, so that a preloaded one cannot serve it: the proof asks
        that it lies there, on glibc as on the candidate."""
        self.own_malloc |= set(programs)

    def environment(self, extra: Mapping[str, str] | None) -> dict[str, str]:
        """A small fixed environment: nothing of the caller's gets in, and the packaged programs come first."""
        env = {
            "PATH": SYSTEM_PATH,
            "HOME": str(self.work),
            "TMPDIR": str(self.work),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "LD_PRELOAD": ":".join(self.allocator.preload),
            "WITNESS_FILE": str(self.evidence / "witness.log"),
        }
        if self.allocator.counters:
            env["HAKMEM_COUNTERS_FILE"] = str(self.evidence / "counters")
        env.update(extra or {})
        return env

    def launched(self, argv: tuple[str, ...], env: Mapping[str, str] | None, stdin: int, stdout: int | IO[bytes],
                 stderr: int | IO[bytes]) -> Started:
        """One program by the launcher, remembered."""
        report = self.evidence / f"figures.{len(self.started)}"
        place = Place(self.work, self.environment(env), self.user)
        started = Started(self.launcher, report, argv, place, stdin, stdout, stderr)
        self.started.append(started)
        return started

    def start(self, *argv: str, env: Mapping[str, str] | None = None, log: str = "",
              more_logs: tuple[str, ...] = ()) -> Started:
        """A program that runs on beside the next steps (a server); its output goes to the file `log`, and what it
        writes into `more_logs` is looked through for crashes too."""
        path = self.work / log if log else Path(os.devnull)
        self.logs += [self.work / name for name in (log, *more_logs) if name]
        with open(path, "wb") as sink:
            return self.launched(argv, env, subprocess.DEVNULL, sink, subprocess.STDOUT)

    def wait_until(self, ready: Callable[[], bool], server: Started, log: str) -> None:
        """Until the started program is ready; it must not end before."""
        name, end = server.argv[0], time.monotonic() + READY_LIMIT_S
        while not ready():
            if (status := server.poll()) is not None:
                raise CaseError(f"{name} ended with {status}:\n{last_lines(self.work / log)}")
            if time.monotonic() > end:
                raise CaseError(f"{name} is not ready after {READY_LIMIT_S} s:\n{last_lines(self.work / log)}")
            time.sleep(0.02)

    def stop(self, server: Started, name: str, number: signal.Signals) -> None:
        """Asks a started program to end, and waits for it."""
        self.notify(server, name, number)
        self.finish(server, name)

    def notify(self, server: Started, name: str, number: signal.Signals) -> None:
        """Sends a signal to a started program, which must still run."""
        if server.poll() is not None:
            raise CaseError(f"{name} ended by itself with {server.poll()}")
        os.kill(server.pid, number)

    def finish(self, server: Started, name: str, limit_s: int = READY_LIMIT_S) -> None:
        """Waits for a started program to end by itself; its exit status joins the transcript."""
        try:
            status = server.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise CaseError(f"{name} did not end within {limit_s} s") from None
        self.steps.append(Step((name, "(server)"), status, "", ""))

    def run(self, *argv: str, stdin: bytes = b"", env: Mapping[str, str] | None = None,
            expect: int = 0) -> Step:
        """Runs a program to its end. On the reference it must exit with `expect`, or the case itself is wrong."""
        program = self.launched(argv, env, subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
        try:
            out, err = program.output(stdin, STEP_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise CaseError(f"`{' '.join(argv)}` did not end within {STEP_LIMIT_S} s") from None
        step = Step(argv, program.wait(STEP_LIMIT_S), decoded(out), decoded(err))
        self.steps.append(step)
        if self.allocator.name == "glibc" and step.status != expect:
            raise CaseError(f"`{' '.join(argv)}` exits with {step.status} on glibc:\n{step.stdout}{step.stderr}")
        return step

    def result(self, *patterns: str) -> None:
        """Files (glob patterns below the work folder) that must come out the same, byte for byte."""
        for pattern in patterns:
            found = sorted(p for p in self.work.glob(pattern) if p.is_file())
            if not found and self.allocator.name == "glibc":
                raise CaseError(f"no file matches {pattern}")
            for path in found:
                self.results[str(path.relative_to(self.work))] = path.read_bytes()

    def keep(self, name: str, data: bytes) -> None:
        """What the case itself received (from a server) and must come out the same."""
        self.results[name] = data

    def close(self) -> None:
        """Ends whatever the case left running, and looks through what was said before the folder gets another name."""
        end_descendants()
        said = [text for step in self.steps for text in (step.stdout, step.stderr)]
        logs = [path.read_text(errors="replace") for path in self.logs if path.exists()]
        self.complaints = [line for text in said + logs for line in FATAL.findall(text)]
        self.complaints += [line for text in logs for line in CRASH.findall(text)]

    def transcript(self) -> str:
        """All steps in order."""
        return "\n".join(step.text() for step in self.steps)
