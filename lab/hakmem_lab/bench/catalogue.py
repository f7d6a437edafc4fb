# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which benchmarks there are, and which of them a set takes.

The C programs are asked for their rows (`hak_NAME list`); the real programs are those of real.py that are
installed, traces those of traces.py.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem_lab.bench.cell import Benchmark
from hakmem_lab.bench.comeback import KEPT
from hakmem_lab.bench.real import real_benchmarks
from hakmem_lab.bench.sets import SETS
from hakmem_lab.bench.traces import trace_rows

REAL = "real"
PREFIX = "hak_"
OTHER_BUILDS = ("_latency", "_worst")  # of the same programs, for passes of their own
FAMILIES = (KEPT,)  # groups of several programs: hak_kept_slots, hak_kept_bursts, ...
MEMBERS = {"period": KEPT}  # programs of a group that have another name

# The rows of `--set quick`: one of each kind, and arguments that make the long ones short.
QUICK: Mapping[str, tuple[str, ...]] = {
    "pair": (),
    "replace_400": (),
    "replace_8k": (),
    "replace_mid": (),
    "two_threads": (),
    "tiny_32_fifo": (),
    "tiny_64_random": (),
    "tiny_mixed": (),
    "tiny_longlived": (),
    "random_mixed": (),
    "mid_mt": ("threads=2",),
    "scenario_json": (),
    "scenario_mixed": (),
    "prodcons": (),
    "sharing_active": (),
    "sharing_passive": (),
    "contention_burst": (),
    "asymmetric_handover": (),
    "churn_1": ("count=500",),
    "growth_many": (),
    "zeroed_64k": (),
    "startup": ("count=100",),
    "idle": ("threads=200",),
    "frag": ("mib=64",),
    "giant": ("mib=64",),
    "kept_slots_16x1_9_thread": ("milliseconds=100",),
    "kept_runs": (),
    "sqlite3": (),
    "lua": (),
}

# Arguments of rows in all other sets: 1,000 idle threads take one of the peers 20 s; a day with its night takes 10 s.
LONG: Mapping[str, tuple[str, ...]] = {
    "idle": ("threads=300",),
    "daynight": ("repeats=2",),
    "daynight_single": ("repeats=2",),
}

# The rows of `--set scaling`, each at every number of threads.
SCALING = ("larson_tiny", "larson_mid", "mid_mt", "prodcons", "sharing_active", "sharing_passive")
SCALING_THREADS = (1, 2, 4, 8, 16)


# ---- what there is ----

def all_benchmarks(build: Path, traces: Iterable[Path] = ()) -> list[Benchmark]:
    """Those of the C programs in `build`/bench, then the real programs, then traces: these and the corpus's."""
    rows = [row for program in programs_of(build) for row in rows_of(program)]
    return [*rows, *real_rows(), *trace_rows(traces)]


def programs_of(build: Path) -> list[Path]:
    found = sorted(path for path in (build / "bench").glob(PREFIX + "*") if path.is_file())
    plain = [path for path in found if not path.name.endswith(OTHER_BUILDS)]
    if not plain:
        raise Refusal(f"{build / 'bench'} holds no benchmark: build them with `make`, or name the folder with --build")
    return plain


def rows_of(program: Path) -> Iterator[Benchmark]:
    variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        listing = subprocess.run([program, "list"], capture_output=True, text=True, check=True, env=variables).stdout
        for line in listing.splitlines():
            name, threads, how_often, operation = line.split("\t")
            yield Benchmark(name, group_of(program), operation, int(threads), how_often == "once", program)
    except (subprocess.CalledProcessError, OSError, ValueError):
        raise Refusal(f"{program} does not list its rows: build it again with `make`") from None


def group_of(program: Path) -> str:
    name = program.name.removeprefix(PREFIX)
    return MEMBERS.get(name) or next((family for family in FAMILIES if name.startswith(f"{family}_")), name)


def real_rows() -> Iterator[Benchmark]:
    for one in real_benchmarks():
        yield Benchmark(one.name, REAL, one.operation, once=True)


# ---- what is wanted ----

def chosen_benchmarks(benchmarks: list[Benchmark], set_name: str | None, pattern: str | None) -> list[Benchmark]:
    """--set and --filter; without --set, the filter looks at all of them."""
    found = in_set(benchmarks, set_name or ("full" if pattern else "quick"))
    return found if pattern is None else matching(found, pattern)


def in_set(benchmarks: list[Benchmark], name: str) -> list[Benchmark]:
    if name not in SETS:
        raise Refusal(f"--set {name}: no such set (there are {', '.join(SETS)})")
    if name == "quick":
        return [replace(one, arguments=QUICK[one.name]) for one in benchmarks if one.name in QUICK]
    if name == "scaling":
        return [scaled for one in benchmarks if one.name in SCALING for scaled in at_every_thread_number(one)]
    return [replace(one, arguments=LONG.get(one.name, ())) for one in benchmarks]


def at_every_thread_number(benchmark: Benchmark) -> Iterator[Benchmark]:
    for number in SCALING_THREADS:
        arguments = (*benchmark.arguments, f"threads={number}")
        yield replace(benchmark, name=f"{benchmark.name}@t{number}", threads=number, arguments=arguments)


def matching(benchmarks: list[Benchmark], pattern: str) -> list[Benchmark]:
    """A part of a name or of a group's name, a pattern with *, or several of them with commas."""
    parts = [part.strip() for part in pattern.split(",") if part.strip()]
    unknown = [part for part in parts if not any(fits(one, part) for one in benchmarks)]
    if unknown or not parts:
        hint = nearest(unknown[0], benchmarks) if unknown else "see hakmem-lab bench --list"
        raise Refusal(f"--filter {', '.join(unknown) or repr(pattern)}: no such benchmark ({hint})")
    return [one for one in benchmarks if any(fits(one, part) for part in parts)]


def nearest(part: str, benchmarks: list[Benchmark]) -> str:
    found = get_close_matches(part, [one.name for one in benchmarks], 1)
    return f"nearest: {found[0]}" if found else "see hakmem-lab bench --list"


def fits(benchmark: Benchmark, part: str) -> bool:
    return part in benchmark.name or part == benchmark.group or fnmatchcase(benchmark.name, part)


def passes_of(text: str | None, known: Iterable[str], default: tuple[str, ...]) -> list[str]:
    """--passes a,b, in the order in which passes are made."""
    if text is None:
        return [name for name in known if name in default]
    wanted = [name.strip() for name in text.split(",")]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise Refusal(f"--passes {', '.join(unknown)}: no such pass (there are {', '.join(known)})")
    return [name for name in known if name in wanted]
