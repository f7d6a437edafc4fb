# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a probe under valgrind's callgrind with the library preloaded and reads the dumps it asked for.

The probe asks for a dump under a title. A dump says how often each instruction ran:

    desc: Trigger: Client Request: malloc 48 33
    ob=libhakmem.so
    fn=malloc
    0x8700 4

Only the instructions of the library itself are kept; jump stubs and other libraries are not counted.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

TITLE = "desc: Trigger: Client Request: "


class ToolError(RuntimeError):
    """Something the count needs did not work."""


@dataclass
class Dump:
    """What ran of the library under one title: address -> times, and function -> instructions."""

    title: str
    times: Counter[int] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)

    def add(self, function: str, cost_line: str) -> None:
        """Takes one line `0x8700 4` in."""
        address, times = cost_line.split()
        self.times[int(address, 16)] += int(times)
        self.functions[function] += int(times)


def run_tool(argv: list[str], env: Mapping[str, str] | None = None, stdin: Path = Path(os.devnull)) -> str:
    """A tool's stdout; its stderr is the message when it fails."""
    with stdin.open("rb") as source:
        done = subprocess.run(argv, env=env, stdin=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError(f"{argv[0]} exits with {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


# ---- running ----

def counting_environment(library: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """This environment with no settings of HAKMEM but these, the library preloaded."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HAKMEM_")}
    return env | settings | {"LD_PRELOAD": str(library)}


def checked_lines(said: str, library: Path) -> list[str]:
    """What the probe said after its first line, which names the library that serves malloc."""
    first, *rest = said.splitlines()
    serving = Path(first.split(maxsplit=1)[1])
    if serving.resolve() != library:
        raise ToolError(f"malloc lies in {serving}, not in {library}")
    return rest


def run_probe(command: list[str], library: Path, settings: Mapping[str, str]) -> tuple[str, list[str]]:
    """Callgrind's dumps of the command's run, all in one text, and what the probe said."""
    with tempfile.TemporaryDirectory(prefix="hakmem-count-") as folder:
        out = Path(folder) / "dumps"
        said = run_tool([
            "valgrind", "--tool=callgrind", "--collect-atstart=no", "--dump-instr=yes", "--dump-line=no",
            "--compress-strings=no", "--compress-pos=no", "--combine-dumps=yes", f"--callgrind-out-file={out}",
            *command], counting_environment(library, settings))
        return out.read_text(), checked_lines(said, library)


# ---- reading ----

def add_costs(dump: Dump, lines: Iterator[str], library: Path) -> None:
    """Reads one dump's costs up to its end. The line after `calls=` is the callee's, counted where it ran."""
    ours, function = False, ""
    for line in lines:
        if line.startswith("totals:"):
            return
        if line.startswith("ob="):
            ours = Path(line[3:]).resolve() == library
        elif line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            next(lines)
        elif ours and line.startswith("0x"):
            dump.add(function, line)


def parse_dumps(text: str, library: Path) -> list[Dump]:
    """All dumps the probe asked for; the one at the program's end is none of them."""
    dumps: list[Dump] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(TITLE):
            dump = Dump(line.removeprefix(TITLE))
            add_costs(dump, lines, library)
            dumps.append(dump)
    if not dumps:
        raise ToolError("callgrind wrote no dump")
    return dumps
