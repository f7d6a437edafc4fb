# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem run --peers`: one program, as it is, on HAKMEM, glibc and other allocators, by turns.

The order of the processes:

    a trivial program on each side    which file is glibc; is the library HAKMEM
    a shown run on HAKMEM             every program that it executes must be served; its output is shown
    N rounds                          each allocator once, another one first in each; output goes into files

An allocator that fails once is left out, with the reason. HAKMEM must not fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.atomic_write import refuse_unless_writable
from hakmem.base.errors import BAD_USAGE
from hakmem.base.scratch import scratch_folder
from hakmem.base.streams import reader_is_gone, show_progress
from hakmem.process.launch import Figures
from hakmem.process.peers import GLIBC, HAKMEM, Allocator, chosen, find_allocators
from hakmem.process.places import Places
from hakmem.process.program import Program, refuse_unless_preloadable
from hakmem.running.peers_page import write_trials
from hakmem.running.peers_table import print_trials
from hakmem.running.run import Runner, must_hold
from hakmem.running.service import Manner
from hakmem.running.trial import Track, label, on, problem_of, problem_of_left, problem_of_samples
from hakmem.running.trials import Trials


@dataclass(frozen=True)
class Wishes:
    """The options."""

    peers: tuple[str, ...] = ()  # NAME=FILE
    allocators: str | None = None
    runs: int = 4
    manner: Manner = Manner()
    html: Path | None = None


def allocators_for(places: Places, wishes: Wishes) -> tuple[list[Allocator], list[str]]:
    """HAKMEM and glibc are always among them."""
    found, missing = find_allocators(places.so_file, wishes.peers)
    if wishes.allocators is None:
        return found, missing
    return chosen(found, ",".join([HAKMEM, GLIBC, wishes.allocators]), wishes.peers), []


def take_turns(track: Track, trials: Trials, shown: Figures, rounds: int) -> None:
    for number in range(rounds):
        first = number % len(trials.allocators)
        for allocator in trials.allocators[first:] + trials.allocators[:first]:
            if allocator.name not in trials.failed:
                show_progress(f"run {number + 1} of {rounds}: {label(allocator.name)}")
                take_turn(track, trials, shown, allocator)
    show_progress("")


def take_turn(track: Track, trials: Trials, shown: Figures, allocator: Allocator) -> None:
    trial = track.trial(allocator)
    problem, short = problem_of(trial, track.library(allocator), shown, track.manner.ends_it), problem_of_samples(trial)
    if allocator.name == HAKMEM:
        must_hold(problem_of_left(trial.figures, trial.moments), BAD_USAGE)
        must_hold(on(HAKMEM, problem))
        must_hold(short, BAD_USAGE)
    if problem or short:
        trials.failed[allocator.name] = problem or short or ""
    else:
        trials.runs.setdefault(allocator.name, []).append(trial)


def refuse_what_only_hakmem_does(track: Track, trials: Trials, shown: Figures) -> None:
    """A program that fails on HAKMEM must fail alike on glibc."""
    if shown.status == 0 or track.manner.ends_it:
        return
    trial = track.trial(next(one for one in trials.allocators if one.name == GLIBC))
    problem = f"the program {shown.end} on HAKMEM, but {trial.figures.end} on glibc"
    if reader_is_gone():
        problem = f"the program {shown.end}, as its output is read no longer; it was not measured"
    must_hold(problem if trial.figures.status != shown.status else None)


def notes_of_runs(trials: Trials) -> Iterator[str]:
    runs = [trial for runs in trials.runs.values() for trial in runs]
    if any(trial.moments.killed for trial in runs):
        yield "SIGTERM did not end the program in each run: it was killed"


def measured(track: Track, trials: Trials, rounds: int) -> int:
    """The exit status."""
    shown, trials.notes = track.shown(trials.allocators[0])
    refuse_what_only_hakmem_does(track, trials, shown)
    take_turns(track, trials, shown, rounds)
    trials.drop_failed()
    trials.notes += notes_of_runs(trials)
    return 0 if trials.manner.ends_it else shown.status


def run_peers(places: Places, program: Program, wishes: Wishes, stdin: str | None) -> int:
    """The exit status; raises Refusal when something does not hold of HAKMEM."""
    if wishes.html is not None:
        refuse_unless_writable(wishes.html)
    refuse_unless_preloadable(program)
    allocators, missing = allocators_for(places, wishes)
    with scratch_folder() as scratch:
        trials = Trials(str(program), wishes.manner, allocators, missing=missing)
        status = measured(Track(Runner(places, program, scratch, stdin), wishes.manner), trials, wishes.runs)
        print_trials(trials)
        if wishes.html is not None:
            write_trials(wishes.html, trials)
    return status
