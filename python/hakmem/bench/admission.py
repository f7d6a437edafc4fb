"""Every allocator is tried once before anything is measured: one that is none is refused at once."""

from __future__ import annotations

from hakmem.bench.cell import SERVED_BY, Context, NotProven, run_proven
from hakmem.errors import Refusal
from hakmem.peers import Allocator
from hakmem.places import existing

PROGRAM, ROW = "hak_micro", "pair"


def admit(context: Context, allocators: list[Allocator]) -> None:
    """Raises for the first that does not serve malloc and free, or with which a trivial program does not run."""
    program = existing(context.places.launcher.parent / "bench" / PROGRAM)
    for allocator in allocators:
        done = run_proven(context, [str(program), ROW, "--seconds", "0", "--proof"], allocator)
        if done.trouble is None:
            continue
        if done.trouble.startswith(SERVED_BY):
            raise NotProven(f"{named(allocator)} is refused: with it, a trivial program was {done.trouble}")
        raise Refusal(f"{named(allocator)} cannot be measured: with it, a trivial program {done.trouble}")


def named(allocator: Allocator) -> str:
    return f"{allocator.name} ({allocator.so_file.name})" if allocator.so_file else allocator.name
