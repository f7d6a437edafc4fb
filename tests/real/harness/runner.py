# SPDX-License-Identifier: MIT OR Apache-2.0
"""runner: one case, twice, and the verdict.

what      Runs a case on the reference (glibc) and on the candidate, each in a fresh folder of the same name (so that
          paths in outputs agree), compares, asks for the proof of both, and says what both used.
owner     run.py calls run_case. A case runs in a temporary folder, where an ordinary user may read and the paths of
          sockets are short; what it leaves is moved to the folder of outputs when it failed, else removed.
failure   A Verdict with the lines to print.
not here  Command line (run.py), cases (cases/*.py, programs/*.py).
"""

from __future__ import annotations

import importlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, cast

import psutil
from hakmem.base.errors import Refusal
from hakmem.process.launch import Figures

from harness.compare import files_difference, text_difference
from harness.filters import Rule, apply_rules, rules_for
from harness.process import adopt_orphans
from harness.proof import build_witness, missing_proof, process_count
from harness.session import Allocator, CaseError, Session

REAL = Path(__file__).resolve().parent.parent
FOLDERS = ("cases", "programs")
FAILURES = (CaseError, Refusal, OSError, psutil.Error)


class Case(Protocol):
    """A module in cases/ or programs/: carries out the case in the session it is given."""

    def run(self, session: Session) -> None:
        """The steps, in order."""


@dataclass(frozen=True)
class Tools:
    """What a run needs beside the case: the library under test and tools/launcher."""

    so_file: Path
    launcher: Path


@dataclass(frozen=True)
class Usage:
    """What one run of a case used: the peak RSS of its largest process, the CPU time of all."""

    rss_kib: int
    cpu_us: int

    def least(self, other: Usage) -> Usage:
        """The smaller of each: what two runs of the same work differ by is other people's work."""
        return Usage(min(self.rss_kib, other.rss_kib), min(self.cpu_us, other.cpu_us))


@dataclass(frozen=True)
class Verdict:
    """How a case ended; no lines means it passed. The usage is known when both runs came to their end."""

    lines: list[str]
    processes: int = 0
    glibc: Usage | None = None
    candidate: Usage | None = None


def load_case(name: str) -> Case:
    """The module <folder>/<name>.py."""
    folder = next(folder for folder in FOLDERS if name in case_names(folder))
    return cast(Case, importlib.import_module(f"{folder}.{name}"))


def case_names(*folders: str) -> list[str]:
    """Every case of these folders, in alphabetical order."""
    paths = (path for folder in folders or FOLDERS for path in (REAL / folder).glob("*.py"))
    return sorted(path.stem for path in paths if path.stem != "__init__")


def loaded_libc() -> Path:
    """The file of the C library this machine's programs use."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith("/libc.so.6"):
            return Path(line.split(maxsplit=5)[-1])
    raise CaseError("this Python does not run on libc.so.6")


def reference(witness: Path) -> Allocator:
    """glibc. Preloading it by name puts it before an allocator the program links to (Debian's redis does)."""
    libc = loaded_libc()
    return Allocator("glibc", libc, (str(witness), str(libc)), counters=False)


def candidate(library: Path, witness: Path) -> Allocator:
    """The library under test; only HAKMEM writes counters."""
    counters = library.name.startswith("libhakmem")
    return Allocator("candidate", library, (str(witness), str(library)), counters)


def readable_tools(tools: Tools, root: Path) -> Tools:
    """The files where an ordinary user can read them too, wherever the tree lies. libc is taken where it is: a second
    copy of it in a process would be another library."""
    library = tools.so_file if tools.so_file == loaded_libc().resolve() else Path(shutil.copy(tools.so_file, root))
    return Tools(library, Path(shutil.copy(tools.launcher, root)))


def one_run(case: Case, allocator: Allocator, root: Path, launcher: Path) -> Session:
    """The case in a fresh folder `work`, which afterwards carries the allocator's name."""
    work, evidence = root / "work", root / f"{allocator.name}.proof"
    work.mkdir()
    evidence.mkdir()
    session = Session(allocator, work, REAL / "input", evidence, launcher)
    try:
        case.run(session)
    except FAILURES as error:
        session.close()
        raise CaseError("\n".join([str(error), *session.complaints])) from error
    finally:
        session.close()
        work.rename(root / allocator.name)
        (root / f"{allocator.name}.txt").write_text(session.transcript(), errors="surrogateescape")
    return session


def differences(left: Session, right: Session, rules: list[Rule]) -> list[str]:
    """What the candidate's run did otherwise."""
    texts = [apply_rules(rules, session.transcript()) for session in (left, right)]
    names = (left.allocator.name, right.allocator.name)
    return text_difference(texts[0], texts[1], names) + files_difference(left.results, right.results)


def usage(figures: list[Figures]) -> Usage:
    """Of all programs a case started."""
    return Usage(max(one.maxrss_kib for one in figures), sum(one.user_us + one.sys_us for one in figures))


def judged(case: Case, tools: Tools, root: Path, rules: list[Rule]) -> Verdict:
    """Both runs, compared and proven."""
    witness, tools = build_witness(root), readable_tools(tools, root)
    left = one_run(case, reference(witness), root, tools.launcher)
    right = one_run(case, candidate(tools.so_file, witness), root, tools.launcher)
    lines = right.complaints + differences(left, right, rules) + missing_proof(left) + missing_proof(right)
    return Verdict(lines, process_count(right), usage(left.figures), usage(right.figures))


def run_case(name: str, tools: Tools, outputs: Path, rules: list[Rule], rounds: int = 1) -> Verdict:
    """One case; what it leaves goes to outputs/<name>: there is one only when the case failed."""
    return several_rounds(rounds, lambda: run_loaded(load_case(name), tools, outputs / name, rules_for(rules, name)))


def several_rounds(rounds: int, run: Callable[[], Verdict]) -> Verdict:
    """Runs until one fails; the usage is the least of all."""
    verdict = run()
    for _ in range(rounds - 1):
        if verdict.lines or not verdict.glibc or not verdict.candidate:
            break
        other = run()
        if other.lines or not other.glibc or not other.candidate:
            return other
        verdict = replace(verdict, glibc=verdict.glibc.least(other.glibc),
                          candidate=verdict.candidate.least(other.candidate))
    return verdict


def run_loaded(case: Case, tools: Tools, outputs: Path, rules: list[Rule]) -> Verdict:
    """As run_case, with the case at hand."""
    adopt_orphans()
    shutil.rmtree(outputs, ignore_errors=True)
    root = Path(tempfile.mkdtemp(prefix="hakmem-real-")).resolve()
    root.chmod(0o755)
    verdict = Verdict([])
    try:
        verdict = judged(case, tools, root, rules)
    except FAILURES as error:
        verdict = Verdict(str(error).splitlines())
    finally:
        if verdict.lines:
            outputs.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(root, outputs)
        else:
            shutil.rmtree(root)
    return verdict
