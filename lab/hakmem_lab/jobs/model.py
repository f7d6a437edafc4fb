# SPDX-License-Identifier: MIT OR Apache-2.0
"""A job: a folder with a program, and job.toml, which says what is true of it and what is typed for each tool."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hakmem.base.errors import Refusal

FOLDER = Path(__file__).parents[2] / "jobs"
BARE = "bare"
TOOLS = ("hakmem", "heaptrack", "memray", "massif", "jeprof", "pprof")
PAUSE = "wait:"  # a line that is not typed: the engineer waits, or the situation is made


@dataclass(frozen=True)
class Way:
    """What is typed for a tool, and where its answer stands."""

    tool: str
    lines: tuple[str, ...]
    site: str = ""  # a pattern that the right place matches
    figure: str = ""  # a pattern with the groups `number` and `unit`
    unit: str = ""  # of the number, where the pattern has no unit
    cannot: str = ""  # why there is no answer to be had
    at_most: str = ""  # a judge's bound on the verdict, and its reason in `note`
    note: str = ""

    @property
    def typed(self) -> list[str]:
        return [line for line in self.lines if not line.startswith(PAUSE)]

    @property
    def script(self) -> str:
        return "\n".join(line.removeprefix(PAUSE).strip() for line in self.lines)


@dataclass(frozen=True)
class Job:
    name: str
    folder: Path
    title: str
    question: str
    truth: str
    build: tuple[str, ...]
    process: str  # a pattern of the command line of the program
    true_figure: str  # a pattern with the group `number`: what the program says itself; the last one counts
    limited: bool
    ways: dict[str, Way]
    timeout_s: float = 120


def job_of(folder: Path) -> Job:
    try:
        facts = tomllib.loads((folder / "job.toml").read_text("utf-8"))
        ways = {name: way_of(name, found) for name, found in facts["tools"].items()}
        ways[BARE] = Way(BARE, tuple(facts["bare"]))
        job = Job(folder.name, folder, facts["title"], facts["question"], facts["truth"], tuple(facts.get("build", ())),
                  facts["process"], facts.get("true_figure", ""), facts.get("limited", False), ways,
                  facts.get("timeout_s", 120))
        refuse_bad_patterns(job)
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, re.error) as failure:
        raise Refusal(f"{folder / 'job.toml'}: {failure}") from None
    return job


def way_of(name: str, found: dict[str, Any]) -> Way:
    return Way(name, tuple(found.get("lines", ())), **{key: text for key, text in found.items() if key != "lines"})


def refuse_bad_patterns(job: Job) -> None:
    answers = (text for way in job.ways.values() for text in (way.site, way.figure))
    for pattern in (job.process, job.true_figure, *answers):
        re.compile(pattern)


def jobs_of(names: list[str], folder: Path = FOLDER) -> list[Job]:
    """Those of which a name is a part, or all."""
    found = [job_of(each.parent) for each in sorted(folder.glob("*/job.toml"))]
    for name in names:
        if not any(name in job.name for job in found):
            raise Refusal(f"no job {name}: expected {', '.join(job.name for job in found)}")
    return [job for job in found if not names or any(name in job.name for name in names)]
