# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem learn -o FOLDER/`: all programs that a command starts learn at once, each in a file of its own there.

Each process writes at its own exit, so that its policy stays when another process fails.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hakmem.base.console import stderr_console
from hakmem.base.errors import NOT_PROVEN, Refusal
from hakmem.base.exit import printable
from hakmem.base.figures import counted
from hakmem.base.streams import bar, show_progress
from hakmem.learning.learn import run_once, use_text
from hakmem.learning.policy import Policy, next_run, read_policy
from hakmem.process.places import PATH_MOST
from hakmem.process.program import Program, refuse_unless_preloadable

if TYPE_CHECKING:
    from rich.table import Table

@dataclass(frozen=True)
class Order:
    program: Program
    folder: Path
    runs: int
    mode: str


def is_folder(text: str) -> bool:
    return text.endswith("/") or Path(text).is_dir()


def made(folder: Path) -> Path:
    """For its user alone: a policy that others may write is not read."""
    whole = folder.absolute()
    if len(os.fsencode(f"{whole}/")) > PATH_MOST:
        raise Refusal(f"{folder}: too long a path for the setting policy_file")
    try:
        whole.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as failure:
        raise Refusal(f"{folder}: {(failure.strerror or '').lower()}", 1) from None
    if not os.access(whole, os.W_OK):
        raise Refusal(f"{folder}: permission denied", 1)
    return whole


def written_at(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in folder.glob("*.policy")}


def refuse_if_full(folder: Path) -> None:
    least = 64 << 10  # bytes, of a policy
    there = os.statvfs(folder)
    if there.f_bavail * there.f_frsize < least:
        raise Refusal(f"{folder}: no space left on device", 1)


def learn_all(library: Path, order: Order) -> int:
    """The exit status: the program's own when it fails."""
    refuse_unless_preloadable(order.program)
    folder = made(order.folder)
    before = written_at(folder)
    for number in range(order.runs):
        show_progress(f"learning {bar(number / order.runs)} run {number + 1} of {order.runs}\n")
        status = run_once(library, order.program, {"HAKMEM_MODE": order.mode, "HAKMEM_POLICY_FILE": f"{folder}/"})
        if status:
            raise Refusal(f"{order.program.argv[0]}: run {number + 1} ended with status {status}; {order.folder} has what its "
                          "processes learnt", status)
    changed = [name for name, at in written_at(folder).items() if before.get(name) != at]
    if not changed:
        refuse_if_full(folder)
        raise Refusal(f"{order.program.argv[0]}: no process of it wrote a policy: each has a heap below 2 MiB, ends by _exit, or "
                      "is not served by HAKMEM", NOT_PROVEN)
    say = stderr_console().print
    say(f"\nhakmem learn: {order.program}")
    say(f"{counted(len(changed), 'program', 'programs')} learnt: hakmem policy {printable(shlex.quote(str(order.folder)))}")
    say(f"use it, and go on: {printable(use_text({'policy_file': f'{folder}/'}, order.program))}")
    return 0


# ---- what a folder holds ----

def policies_in(folder: Path) -> dict[str, Policy | str]:
    """By file, or why it cannot be read."""
    found: dict[str, Policy | str] = {}
    for file in sorted(folder.glob("*.policy")):
        try:
            found[file.name] = read_policy(file)
        except Refusal as refusal:
            found[file.name] = str(refusal)
    return found


HEADINGS = ("program", "runs", "a run", "heap", "cost", "saved", "the next run")


def table_of(policies: dict[str, Policy | str]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if number in (0, len(HEADINGS) - 1) else "right", overflow="fold")
    for name, policy in policies.items():
        table.add_row(Text(printable(name.removesuffix(".policy"))), *cells_of(policy))
    return table


def alone_text(policy: Policy) -> str:
    return "choices of learners alone" if policy.learnt else "keep times alone"


def cells_of(policy: Policy | str) -> tuple[str, ...]:
    past = None if isinstance(policy, str) else policy.past
    if past is None:
        return (*[""] * (len(HEADINGS) - 2), "damaged: it is not read" if isinstance(policy, str) else alone_text(policy))
    paid = f"{past.paid_us / 1000:.1f} ms" if past.is_measured else "?"
    return (f"{past.runs:,}", f"{past.life_ms / 1000:.2f} s", f"{past.peak_kib / 1024:.1f} MiB", paid,
            f"{past.kept_mib_ms / 1000:.1f}", next_run(past))


def show_folder(folder: Path) -> None:
    from hakmem.base.console import stdout_console

    policies = policies_in(folder)
    if not policies:
        raise Refusal(f"{folder}: no policy in it")
    console = stdout_console()
    console.print(table_of(policies))
    console.print("Means of the last runs: the largest heap; what giving memory back cost, and saved in MiB x s. The next run at "
                  "the price `balanced`.", style="dim", highlight=False)
