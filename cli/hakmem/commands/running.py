# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands that run a program, or say how one would run: run, exec, path, env, doctor."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from hakmem.commands.shared import BuildFolder, OtherLibrary, app

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
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> int:
    """Run a program on HAKMEM and on glibc, and say what each needed.

    The program runs 2 N + 2 times: once on HAKMEM with every call counted, which is the run whose output is shown;
    once on glibc to warm up; then N times on each in turn, timed.

    The summary goes to stderr: wall time, CPU time, peak RSS and page faults (the smallest of the N runs), proof of
    which library served malloc and free, and the calls by route. HAKMEM_ settings in the environment apply.
    """
    from hakmem.process.places import find_places
    from hakmem.process.program import Program, default_program
    from hakmem.running.run import run_program

    program = Program(command) if command else default_program()
    return run_program(find_places(build, library), program, runs, stdin)


EXEC_EPILOG = (
    "Exit status: the program's own, as it is the program; 2 bad usage, or a program that HAKMEM cannot serve; 126 and 127 "
    "as in a shell."
)
Setting = Annotated[
    Optional[list[str]],
    typer.Option("--set", metavar="NAME=VALUE", help="A setting (docs/settings.md). May be given again."),
]
Mode = Annotated[Optional[str], typer.Option(metavar="MODE", help="Short for --set mode=MODE.")]
Price = Annotated[
    Optional[str], typer.Option(metavar="PRICE", help="Short for --set price=PRICE: speed, balanced, lean, or a number.")
]


@app.command("exec", epilog=EXEC_EPILOG, context_settings={"allow_interspersed_args": False})
def exec_program(
    command: Annotated[list[str], typer.Argument(metavar="CMD", help="The program and its arguments.")],
    mode: Mode = None,
    price: Price = None,
    stats: Annotated[
        bool, typer.Option("--stats", help="A small parent waits, and says on stderr at the end what it used.")
    ] = False,
    profile: Annotated[
        Optional[str],
        typer.Option(
            "--profile", metavar="[=FILE]",
            help="The same, and says who holds memory, however the program ends. --profile=FILE: the profile goes there. "
            "Default: PROGRAM.PID.heap.pb.gz. Of a script that only runs a program it is that program's.",
        ),
    ] = None,
    children: Annotated[
        bool, typer.Option("--children", help="With --profile: a file for each other process that it started, too.")
    ] = False,
    settings: Setting = None,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> None:
    """Run a program once on HAKMEM, by becoming it.

    Its process number, signals, terminal and exit status are its own, and nothing is printed. What LD_PRELOAD has
    already stays, behind HAKMEM.
    """
    from hakmem.running.exec import Order, execute

    execute(Order(command, mode, price, stats, profile, tuple(settings or ()), build, library, children))


@app.command(epilog="Exit status: 0 it was printed; 2 bad usage, or there is no such library.")
def path(
    flavour: Annotated[
        str, typer.Option(metavar="FLAVOUR", help="preload, static, override, or dl (README.md says what they are).")
    ] = "preload",
    build: BuildFolder = None,
) -> None:
    """Print where the library is."""
    from hakmem.running.shell import print_path

    print_path(flavour, build)


@app.command(epilog="Exit status: 0 it was printed; 2 bad usage, or there is no library.")
def env(
    shell: Annotated[
        Optional[str], typer.Option(metavar="SHELL", help="sh, bash, zsh or fish. Default: as $SHELL says, else sh.")
    ] = None,
    mode: Mode = None,
    price: Price = None,
    settings: Setting = None,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> None:
    """Print what a shell is to evaluate so that all it starts runs on HAKMEM: eval "$(hakmem env)".

    In fish: hakmem env --shell fish | source
    """
    from hakmem.running.shell import print_env

    print_env(shell, mode, price, tuple(settings or ()), build, library)


@app.command(
    epilog="Exit status: 0 all is well; 1 something is to be changed; 2 it would not be served, or bad usage.",
    context_settings={"allow_interspersed_args": False},
)
def doctor(
    command: Annotated[
        Optional[list[str]], typer.Argument(metavar="[CMD]", help="A program; its arguments are not looked at.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    build: BuildFolder = None,
    library: OtherLibrary = None,
) -> int:
    """Say whether HAKMEM would serve a program here, and what to change.

    The program is not run: its file and those it is linked with are read. Looked at are, too, the kernel's settings and
    the limits and variables of this process, which a program would inherit.
    """
    from hakmem.doctor.examine import examine

    return examine(command[0] if command else None, as_json, build, library)
