# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real programs as benchmarks: those that are installed, each with an input that makes it allocate for a while.

One operation is one run of the program, from its start to its end (for redis: one request). Every run carries the
library that looks, which proves in every process of the tree who serves malloc and free; glibc's column preloads
libc.so.6, because a program may be linked with another malloc, as Debian's redis is. What a program computes must be
what it computes on glibc.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.executable import executable_file
from hakmem.process.launch import Figures, Streams
from hakmem.process.peers import GLIBC, HAKMEM, Allocator, installed_library, is_file_of
from hakmem.process.places import candidate_roots
from hakmem.process.preload import environment, preload_value
from hakmem.process.program import system_python
from hakmem.process.proof import Record, read_records
from hakmem_lab.bench import redis, traces
from hakmem_lab.bench.cell import SERVED_BY, Benchmark, Context, NotProven, last_line, unit_of, used
from hakmem_lab.bench.record import COUNTED, OK, Metric, Run

INPUTS = Path("bench") / "programs"
RUN = "one run of the program"
PROOF = "proof"
COUNTS = "counts"


@dataclass(frozen=True)
class RealProgram:
    """`arguments` may name {inputs} and {folder}, a new one for each run."""

    name: str
    package: str  # of Debian
    command: str
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    stdin: str | None = None  # a file among the inputs
    product: str | None = None  # a file in the folder that is compared beside stdout
    heart: str | None = None  # the executable that does the work, where it is not the command itself
    operation: str = RUN
    trace: Path | None = None  # a file that the command goes through

    def argv(self, folder: Path) -> list[str]:
        return [self.command, *(word.format(inputs=inputs(), folder=folder) for word in self.arguments)]

    def is_heart(self, exe: str) -> bool:
        if self.heart:
            return os.path.basename(exe) == self.heart
        return Path(exe) == executable_file(self.command)


def compiler(name: str, source: str, heart: str) -> RealProgram:
    words = ("-O1", "-c", f"{{inputs}}/{source}", "-o", "{folder}/object")
    return RealProgram(name, name, name, words, product="object", heart=heart)


def python(name: str, allocator: str) -> RealProgram:
    variables = {"PYTHONMALLOC": allocator, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    return RealProgram(name, "python3", system_python(), ("{inputs}/json_heavy.py",), variables)


PICTURE = ("-q", "-sDEVICE=ppmraw", "-r72", "-o", "-", "{inputs}/drawing.ps")
PERL_ORDER = {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}
PROGRAMS = (
    compiler("gcc", "tables.c", "cc1"),
    compiler("g++", "templates.cpp", "cc1plus"),
    python("python", "pymalloc"),
    python("python_malloc", "malloc"),
    RealProgram("redis", "redis-server redis-tools", redis.SERVER, operation=redis.OPERATION),
    RealProgram("sqlite3", "sqlite3", "sqlite3", ("-batch", "-bail"), stdin="shop.sql"),
    RealProgram("lua", "lua5.4", "lua5.4", ("{inputs}/tables.lua",)),
    RealProgram("perl", "perl", "perl", ("{inputs}/words.pl",), PERL_ORDER),
    RealProgram("ghostscript", "ghostscript", "gs", PICTURE),
    RealProgram("z3", "z3", "z3", ("{inputs}/puzzle.smt2",)),
)


# ---- which there are ----

def real_benchmarks() -> list[RealProgram]:
    """Those that are installed; none outside a checkout, where their inputs are."""
    return [program for program in PROGRAMS if inputs_root() and installed(program)]


def missing_programs() -> list[str]:
    """One line for each that is not installed."""
    return [f"{one.name} (apt-get install {one.package})" for one in PROGRAMS if not installed(one)]


def installed(program: RealProgram) -> bool:
    needed = redis.COMMANDS if program.command == redis.SERVER else (program.command,)
    return all(shutil.which(command) for command in needed)


def named(name: str) -> RealProgram:
    return next(program for program in PROGRAMS if program.name == name)


def program_of(context: Context, benchmark: Benchmark) -> RealProgram:
    """A trace is replayed by a program that is no different from others."""
    if benchmark.trace is None:
        return named(benchmark.name)
    replay, file = traces.command(context), benchmark.trace
    return RealProgram(benchmark.name, "", replay, heart=traces.TOOL, operation=benchmark.operation, trace=file)


def inputs_root() -> Path | None:
    return next((root for root in candidate_roots() if (root / INPUTS).is_dir()), None)


def inputs() -> Path:
    root = inputs_root()
    if root is None:
        raise Refusal(f"{INPUTS} is missing: run this inside the checkout of HAKMEM")
    return root / INPUTS


# ---- one run, whoever serves it ----

@dataclass(frozen=True)
class Manner:
    """How a program is started: what is preloaded, what is in its environment, and a tracer before the command."""

    libraries: list[Path]
    variables: Mapping[str, str] = field(default_factory=dict)
    tracer: tuple[str, ...] = ()


@dataclass(frozen=True)
class Performed:
    """A run that ended well."""

    figures: Figures
    ns: float  # per operation
    operations: int
    digest: str  # of what it computed
    further: Mapping[str, float] = field(default_factory=dict)  # figures by name


def perform(context: Context, program: RealProgram, manner: Manner, folder: Path) -> Performed:
    """Leaves the proofs in the folder. Raises Refusal when the program fails or does not end in time."""
    variables = {**program.variables, "HAKPROBE_FILE": str(folder / PROOF), **manner.variables}
    environ = environment(os.environ, preload_value(manner.libraries, []), variables)
    if program.command == redis.SERVER:
        done = redis.run(context.places.launcher, folder, environ, manner.tracer, context.timeout)
        return Performed(done.figures, done.ns, redis.REQUESTS, done.digest, done.resident)
    if program.trace:
        gone = traces.run(context, program.trace, [*manner.tracer, program.command], environ, folder)
        return Performed(gone.figures, gone.ns, gone.operations, gone.digest)
    return perform_once(context, program, [*manner.tracer, *program.argv(folder)], environ, folder)


def perform_once(
    context: Context, program: RealProgram, argv: list[str], environ: Mapping[str, str], folder: Path
) -> Performed:
    output, errors = folder / "output", folder / "errors"
    stdin = inputs() / program.stdin if program.stdin else None
    figures = context.launcher.run(argv, environ, Streams(stdin, output, errors), timeout=context.timeout)
    if figures.status != 0:
        raise Refusal(f"{figures.end}: {last_line(errors)}")
    results = [output] + ([folder / program.product] if program.product else [])
    return Performed(figures, figures.wall_ns, 1, digest_of(*(path.read_bytes() for path in results)))


def digest_of(*results: bytes) -> str:
    return sha256(b"".join(results)).hexdigest()


@contextmanager
def run_folder(context: Context) -> Iterator[Path]:
    """Short, because the path of a unix socket may have 107 characters only."""
    with tempfile.TemporaryDirectory(dir=context.scratch, prefix="r") as folder:
        yield Path(folder)


# ---- proven runs ----

def preloaded(context: Context, allocator: Allocator) -> list[Path]:
    """Alike on every side: the library that looks, and the allocator's."""
    serving = allocator.so_file or installed_library("libc.so.6")
    if serving is None:
        raise Refusal("cannot find glibc's libc.so.6")
    return [context.places.identity_probe, serving]


def perform_proven(
    context: Context, program: RealProgram, allocator: Allocator, tracer: tuple[str, ...] = ()
) -> Performed:
    """Refuses what another allocator served and what computed something else than on glibc."""
    wanted = expected_digest(context, program)
    done = perform_served(context, program, allocator, tracer)
    if done.digest != wanted:
        raise Refusal("computed something else than on glibc")
    return done


def perform_served(
    context: Context, program: RealProgram, allocator: Allocator, tracer: tuple[str, ...] = ()
) -> Performed:
    with run_folder(context) as folder:
        done = perform(context, program, Manner(preloaded(context, allocator), {}, tracer), folder)
        refuse_unless_served(program, allocator, read_records(folder / PROOF))
        return done


def expected_digest(context: Context, program: RealProgram) -> str:
    """Of a run on glibc, made once per benchmark and kept in the scratch folder."""
    kept = context.scratch / f"{program.name}.digest"
    if not kept.exists():
        try:
            kept.write_text(perform_served(context, program, Allocator(GLIBC, None, "")).digest)
        except Refusal as refusal:
            raise Refusal(f"cannot be compared with its run on glibc, which {refusal}") from None
    return kept.read_text()


def refuse_unless_served(program: RealProgram, allocator: Allocator, records: list[Record]) -> None:
    """Every process of the tree, and the one that matters must be among them."""
    strangers = [record for record in records if not served(allocator, record)]
    if strangers:
        raise NotProven(f"{SERVED_BY}{strangers[0].server} in {os.path.basename(strangers[0].exe)}")
    if not any(program.is_heart(record.exe) for record in records):
        raise NotProven(f"{SERVED_BY}nobody knows whom: {program.heart or program.command} left no proof")


def served(allocator: Allocator, record: Record) -> bool:
    same = record.malloc_path == record.free_path and is_file_of(allocator, record.malloc_path)
    return same and (record.owned or allocator.name != HAKMEM)


def run_real(
    context: Context, benchmark: Benchmark, allocator: Allocator, round_number: int, phase: str
) -> tuple[Run, list[Metric]]:
    """As run_cell: never raises for what the program did."""
    start = (benchmark.name, benchmark.group, allocator.name, round_number, phase)
    try:
        done = perform_proven(context, program_of(context, benchmark), allocator)
    except Refusal as refusal:
        return Run(*start, str(refusal)), []
    further = [Metric(benchmark.name, allocator.name, round_number, name, value, unit_of(name))
               for name, value in done.further.items()] if phase == COUNTED else []
    return Run(*start, OK, ns=done.ns, operations=done.operations, **used(done.figures)), further


# ---- the counted twin ----

def run_counted(context: Context, benchmark: Benchmark, folder: Path) -> Performed:
    """On HAKMEM with the probe that counts: its records are in folder/PROOF.*, HAKMEM's counters in folder/COUNTS.*."""
    libraries = [context.places.counting_probe, context.places.so_file]
    counting = {"HAKMEM_COUNT_CALLS": "on", "HAKMEM_COUNTERS_FILE": str(folder / COUNTS)}
    return perform(context, program_of(context, benchmark), Manner(libraries, counting), folder)
