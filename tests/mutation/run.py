# SPDX-License-Identifier: MIT OR Apache-2.0
"""Seeds faults into a copy of the sources, one at a time, and notes the test that catches each.

    run.py [--results FILE] [--again] [--stages 6 | --tests REGEX] [NAME | LAYER | FILE ...]

The copy lies in build/mutation with a build folder of its own. The tests run in stages: units of the fault's file,
units of its layer, all units and models, single processes, whole processes, then everything that the preset release
registers. A test catches a fault when it fails twice; tests that fail without a fault are left out. Verdicts stand in a
CSV file, a row per fault; a fault that has a row is not run again, unless its text changed, --again is given, or it
survived fewer stages. With --tests faults without a verdict and those that survived run these tests alone: so a new
test is tried.
"""
from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ctest
from faults import ROOT, BadTable, Fault, chosen, read_faults

COPY = ROOT / "build/mutation/tree"
BUILD = COPY / "build/release"
TIMES = ROOT / "build/mutation/times.json"
COLUMNS = ("fault", "file", "kind", "verdict", "test", "how", "stages", "seconds", "digest")
JOBS = 3
NEVER = -1
SLOWER, LEAST_S, FIRST_LIMIT_S = 8, 20, 400  # a test may take so many times as long as without a fault, at least 20 s

UNITS_OF_LAYER = {
    "base": "base|poisson|settings|report",
    "os": "os|given|limits|lock|meta|range|past",
    "tables": "classes|class_add|site|meta|range|settings|settings_plain|counters|extents|past",
    "retain": "cost|rent|runs|memory_limit|big_huge|entry|big_keep|big",
    "runs": "runs|region|pages|large|entry|run_magazine|big_kernel",
    "blocks": "slab|depot|large|big|slab_sampled|guarded|big_kernel",
    "cache": "magazine|run_magazine|drain_idle|slab|entry|caches",
    "record": "samples|ages|samples_file|python_frames|profile|trace",
    "observe": "utilization|report|extents|stats_page|counters",
    "reclaim": "drain_idle|memory_limit|entry|runs|magazine",
    "learn": "leader|keeper|peaks|stack|past|ace|ucb|elo|quantile|lifecycle|controller|bill|extra_class"
             "|big_learn|caches|rows",
    "entry": "entry|hakmem|guarded|profile|magazine",
    "api": "hakmem|utilization|entry",
}


@dataclass(frozen=True)
class Stage:
    """What is built, and a pattern of the tests that run then."""

    targets: tuple[str, ...]
    pattern: str


LATER = (
    (("unit", "model", "fault"), "unit_|model|fault_"),
    (("wrongfree", "api", "cuts", "stress", "names"), "wrongfree|api_|cuts_|stress_|names_"),
    (("process", "unwind", "loader", "instructions"), "process_|routes|unwind|loader|instructions"),
)
STAGES = 3 + len(LATER)
LIBRARIES = "libraries"


def is_namesake(unit: str, fault: Fault) -> bool:
    """unit_slab is one of blocks/slab_purge.c, unit_slab_sampled of blocks/slab.c."""
    stem = Path(fault.file).stem
    return stem.startswith(unit) or unit.startswith(stem)


def stages_of(fault: Fault, programs: frozenset[str]) -> list[Stage]:
    own = [name for name in UNITS_OF_LAYER[fault.layer].split("|") if f"unit_{name}" in programs]
    units = sorted(name.removeprefix("unit_") for name in programs if name.startswith("unit_") and "." not in name)
    alike = [name for name in units if is_namesake(name, fault)] or own[:1]
    stages = [Stage(tuple(f"tests/unit/unit_{name}" for name in group), f"unit_({'|'.join(group)})$")
             for group in (alike, own)]
    later = [Stage((LIBRARIES, *(f"tests/{folder}/all" for folder in folders)), pattern) for folders, pattern in LATER]
    return [*stages, *later, Stage(("all",), ".")]


def targets_of(test: str) -> list[str]:
    """A unit by its name alone; else all programs of the folders that the test's name begins with, and the libraries,
    which no program that is run with one preloaded asks for."""
    if re.fullmatch(r"unit_\w+", test):
        return [f"tests/unit/{test}"]
    own = [f"tests/{folder}/all" for folders, _ in LATER for folder in folders if test.startswith(folder)]
    return [LIBRARIES, *own] if own else ["all"]


def stage_of_tests(regex: str) -> Stage:
    """The tests that the regular expression names in full, and what they are built of."""
    targets = dict.fromkeys(target for test in regex.split("|") for target in targets_of(test))
    return Stage(tuple(targets), f"({regex})$")


# ---- the copy ----

def told(command: Sequence[str | Path], where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command], cwd=where, capture_output=True, text=True, check=False)


def copy_sources() -> None:
    """Brings the copy up to date with the working tree. Files that did not change keep their times: no new build."""
    COPY.mkdir(parents=True, exist_ok=True)
    listed = told(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT).stdout
    names = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    for name in names:
        source, target = ROOT / name, COPY / name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        target.chmod(source.stat().st_mode)
    tools = COPY / "build/venv"
    tools.parent.mkdir(exist_ok=True)
    if not tools.exists():
        tools.symlink_to(ROOT / "build/venv")


def build(targets: Sequence[str]) -> str:
    """Builds the targets; returns "" or what the compiler said."""
    made = told(["ninja", f"-j{JOBS}", *targets], BUILD)
    return "" if made.returncode == 0 else made.stdout[-2000:]


def read_times() -> tuple[int, dict[str, float]]:
    """Up to which stage every test was run without a fault, and the seconds of each; NEVER for one that fails."""
    if not TIMES.is_file():
        return 0, {}
    known = json.loads(TIMES.read_text())
    return known["stages"], known["seconds"]


def measure(tests: Sequence[ctest.Test], stages: int) -> None:
    _, times = read_times()
    due = [test for test in tests if test.name not in times]
    print(f"run.py: {len(due)} tests run once without a fault", flush=True)
    endings = ctest.run(due, dict.fromkeys((t.name for t in due), FIRST_LIMIT_S), JOBS, to_the_end=True)
    _, times = read_times()
    for ending in endings:
        times[ending.test] = ending.seconds if ending.how == "passed" else NEVER
        if ending.how != "passed":
            print(f"run.py: left out, as it fails without a fault: {ending.test}", flush=True)
    TIMES.write_text(json.dumps({"stages": stages, "seconds": times}, indent=1))


def pattern_up_to(stages: int) -> str:
    """Which tests the first `stages` stages may run."""
    return "." if stages == STAGES else "|".join(pattern for _, pattern in LATER[: max(stages - 2, 1)])


def build_or_end(targets: Sequence[str]) -> None:
    if trouble := build(targets):
        sys.exit(f"run.py: the copy does not build without a fault: {trouble.strip().splitlines()[-1]}")


def build_clean(stages: int) -> None:
    """Builds the copy without a fault, and runs every test of these stages that was not run yet."""
    build_or_end(["all"])
    pattern = pattern_up_to(stages)
    measure([t for t in ctest.registered(BUILD).values()
             if re.match(pattern, t.name) and not t.labels & {"long", "checks"}], stages)


def measure_named(regex: str) -> None:
    """The same for the tests that the regular expression names."""
    stages, times = read_times()
    stage = stage_of_tests(regex)
    tests = [t for t in ctest.registered(BUILD).values() if re.match(stage.pattern, t.name) and t.name not in times]
    if tests:
        build_or_end(stage.targets)
        measure(tests, stages)


def prepare(stages: int, tests: str) -> dict[str, float]:
    """The seconds of each test of these stages, or of this name, that passes without a fault."""
    copy_sources()
    if not (BUILD / "build.ninja").is_file():
        made = told(["cmake", "--preset", "release", "-DHAK_WERROR=OFF"], COPY)
        if made.returncode != 0:
            sys.exit(f"run.py: cmake failed in {COPY}: {made.stderr.strip().splitlines()[-1]}")
    if tests:
        measure_named(tests)
    elif read_times()[0] < stages:
        build_clean(stages)
    return {name: seconds for name, seconds in read_times()[1].items() if seconds != NEVER}


# ---- a fault ----

def fails_again(test: ctest.Test, limits: dict[str, float]) -> bool:
    return ctest.run([test], limits, 1)[0].how != "passed"


def caught_in(stage: Stage, done: set[str], times: dict[str, float]) -> ctest.Ending | None:
    """Runs the stage's tests that did not run yet, quickest first, until one fails twice."""
    limits = {name: max(SLOWER * seconds, LEAST_S) for name, seconds in times.items()}
    tests = [t for name, t in ctest.registered(BUILD).items()
             if name in times and name not in done and re.match(stage.pattern, name)]
    tests.sort(key=lambda test: times[test.name])
    while tests:
        endings = ctest.run(tests, limits, JOBS)
        done |= {ending.test for ending in endings}
        last = endings[-1]
        if last.how == "passed":
            return None
        if fails_again(next(t for t in tests if t.name == last.test), limits):
            return last
        tests = [test for test in tests if test.name not in done]
    return None


def verdict_on(stages: Sequence[Stage], times: dict[str, float]) -> tuple[str, str, str]:
    """(verdict, test, how) of the fault that stands in the copy."""
    done: set[str] = set()
    for stage in stages:
        if build(stage.targets):
            return "caught", "the compiler", "refused"
        if ending := caught_in(stage, done, times):
            return "caught", ending.test, ending.how
    return "survived", "", ""


def try_fault(fault: Fault, stages: Sequence[Stage], passed: int, times: dict[str, float]) -> dict[str, str]:
    """The fault's row; `passed`: as many stages count as survived if no test catches it."""
    path = COPY / "src" / fault.file
    clean = path.read_text()
    begun = time.monotonic()
    path.write_text(fault.seeded(COPY))
    try:
        verdict = verdict_on(stages, times)
    finally:
        path.write_text(clean)
    seconds = f"{time.monotonic() - begun:.0f}"
    cells = (fault.name, fault.file, fault.kind, *verdict, str(passed), seconds, fault.digest)
    return dict(zip(COLUMNS, cells, strict=True))


# ---- the verdicts ----

def read_rows(path: Path) -> dict[str, dict[str, str]]:
    if not path.is_file():
        return {}
    with path.open(newline="") as file:
        return {row["fault"]: row for row in csv.DictReader(file)}


def write_rows(path: Path, rows: dict[str, dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())


def stages_passed(fault: Fault, rows: dict[str, dict[str, str]]) -> int:
    """How many stages the fault survived so far; STAGES for a fault that was caught."""
    row = rows.get(fault.name)
    if row is None or row["digest"] != fault.digest:
        return 0
    return int(row["stages"]) if row["verdict"] == "survived" else STAGES


def say(row: dict[str, str], number: int, of: int) -> None:
    print(f"[{number}/{of}] {row['verdict']:8} {row['fault']}: {row['test'] or '-'} {row['how']} ({row['seconds']} s)",
          flush=True)


@dataclass(frozen=True)
class Plan:
    """What runs: the first so many stages, or tests by name."""

    stages: int
    tests: str
    again: bool

    def due(self, fault: Fault, passed: int) -> bool:
        return self.again or (passed < STAGES if self.tests else passed < self.stages)

    def of(self, fault: Fault, passed: int) -> list[Stage]:
        if self.tests:
            return [stage_of_tests(self.tests)]
        programs = frozenset(path.name for path in (BUILD / "tests/unit").iterdir())
        return stages_of(fault, programs)[0 if self.again else passed : self.stages]


def run(faults: Sequence[Fault], results: Path, plan: Plan) -> None:
    rows = read_rows(results)
    passed = {fault.name: stages_passed(fault, rows) for fault in faults}
    due = [fault for fault in faults if plan.due(fault, passed[fault.name])]
    times = prepare(plan.stages, plan.tests) if due else {}
    for number, fault in enumerate(due, 1):
        before = passed[fault.name]
        row = try_fault(fault, plan.of(fault, before), before if plan.tests else plan.stages, times)
        rows[fault.name] = row
        write_rows(results, rows)
        say(row, number, len(due))
    judged = [rows[fault.name] for fault in faults if fault.name in rows]
    caught = sum(row["verdict"] == "caught" for row in judged)
    print(f"run.py: {caught} of {len(judged)} faults caught; {results}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Seeds faults into a copy of the sources, one at a time.")
    parser.add_argument("--results", type=Path, default=ROOT / "build/mutation/results.csv")
    parser.add_argument("--again", action="store_true", help="run faults that have a verdict, too")
    parser.add_argument("--stages", type=int, choices=range(1, STAGES + 1), default=STAGES,
                        help="the first so many only")
    parser.add_argument("--tests", default="", metavar="REGEX", help="these tests alone, as `cuts_at_.*`")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a fault, a layer or a file below src; none: all")
    asked = parser.parse_args()
    try:
        faults = list(chosen(read_faults(), asked.names))
        for fault in faults:
            fault.seeded(ROOT)
        run(faults, asked.results, Plan(asked.stages, asked.tests, asked.again))
    except BadTable as trouble:
        sys.exit(f"run.py: {trouble}")


if __name__ == "__main__":
    main()
