# SPDX-License-Identifier: MIT OR Apache-2.0
"""The passes beside the timed one, by name: each measures what would disturb the timing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hakmem.bench.cell import Benchmark, Context
from hakmem.bench.instructions import instructions_pass
from hakmem.bench.latency import latency_pass
from hakmem.bench.limit import limit_pass
from hakmem.bench.progress import Progress
from hakmem.bench.record import Recorder
from hakmem.bench.syscalls import syscalls_pass
from hakmem.bench.timeline import timeline_pass
from hakmem.peers import Allocator

Pass = Callable[[Context, list[Benchmark], list[Allocator], Recorder, Progress], None]

PASSES: Mapping[str, Pass] = {
    "latency": latency_pass,
    "syscalls": syscalls_pass,
    "instructions": instructions_pass,
    "timeline": timeline_pass,
    "limit": limit_pass,
}
