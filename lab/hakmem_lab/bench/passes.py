# SPDX-License-Identifier: MIT OR Apache-2.0
"""The passes beside the timed one, by name: each measures what would disturb the timing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hakmem.process.peers import Allocator
from hakmem_lab.bench.cell import Benchmark, Context
from hakmem_lab.bench.instructions import instructions_pass
from hakmem_lab.bench.latency import latency_pass
from hakmem_lab.bench.limit import limit_pass
from hakmem_lab.bench.progress import Progress
from hakmem_lab.bench.record import Recorder
from hakmem_lab.bench.syscalls import syscalls_pass
from hakmem_lab.bench.timeline import timeline_pass

Pass = Callable[[Context, list[Benchmark], list[Allocator], Recorder, Progress], None]

PASSES: Mapping[str, Pass] = {
    "latency": latency_pass,
    "syscalls": syscalls_pass,
    "instructions": instructions_pass,
    "timeline": timeline_pass,
    "limit": limit_pass,
}
