# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every allocator is tried once before anything is measured: one that is none is refused at once."""

from __future__ import annotations

from hakmem.base.errors import Refusal
from hakmem.process.peers import HAKMEM, Allocator
from hakmem.process.places import existing
from hakmem_lab.bench.cell import SERVED_BY, Context, NotProven, errors_of, run_proven

PROGRAM, ROW = "hak_micro", "pair"


def admit(context: Context, allocators: list[Allocator]) -> list[str]:
    """Raises for the first that does not serve malloc and free, or with which a trivial program does not run. What
    HAKMEM said meanwhile, line by line: that a setting of the caller's is ignored."""
    program = existing(context.places.launcher.parent / "bench" / PROGRAM)
    said: list[str] = []
    for allocator in allocators:
        done = run_proven(context, [str(program), ROW, "--seconds", "0", "--proof"], allocator)
        if done.trouble is None:
            said += said_by(context) if allocator.name == HAKMEM else []
            continue
        if done.trouble.startswith(SERVED_BY):
            raise NotProven(f"{named(allocator)} is refused: with it, a trivial program was {done.trouble}")
        raise Refusal(f"{named(allocator)} cannot be measured: with it, a trivial program {done.trouble}")
    return said


def said_by(context: Context) -> list[str]:
    return errors_of(context).read_text(errors="replace").splitlines()


def named(allocator: Allocator) -> str:
    return f"{allocator.name} ({allocator.so_file.name})" if allocator.so_file else allocator.name
