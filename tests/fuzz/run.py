# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a fuzzer for 20 seconds, or for FUZZ_RUNS inputs, from a few files that are well formed.

    run.py PROGRAM trace|policy

What breaks it is left beside PROGRAM as crash-*, timeout-* or oom-*, for `PROGRAM FILE`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trace"))

from writer import Trace  # noqa: E402

SECONDS = 20
OPTIONS = ["-max_len=2048", "-rss_limit_mb=1024", "-malloc_limit_mb=256", "-timeout=10", "-verbosity=0",
           "-print_final_stats=1"]


def seed_trace(rng: random.Random) -> bytes:
    trace = Trace()
    now = 1000
    for pid in range(7, 7 + rng.randrange(1, 3)):
        process = trace.process(pid, ["prog", "-x"], parent=pid - 1)
        process.modules("400000-500000 r-xp 00000000 08:01 1 /bin/prog\n")
        live: list[int] = []
        for _ in range(rng.randrange(5, 60)):
            thread = process.thread(rng.randrange(3))
            site = (0x400000 + 16 * rng.randrange(9), rng.randrange(4))
            now += rng.randrange(1, 500)
            block = 16 * rng.randrange(1, 1 << 20)
            if live and rng.random() < 0.4:
                thread.free(now, live.pop(rng.randrange(len(live))), site)
            elif live and rng.random() < 0.3:
                thread.resize(now, live.pop(), block, rng.randrange(1 << 20), rng.randrange(99), site)
                live.append(block)
            else:
                thread.aligned(now, block, rng.randrange(1 << 20), rng.randrange(30), site)
                live.append(block)
            if rng.random() < 0.1:
                thread.close()
    return trace.bytes()


def seed_policy(rng: random.Random) -> bytes:
    """Without its end, which policy_fuzz.c makes."""

    def row() -> str:
        return " ".join(str(rng.randrange(1, 8 if n == 0 else 32768)) for n in range(10))

    past = " ".join(str(rng.randrange(1, 1 << 20)) for _ in range(5))
    lines = ["hakmem-policy 3", f"past {past}", f"process {row()}", f"bin {rng.randrange(128)} {row()}"]
    lines += [f"level runs {rng.randrange(10)} {row()}", f"class {rng.randrange(16, 1 << 20)} {rng.randrange(1 << 62)}"]
    for module in ("module abab prog", "module abac prog", "module - other", "module 00ff gone"):
        lines.append(module)
        lines += [f"site {rng.randrange(1 << 30):#x} {rng.randrange(99)} {rng.randrange(128)} {row()}" for _ in range(3)]
    return "".join(line + "\n" for line in lines).encode()


SEEDS = {"trace": seed_trace, "policy": seed_policy}


def main() -> int:
    program, seed = Path(sys.argv[1]), SEEDS[sys.argv[2]]
    runs = os.environ.get("FUZZ_RUNS")
    length = f"-runs={int(runs)}" if runs else f"-max_total_time={SECONDS}"
    with tempfile.TemporaryDirectory(prefix="hakmem-fuzz-") as folder:
        for number in range(20):
            (Path(folder) / str(number)).write_bytes(seed(random.Random(number)))
        return subprocess.run([program, *OPTIONS, length, f"-artifact_prefix={program.parent}/", folder], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
