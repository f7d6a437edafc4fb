# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run of a program: a folder, a server's phases, the launcher's figures and samples, the proofs of its processes.

The launcher starts the program, samples the memory of all its processes every 10 ms, and sums their CPU time; the clients
of a server are not among them.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import randrange
from time import monotonic, monotonic_ns, sleep

from hakmem.base.errors import Refusal, TimedOut
from hakmem.process import launch
from hakmem.process.executable import executable_file
from hakmem.process.launch import Figures, OpenStreams
from hakmem.process.peers import Allocator, installed_library, steering_variables
from hakmem.process.places import Places, find_tool
from hakmem.process.preload import environment, preload_value
from hakmem.process.proof import Record, read_records
from hakmem_lab.bench.cell import SERVED_BY, NotProven, last_line
from hakmem_lab.bench.real import served
from hakmem_lab.pareto.configurations import Configuration
from hakmem_lab.pareto.floor import Floor, floors, read_curves, watching, write_records
from hakmem_lab.pareto.integral import WALL, Clock, Phase, Samples, read_samples
from hakmem_lab.pareto.programs import Real, filled, settled

NOBODY = 65534
OF_NOBODY = ".nobody/"  # ends the name of a folder of policies for what runs as nobody: a policy is believed from its user
FOREIGN = ("LD_PRELOAD", "PG")
WHOLE, START, END, REST = "whole", "start", "end", "rest"
PROOF, SAMPLES, REPORT, OUTPUT, ERRORS = "proof", "samples", "report", "output", "errors"
POLL_SECONDS = 0.01
PADDING, PADDING_BYTES = "HAKPROBE_PADDING", 4096
POLITE_ENDS = (0, 128 + signal.SIGTERM)


@dataclass(frozen=True)
class Measured:
    """A run that ended well. `phases` cover it, from its start to its end."""

    figures: Figures
    samples: Samples
    phases: list[Phase]
    clock: Clock

    @property
    def cpu_seconds(self) -> float:
        return (self.figures.user_us + self.figures.sys_us) / 1e6

    @property
    def whole(self) -> Phase:
        return Phase(WHOLE, self.phases[0].start_ns, self.phases[-1].end_ns)


@dataclass(frozen=True)
class Context:
    """What every run of a session needs; the folder is for whatever user a program runs as."""

    places: Places
    scratch: Path
    timeout: float
    prepare: Callable[[], None] = lambda: None  # the machine, before each measured run
    numbers: Iterator[int] = field(default_factory=count)

    def new_folder(self, name: str) -> Path:
        return self.scratch / f"{name}{next(self.numbers)}"


def plain_environment() -> dict[str, str]:
    """Without the caller's variables that steer an allocator: how it runs is the configuration's matter."""
    steering = steering_variables(os.environ)
    return {name: value for name, value in os.environ.items() if name not in steering and not name.startswith(FOREIGN)}


def as_user(row: Real, words: list[str]) -> list[str]:
    """What does not run as root runs as nobody; setpriv becomes the first of the words."""
    if not row.ordinary or os.geteuid() != 0:
        return words
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words]


def variables_for(row: Real, configuration: Configuration) -> dict[str, str]:
    """Folders among the settings are those of the user that it runs as."""
    variables = configuration.variables
    if not row.ordinary or os.geteuid() != 0:
        return variables
    return {name: value.rstrip("/") + OF_NOBODY if value.endswith("/") else value for name, value in variables.items()}


def own_folder(row: Real, folder: Path) -> None:
    if row.ordinary and os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.lchown(path, NOBODY, NOBODY)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# ---- a server while it is asked ----

@dataclass
class Asking:
    """The Load of servers.py: marks phases, and runs clients that are not measured."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes]
    timeout: float
    marks: list[tuple[str, int]] = field(default_factory=list)

    def phase(self, name: str) -> None:
        self.marks.append((name, monotonic_ns()))

    def rest(self, seconds: float) -> None:
        self.phase(f"{REST} {sum(name.startswith(REST) for name, _ in self.marks) + 1}")
        sleep(seconds)

    def ask(self, *words: str, stdin: str = "") -> str:
        return self.finish(self.begin(words), stdin)

    def ask_all(self, *clients: tuple[tuple[str, ...], str]) -> None:
        """What each reads is little enough for a pipe, or read before it answers."""
        begun = [(self.begin(words), text) for words, text in clients]
        for process, text in begun:
            assert process.stdin is not None
            process.stdin.write(text)
            process.stdin.close()
            process.stdin = None
        for process, _ in begun:
            self.finish(process, None)

    def begin(self, words: tuple[str, ...]) -> subprocess.Popen[str]:
        return subprocess.Popen(words, cwd=self.folder, env=plain_environment(), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")

    def finish(self, client: subprocess.Popen[str], text: str | None) -> str:
        try:
            said, _ = client.communicate(text, timeout=self.timeout)
        except BaseException as failure:
            client.kill()
            client.communicate()
            raise TimedOut(self.timeout) from None if isinstance(failure, subprocess.TimeoutExpired) else failure
        if client.returncode != 0:
            lines = said.strip().splitlines()
            raise Refusal(f"{client.args[0]} exited with {client.returncode}: {lines[-1] if lines else ''}")  # type: ignore
        return said

    def wait_for(self, path: str | None = None) -> None:
        end = monotonic() + self.timeout
        while not self.listens(path):
            if self.process.poll() is not None:
                raise Refusal(f"it ended before it was ready: {last_line(self.folder / ERRORS)}")
            if monotonic() > end:
                raise TimedOut(self.timeout)
            sleep(POLL_SECONDS)

    def listens(self, path: str | None) -> bool:
        family, where = (socket.AF_UNIX, str(self.folder / path)) if path else (socket.AF_INET, ("127.0.0.1", self.port))
        with socket.socket(family) as probe:
            return probe.connect_ex(where) == 0  # type: ignore[arg-type]


# ---- what is prepared once ----

@dataclass
class Ground:
    """The folder that each run of a program gets a copy of."""

    row: Real
    folder: Path
    timeout: float

    def filled(self, words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(filled(word, 0, self.folder) for word in words)

    def run(self, *words: str) -> None:
        done = subprocess.run(as_user(self.row, list(words)), cwd=self.folder, env=plain_environment(), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            lines = done.stdout.strip().splitlines()
            raise Refusal(f"cannot be prepared: {words[0]}: {lines[-1] if lines else done.returncode}")

    @contextmanager
    def serving(self, *words: str) -> Iterator[Asking]:
        """On whatever allocator the system has."""
        with (self.folder / ERRORS).open("wb") as log:
            process = subprocess.Popen(as_user(self.row, list(self.filled(words))), cwd=self.folder, stdout=log, stderr=log,
                                       env=plain_environment(), stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                yield Asking(0, self.folder, process, self.timeout)
                process.terminate()
                process.wait(self.timeout)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()


def prepared(context: Context, row: Real) -> Path:
    """Made at the first run, and kept while the command runs."""
    folder = context.scratch / f"ground-{row.name}"
    if not folder.exists():
        making = context.new_folder("making")
        making.mkdir()
        own_folder(row, making)
        if row.prepare:
            row.prepare(Ground(row, making, context.timeout))
        own_folder(row, making)
        making.rename(folder)
    return folder


@contextmanager
def run_folder(context: Context, row: Real, port: int) -> Iterator[Path]:
    """A copy, with the files of this run; short, because the path of a socket may have 107 characters only."""
    folder = context.new_folder("r")
    subprocess.run(["cp", "-a", prepared(context, row), folder], check=True)
    try:
        for name, text in row.files.items():
            (folder / name).write_text(filled(text(), port, folder), encoding="utf-8")
        own_folder(row, folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- one run ----

@dataclass(frozen=True)
class Running:
    row: Real
    folder: Path
    port: int
    process: subprocess.Popen[bytes]


@contextmanager
def started(context: Context, row: Real, folder: Path, port: int, environ: Mapping[str, str]) -> Iterator[Running]:
    """Whatever ends the body ends the program."""
    launching = [str(context.places.launcher), "-s", str(folder / SAMPLES), str(folder / REPORT)]
    command = as_user(row, [*launching, *settled(row, port, folder).words])
    stdin = folder / row.stdin if row.stdin else Path(os.devnull)
    with stdin.open("rb") as source, (folder / OUTPUT).open("wb") as output, (folder / ERRORS).open("wb") as errors:
        process = launch.start(command, environ, OpenStreams(source, output, errors), folder)
        with launch.ended_by_an_error(process):
            yield Running(row, folder, port, process)


def go_through(context: Context, running: Running) -> list[tuple[str, int]]:
    """To the end of the program; the marks of its phases."""
    row, process = running.row, running.process
    marks = [(START if row.load else WHOLE, monotonic_ns())]
    if row.load:
        asking = Asking(running.port, running.folder, process, context.timeout, marks)
        row.load(asking)
        asking.phase(END)
        process.terminate()
    if process.poll() is None:
        launch.wait_at_most(process, context.timeout)
        process.wait()
    return [*marks, ("", monotonic_ns())]


def phases_of(marks: list[tuple[str, int]]) -> list[Phase]:
    return [Phase(name, start, end) for (name, start), (_, end) in zip(marks, marks[1:])]


def finished(running: Running, marks: list[tuple[str, int]]) -> Measured:
    row, folder = running.row, running.folder
    figures = launch.checked(row.words[0], launch.parse_figures((folder / REPORT).read_text()))
    if figures.status not in (POLITE_ENDS if row.load else POLITE_ENDS[:1]):
        raise Refusal(f"{figures.end}: {last_line(folder / ERRORS)}")
    samples, phases = read_samples(folder / SAMPLES), phases_of(marks)
    clock = WALL if row.load else samples.own_clock(phases[0], (figures.user_us + figures.sys_us) / 1e6)
    return Measured(figures, samples, phases, clock)


def preloads(context: Context, allocator: Allocator) -> list[Path]:
    serving = allocator.so_file or installed_library("libc.so.6")
    if serving is None:
        raise Refusal("cannot find glibc's libc.so.6")
    return [context.places.identity_probe, serving]


def variables_of(row: Real, folder: Path, libraries: list[Path], more: Mapping[str, str]) -> dict[str, str]:
    fixed = {"HAKPROBE_FILE": str(folder / PROOF), "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C.UTF-8", **padding()}
    return environment(plain_environment(), preload_value(libraries, []), {**row.variables, **fixed, **more})


def padding() -> dict[str, str]:
    """A variable of another length in each run: a program's stack, and what it copies of its environment, lie elsewhere for
    each length, and that alone is worth 10 % of gawk's time; with one length a configuration would keep its luck for ever
    (Mytkowicz, Diwan, Hauswirth and Sweeney, 2009)."""
    return {PADDING: "x" * randrange(PADDING_BYTES)}


def measure(context: Context, row: Real, configuration: Configuration) -> Measured:
    """Raises Refusal when it fails, is not served, or takes too long."""
    port = free_port()
    with run_folder(context, row, port) as folder:
        environ = variables_of(row, folder, preloads(context, configuration.allocator), variables_for(row, configuration))
        context.prepare()
        with started(context, row, folder, port, environ) as running:
            done = finished(running, go_through(context, running))
        refuse_unless_served(row, configuration.allocator, read_records(folder / PROOF))
        return done


def refuse_unless_served(row: Real, allocator: Allocator, records: list[Record]) -> None:
    """Every process that was executed, and the one that does the work must be among them."""
    strangers = [record for record in records if not served(allocator, record)]
    if strangers:
        raise NotProven(f"{SERVED_BY}{strangers[0].server} in {os.path.basename(strangers[0].exe)}")
    if not any(is_heart(row, record.exe) for record in records):
        raise NotProven(f"{SERVED_BY}nobody knows whom: {row.heart} left no proof")


def is_heart(row: Real, exe: str) -> bool:
    """By what a link leads to: redis-server is one with redis-check-rdb."""
    command = row.words[0] if Path(row.words[0]).name == row.heart else None
    return Path(exe).name == row.heart or (command is not None and Path(exe) == executable_file(command))


# ---- the run that the floor is taken from ----

def measure_floor(context: Context, row: Real, hakmem: Allocator) -> list[Floor]:
    port = free_port()
    assert hakmem.so_file is not None
    with run_folder(context, row, port) as folder:
        traces = folder / "traces"
        traces.mkdir()
        own_folder(row, traces)
        build = context.places.launcher.parent
        libraries = [context.places.identity_probe, find_tool(build, "libhakmark.so"), hakmem.so_file]
        tracing = {"HAKMEM_TRACE_FILE": str(traces / "calls"), "HAKMARK_LIBRARY": str(hakmem.so_file),
                   "HAKMEM_MODE": "baseline"}
        environ = variables_of(row, folder, libraries, tracing)
        with started(context, row, folder, port, environ) as running:
            with watching(hakmem.so_file, running.process.pid) as watch:
                marks = go_through(context, running)
            done = finished(running, marks)
        refuse_unless_served(row, hakmem, read_records(folder / PROOF))
        origin = write_records(traces / "calls", folder / "records")
        curves = read_curves(find_tool(build, "hak_live"), folder / "records")
        return floors(done.phases, curves, watch.looks, origin, done.clock)
