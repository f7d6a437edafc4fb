"""The command line. Every wrong input ends in one line on stderr that begins with `hakmem:`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer
from typer.exceptions import Abort, TyperException

from hakmem import __version__
from hakmem.bench.command import bench_app
from hakmem.errors import Refusal, Stopped
from hakmem.launch import signal_name, stop_on_signals
from hakmem.places import find_places
from hakmem.program import Program, default_program
from hakmem.run import run_program
from hakmem.summary import show_progress

app = typer.Typer(
    name="hakmem",
    help="Run programs on the HAKMEM memory allocator, measured beside glibc and proven.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(asked: bool) -> None:
    if asked:
        print(f"hakmem {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Run programs on the HAKMEM memory allocator, measured beside glibc and proven."""


RUN_EPILOG = (
    "Exit status: the program's own when everything held; 2 bad usage, or a program that cannot be preloaded; "
    "3 HAKMEM did not serve every call, or it could not be proven; 126 and 127 as in a shell; 130 after Ctrl-C."
)


@app.command(epilog=RUN_EPILOG, context_settings={"allow_interspersed_args": False})
def run(
    command: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="CMD", help="The program and its arguments. Default: CPython on a JSON-heavy script."
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", min=1, max=1000, metavar="N", help="Timed runs on each allocator.")
    ] = 5,
    stdin: Annotated[
        Optional[str],
        typer.Option(
            metavar="FILE",
            help="What every run reads as standard input; - reads this command's own first. "
            "Default: standard input if it is a file, else nothing.",
        ),
    ] = None,
    build: Annotated[
        Optional[Path], typer.Option(metavar="FOLDER", help="Where libhakmem.so and the tools were built.")
    ] = None,
    library: Annotated[
        Optional[Path], typer.Option(metavar="FILE", help="Another build of libhakmem.so to run on.")
    ] = None,
) -> int:
    """Run a program on HAKMEM and on glibc, and say what each needed.

    The program runs 2 N + 2 times: once on HAKMEM with every call counted, which is the run whose output is shown;
    once on glibc to warm up; then N times on each in turn, timed.

    The summary goes to stderr: wall time, CPU time, peak RSS and page faults (the smallest of the N runs), proof of
    which library served malloc and free, and the calls by route. HAKMEM_ settings in the environment apply.
    """
    program = Program(command) if command else default_program()
    return run_program(find_places(build, library), program, runs, stdin)


app.add_typer(bench_app, name="bench")


def say(text: str) -> None:
    show_progress("")
    print(f"hakmem: {text}", file=sys.stderr)


def one_line(text: str) -> str:
    return " ".join(text.split())


def main() -> None:
    stop_on_signals()
    try:
        status = app(prog_name="hakmem", standalone_mode=False)
    except TyperException as wrong:
        if wrong.format_message():  # empty when a bare `hakmem` has printed the help
            say(f"{one_line(wrong.format_message())} (see hakmem --help)")
        status = wrong.exit_code
    except Refusal as refusal:
        say(str(refusal))
        status = refusal.status
    except OSError as failure:
        say(f"{failure.filename or 'system'}: {failure.strerror or failure}")
        status = 1
    except (Stopped, Abort) as stop:
        number = stop.signal_number if isinstance(stop, Stopped) else 2
        say(f"stopped by {signal_name(number)}; the program was stopped too")
        status = 128 + number
    sys.exit(status)
