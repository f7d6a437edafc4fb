"""session: one run of one case on one allocator.

what      Starts the case's programs in an empty folder with a fixed environment and the allocator preloaded, and
          writes down everything they say: a transcript (command, exit status, stdout, stderr) and the files the
          case names as results.
owner     run_case (runner.py) makes one Session per allocator; a case only ever sees the Session.
failure   A program that outlives its time limit is killed with its children and the case fails.
not here  Comparing two sessions (compare.py), proving who served them (proof.py).
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

STEP_LIMIT_S = 240


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


def killed_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that leads its own session, and all its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


@dataclass
class Session:
    """Where one allocator's run of a case happens."""

    allocator: Allocator
    work: Path
    inputs: Path
    evidence: Path
    steps: list[Step] = field(default_factory=list)
    pids: list[int] = field(default_factory=list)
    results: dict[str, bytes] = field(default_factory=dict)
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def environment(self, extra: Mapping[str, str] | None) -> dict[str, str]:
        """A small fixed environment: nothing of the caller's but PATH gets in."""
        env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
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

    def start(self, *argv: str, env: Mapping[str, str] | None = None, log: str = "") -> subprocess.Popen[bytes]:
        """A program that runs on beside the next steps (a server); its output goes to the file `log`."""
        with open(self.work / log if log else os.devnull, "wb") as sink:
            process = subprocess.Popen(
                argv, cwd=self.work, env=self.environment(env), stdin=subprocess.DEVNULL,
                stdout=sink, stderr=subprocess.STDOUT, start_new_session=True)
        self.pids.append(process.pid)
        self.running.append(process)
        return process

    def finish(self, process: subprocess.Popen[bytes], name: str, limit_s: int = 30) -> None:
        """Waits for a started program to end by itself; its exit status joins the transcript."""
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            killed_group(process)
            raise CaseError(f"{name} did not end within {limit_s} s") from None
        self.running.remove(process)
        self.steps.append(Step((name, "(server)"), status, "", ""))

    def run(self, *argv: str, stdin: bytes = b"", env: Mapping[str, str] | None = None,
            expect: int = 0) -> Step:
        """Runs a program to its end. On the reference it must exit with `expect`, or the case itself is wrong."""
        process = subprocess.Popen(
            argv, cwd=self.work, env=self.environment(env), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.pids.append(process.pid)
        try:
            out, err = process.communicate(stdin, timeout=STEP_LIMIT_S)
        except subprocess.TimeoutExpired:
            killed_group(process)
            raise CaseError(f"`{' '.join(argv)}` did not end within {STEP_LIMIT_S} s") from None
        step = Step(argv, process.returncode, decoded(out), decoded(err))
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

    def close(self) -> None:
        """Ends whatever the case left running."""
        for process in self.running:
            killed_group(process)
        self.running.clear()

    def transcript(self) -> str:
        """All steps in order."""
        return "\n".join(step.text() for step in self.steps)
