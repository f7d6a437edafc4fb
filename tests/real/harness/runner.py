"""runner: one case, twice, and the verdict.

what      Runs a case on the reference (glibc) and on the candidate, each in a fresh folder of the same name (so that
          paths in outputs agree), compares, and asks for the proof of both.
owner     run.py calls run_case; everything a run leaves lies below its folder and is removed when it passed.
failure   A Verdict with the lines to print.
not here  Command line (run.py), cases (cases/*.py).
"""

from __future__ import annotations

import importlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from harness.compare import files_difference, text_difference
from harness.filters import Rule, apply_rules
from harness.proof import build_witness, missing_proof, process_count
from harness.session import Allocator, CaseError, Session

REAL = Path(__file__).resolve().parent.parent


class Case(Protocol):
    """A module in cases/: carries out the case in the session it is given."""

    def run(self, session: Session) -> None:
        """The steps, in order."""


@dataclass(frozen=True)
class Verdict:
    """How a case ended; no lines means it passed."""

    lines: list[str]
    processes: int


def load_case(name: str) -> Case:
    """The module cases/<name>.py."""
    return cast(Case, importlib.import_module(f"cases.{name}"))


def case_names() -> list[str]:
    """Every case, in alphabetical order."""
    return sorted(path.stem for path in (REAL / "cases").glob("*.py") if path.stem != "__init__")


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


def one_run(case: Case, allocator: Allocator, root: Path) -> Session:
    """The case in a fresh folder `work`, which afterwards carries the allocator's name."""
    work, evidence = root / "work", root / f"{allocator.name}.proof"
    work.mkdir()
    evidence.mkdir()
    session = Session(allocator, work, REAL / "input", evidence)
    try:
        case.run(session)
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


def judged(case: Case, library: Path, root: Path, rules: list[Rule]) -> Verdict:
    """Both runs, compared and proven."""
    witness = build_witness(root)
    left = one_run(case, reference(witness), root)
    right = one_run(case, candidate(library, witness), root)
    lines = differences(left, right, rules) + missing_proof(left) + missing_proof(right)
    return Verdict(lines, process_count(right))


def run_case(name: str, library: Path, outputs: Path, rules: list[Rule]) -> Verdict:
    """One case below outputs/<name>; the folder stays only when the case failed."""
    return run_loaded(load_case(name), library, outputs / name, rules)


def run_loaded(case: Case, library: Path, root: Path, rules: list[Rule]) -> Verdict:
    """As run_case, with the case at hand."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    try:
        verdict = judged(case, library, root, rules)
    except CaseError as error:
        verdict = Verdict([str(error)], 0)
    if not verdict.lines:
        shutil.rmtree(root)
    return verdict
