# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem learn`: a program runs several times, each run goes on from what the one before learnt.

    FILE ---> copy in a private folder ---> program ---> written at its exit ---> FILE, once the run is whole
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.atomic_write import refuse_unless_writable, write_whole
from hakmem.base.console import stderr_console
from hakmem.base.errors import CANNOT_EXECUTE, NOT_PROVEN, Refusal, written
from hakmem.base.exit import printable
from hakmem.base.scratch import scratch_folder
from hakmem.base.streams import bar, show_progress
from hakmem.learning.learners import KINDS, arm_text
from hakmem.learning.policy import Policy, past_text, read_policy
from hakmem.process.counters import Counts, read_counts
from hakmem.process.launch import OpenStreams, start, wait_or_stop
from hakmem.process.places import PATH_MOST
from hakmem.process.preload import callers_preloads, environment, preload_value
from hakmem.process.program import Program, refuse_unless_preloadable
from hakmem.tracing.trace import exit_status

MODES = ("evolving", "shadow")
LONGEST_NAME = "counts1000.4194304"
ROOM_BYTES = 1 << 20


@dataclass(frozen=True)
class Order:
    program: Program
    file: Path
    runs: int
    mode: str


def default_file(program: Program) -> Path:
    return Path(f"{program.name}.policy")


@contextmanager
def folder_with_room() -> Iterator[Path]:
    """For what each run reads and writes. Where there is no room, each process of the program would complain of it."""
    with scratch_folder() as folder:
        if len(os.fsencode(folder / LONGEST_NAME)) > PATH_MOST:
            raise Refusal(f"{folder}: too long a path for the setting policy_file (TMPDIR names another place)")
        refuse_unless_roomy(folder)
        yield folder


def refuse_unless_roomy(folder: Path) -> None:
    spare = folder / "spare"
    with written(folder):
        spare.write_bytes(bytes(ROOM_BYTES))
        spare.unlink()


def run_once(library: Path, program: Program, settings: dict[str, str]) -> int:
    """The exit status, as a shell would say it."""
    preload = preload_value([library], callers_preloads(os.environ, library))
    variables = environment(os.environ, preload, program.variables | settings)
    try:
        process = start(program.argv, variables, OpenStreams(None, None, None))
    except OSError as failure:
        raise Refusal(f"{program.argv[0]}: {(failure.strerror or '').lower()}", CANNOT_EXECUTE) from None
    wait_or_stop(process)
    return exit_status(process)


def learn_in(folder: Path, library: Path, order: Order, number: int) -> tuple[int, Counts]:
    """A run. What it learnt gets the file's name if all went well."""
    after, counts = folder / "policy", folder / f"counts{number}"
    if order.file.exists() and order.mode != "shadow":  # which reads none, and keeps what is there
        shutil.copyfile(order.file, after)
        after.chmod(0o600)  # one that a mask of 002 lets a group write is not read
        os.utime(after, ns=(0, 0))
    status = run_once(library, order.program, {
        "HAKMEM_MODE": order.mode, "HAKMEM_POLICY_FILE": str(after), "HAKMEM_COUNTERS_FILE": str(counts)})
    if status == 0:
        take_over(order, after)
    return status, sum(read_counts(counts).values(), Counts())


def take_over(order: Order, after: Path) -> None:
    if not after.exists() or after.stat().st_mtime_ns == 0:
        refuse_unless_roomy(after.parent)
        why = "its heap stayed below 2 MiB, it ended by _exit, or is not served by HAKMEM"
        raise Refusal(f"{order.program.argv[0]}: it wrote no policy: {why}", NOT_PROVEN)
    read_policy(after)
    write_whole(order.file, after.read_bytes(), 0o600)  # one that others may write is not read


def show_bar(done: int, order: Order) -> None:
    show_progress(f"learning {bar(done / order.runs)} run {done + 1} of {order.runs}\n")


# ---- the summary ----

def modules_text(policy: Policy) -> str:
    names = [printable(row.module.name) for row in policy.sites if row.module]
    return ", ".join(f"{name}: {names.count(name):,}" for name in dict.fromkeys(names)) or "none"


def learners_text(policy: Policy) -> str:
    titles = [KINDS[row.kind].title for row in policy.learnt]
    return ", ".join(f"{title}: {titles.count(title):,}" for title in dict.fromkeys(titles))


def arms_text(policy: Policy) -> str:
    """With the share of the waits that are remembered."""
    whole = sum(row.weight for row in policy.sites) or 1
    shares = {arm: sum(row.weight for row in policy.sites if row.arm == arm) / whole for arm in policy.arms()}
    texts = [f"{arm_text(arm)}: {policy.arms()[arm]:,} ({shares[arm]:.0%} of the waits)" for arm in sorted(shares)]
    return ", ".join(texts) or "none"


def paid_text(counts: Counts) -> str:
    paid, base = counts["learn_paid_ns"], counts["learn_base_ns"]
    ratio = f", {paid / base:.2f} of it" if base else ""
    return f"{paid / 1e6:,.1f} ms as learnt, {base / 1e6:,.1f} ms by break-even{ratio} (rent and fetching, as modelled)"


def use_text(settings: dict[str, str], program: Program) -> str:
    """The command that runs `program` on HAKMEM with these settings."""
    pairs = " ".join(f"--set {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
    return f"hakmem exec {pairs} -- {program}"


def print_summary(order: Order, counts: Counts) -> None:
    policy = read_policy(order.file)
    heard, skipped = counts["learn_waits"], counts["learn_skipped"]
    console = stderr_console()
    console.print(f"\nhakmem learn: {order.program}")
    if policy.past:
        console.print(past_text(policy.past), highlight=False)
    console.print(f"rows of sites by module: {modules_text(policy)}")
    console.print(f"keep times: {arms_text(policy)}")
    if policy.learnt:
        console.print(f"rows of learners: {learners_text(policy)}")
    console.print(f"paid in the last run: {paid_text(counts)}")
    console.print(f"learnt from in the last run: {heard:,} waits; {skipped:,} frees and requests had no time left for it")
    use = use_text({"mode": "frozen", "policy_file": str(order.file.absolute())}, order.program)
    console.print(f"use it: {printable(use)}", markup=False, highlight=False, soft_wrap=True)


def refuse_unknown(mode: str) -> None:
    if mode not in MODES:
        raise Refusal(f"--mode {mode}: allowed: {', '.join(MODES)}")


def learn(library: Path, order: Order) -> int:
    """The exit status: the program's own when it fails."""
    refuse_unless_preloadable(order.program)
    if order.file.exists():
        read_policy(order.file)
    counts = Counts()
    refuse_unless_writable(order.file)
    with folder_with_room() as folder:
        for number in range(order.runs):
            show_bar(number, order)
            status, counts = learn_in(folder, library, order, number)
            if status:
                kept = f"; {order.file} has what was learnt before" if order.file.exists() else ""
                raise Refusal(f"{order.program.argv[0]}: run {number + 1} ended with status {status}{kept}", status)
    print_summary(order, counts)
    return 0
