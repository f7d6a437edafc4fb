# SPDX-License-Identifier: MIT OR Apache-2.0
"""What it costs to be wrong by two: every constant of lab/docs/constants.csv halved and doubled, built and judged anew.

    make constants            all of it; writes lab/docs/constants.csv and the table of lab/docs/constants.md
    hakmem-lab constants [--jobs N] [--only NAME,...] [--check]

--check only asks whether the source is as the table says. Results lie in build/constants and are kept for as long as
sources, loads and judges are the same.
"""

from __future__ import annotations

import hashlib
import json
import queue
import sys
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hakmem_lab.constants import copies, judges, loads, page, summary
from hakmem_lab.constants import rows as table

ROOT = Path(__file__).resolve().parents[3]
CSV, PAGE, WORK = ROOT / "lab" / "docs" / "constants.csv", ROOT / "lab" / "docs" / "constants.md", ROOT / "build" / "constants"
EXCERPTS = ROOT / "tests" / "trace" / "corpus"

# Builds that do the same: what is mapped after the first chunk of own data lies elsewhere, or the code does.
CHANGED_FOR_NOTHING = (
    ("src/tables/meta.c", "FIRST_CHUNK = ", "64 << 10", "48 << 10"),
    ("src/tables/meta.c", "FIRST_CHUNK = ", "64 << 10", "80 << 10"),
    ("src/tables/meta.c", "FIRST_CHUNK = ", "64 << 10", "96 << 10"),
    ("src/retain/rent.c", "DAY_MS = ", "86400000", "86400001"),
    ("src/tables/range.c", " TRIES = ", "4", "5"),
)
PLACEBOS = [
    table.Row(f"placebo{n}", *change, "", "", "", "model", "", "", "")
    for n, change in enumerate(CHANGED_FOR_NOTHING)
]


# ---- traces ----

def unpacked(path: Path) -> bytes:
    """Gzip, of any number of members."""
    text, data = b"", path.read_bytes()
    while data:
        member = zlib.decompressobj(31)
        text += member.decompress(data)
        data = member.unused_data
    return text


def make_bench() -> tuple[judges.Bench, str]:
    """The excerpts and the loads; and a digest of them."""
    folder = WORK / "traces"
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    names = []
    traces = [(path.name, unpacked(path)) for path in sorted(EXCERPTS.glob("*.hakt"))]
    for name, text in (*traces, *loads.made()):
        (folder / name).write_bytes(text)
        digest.update(text)
        names.append(name)
    return judges.Bench(folder, names), digest.hexdigest()


# ---- results that are kept ----

class Results:
    """One file for each question."""

    def __init__(self, digest: str) -> None:
        self.digest = digest + Path(judges.__file__).read_text()
        self.folder = WORK / "results"
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, *question: str) -> Path:
        return self.folder / f"{hashlib.sha256(repr((self.digest, question)).encode()).hexdigest()[:24]}.json"

    def get(self, *question: str) -> dict | None:
        path = self.path(*question)
        return json.loads(path.read_text()) if path.is_file() else None

    def put(self, result: dict, *question: str) -> dict:
        part = self.path(*question).with_suffix(".part")
        part.write_text(json.dumps(result))
        part.rename(self.path(*question))
        return result


# ---- the work ----

def judge(tool: Path, bench: judges.Bench, settings: Mapping[str, str]) -> dict[str, judges.Figures]:
    found = judges.judged(tool, bench, settings, judges.PHASES_MS)
    for name, figures in judges.instructions(tool, bench, settings).items():
        found[name] |= figures
    return found


class Work:
    """Copies of the tree, one for each job, and what was found in them."""

    def __init__(self, jobs: int, bench: judges.Bench, results: Results) -> None:
        self.bench, self.results = bench, results
        self.copies: queue.SimpleQueue[copies.Copy] = queue.SimpleQueue()
        with ThreadPoolExecutor(jobs) as pool:
            made = list(pool.map(lambda n: copies.Copy(ROOT, WORK / f"copy{n}"), range(jobs)))
        for copy in made:
            self.copies.put(copy)
        self.sources = made[0].key()
        self.base = WORK / "bin" / "base"
        made[0].build(self.base)

    def of_base(self, settings: Mapping[str, str]) -> dict:
        question = ("base", self.sources, repr(sorted(settings.items())))
        return self.results.get(*question) or self.results.put(judge(self.base, self.bench, settings), *question)

    def spreads(self) -> summary.Spread:
        """What the base differs by for no reason: from phase to phase, and where mappings lie otherwise."""
        question = ("phases", self.sources)
        phases = judges.PHASES_MS + judges.OTHER_PHASES_MS
        found = self.results.get(*question) or self.results.put(
            {str(ms): judges.judged(self.base, self.bench, {}, (ms,)) for ms in phases}, *question)
        others = [self.of_variant(row, "half") for row in PLACEBOS]
        return summary.spreads(list(found.values()), self.of_base({}), others)

    def of_variant(self, row: table.Row, side: str) -> dict:
        settings = row.settings_of(side)
        question = ("variant", self.sources, repr(table.edits(row, side)), repr(sorted(settings.items())))
        return self.results.get(*question) or self.results.put(self.measure(row, side, settings), *question)

    def measure(self, row: table.Row, side: str, settings: Mapping[str, str]) -> dict:
        tool = WORK / "bin" / f"{row.name}-{side}"
        copy = self.copies.get()
        try:
            copy.build_variant(row, side, tool)
            return judge(tool, self.bench, settings)
        except (copies.BuildError, judges.RunError) as failure:
            return {"failure": str(failure)}
        finally:
            self.copies.put(copy)
            tool.unlink(missing_ok=True)


def fill(work: Work, row: table.Row, side: str, spread: summary.Spread) -> list[str]:
    """The row's cells; a line where the constant is clearly wrong."""
    new = work.of_variant(row, side)
    if "failure" in new:
        row.measured |= {f"{side}_cost": f"does not run: {new['failure'].splitlines()[-1][:100]}", f"{side}_best": "",
                         f"{side}_total": ""}
        return []
    better = summary.fill(row, side, work.of_base(row.settings_of(side)), new, spread)
    return [f"{row.name}: {side} is clearly better"] if better else []


def measure_all(rows: list[table.Row], jobs: int) -> list[str]:
    bench, digest = make_bench()
    work = Work(jobs, bench, Results(digest))
    spread = work.spreads()
    wanted = [row.settings_of(side) for row in rows for side in table.SIDES]
    for settings in {repr(one): one for one in wanted}.values():
        work.of_base(settings)
    tasks = [(row, side) for row in rows if row.reach == "model" for side in table.SIDES if row.side(side)]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    said: list[str] = []
    with Progress(*columns) as progress, ThreadPoolExecutor(jobs) as pool:
        bar = progress.add_task("variants", total=len(tasks))
        for lines in pool.map(lambda task: fill(work, *task, spread), tasks):
            said += lines
            progress.advance(bar)
    return said


def measure_constants(jobs: int, names: str, check: bool) -> int:
    """`names`, parted by commas: these rows only. The exit status."""
    rows = table.read(CSV)
    faults = table.faults(ROOT, rows) + table.stale(ROOT, "the copy", copies.EXTRA)
    for fault in faults:
        print(f"constants: {fault}", file=sys.stderr)
    if faults or check:
        return 1 if faults else 0
    only = set(names.split(",")) if names else {row.name for row in rows}
    chosen = [row for row in rows if row.name in only]
    for row in chosen:
        summary.clear(row)
    said = measure_all(chosen, max(jobs, 1))
    table.write(CSV, rows)
    page.write(PAGE, rows)
    print("\n".join(said) or "no constant is clearly wrong")
    return 0
