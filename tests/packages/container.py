#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Types packaging/container/debian.Dockerfile in a plain root of Debian 12, and asks its server: container.py [arm64]

    FROM      a copy of the empty root (tests/debian_root.sh; arm64: under qemu-user, tests/foreign.sh)
    ARG       TARGETARCH is the root's architecture
    COPY      from build/, as the engine would from its context
    RUN       by sh in the root
    ENV, USER, CMD    of the server, which listens on a socket in the root instead of a port

The server is served by HAKMEM: the library is mapped, and its statistics, in a file, hold the server's keys.
`make deb-root` runs it; not in CI, as it takes minutes. No engine is needed, nor tried.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "packaging/container/debian.Dockerfile"
KEYS, LEAST_BYTES = 20000, 5 << 20
ASKED = """
{command} --port 0 --unixsocket /tmp/redis.sock --save '' >/tmp/server.log 2>&1 &
server=$!
unset LD_PRELOAD
for n in $(seq 300); do redis-cli -s /tmp/redis.sock ping 2>/dev/null | grep -q PONG && break; sleep 0.2; done
redis-cli -s /tmp/redis.sock eval "for i = 1, {keys} do redis.call('set', 'key:' .. i, string.rep('x', i % 500)) end return 1" 0
redis-cli -s /tmp/redis.sock dbsize
echo "mapped $(grep -c libhakmem.so /proc/$server/maps)"
redis-cli -s /tmp/redis.sock shutdown nosave
wait $server
echo "ended $?"
"""


def instructions() -> list[tuple[str, str]]:
    lines = RECIPE.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(" ", 1) for line in lines if line and not line.startswith("#"))
    return [(word, rest) for word, rest in pairs]


class Image:
    def __init__(self, arch: str) -> None:
        self.arch, self.foreign = arch, "_foreign" if arch == "arm64" else ""
        self.base = ROOT / "build/roots" / ("bookworm-arm64" if self.foreign else "bookworm")
        self.root = self.base.with_name(f"{self.base.name}-container")
        self.variables: dict[str, str] = {}
        self.user = "root"

    def shell(self, line: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", "-ec", f". tests/debian_root.sh; {line}"], cwd=ROOT, env=os.environ | more, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def inside(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.shell(f"inside{self.foreign} {shlex.join([str(self.root), *words])}")

    def make(self) -> None:
        made = self.shell(f"ensure{self.foreign}_root bookworm {self.base}; copy_root {self.base} {self.root}")
        if made.returncode != 0:
            sys.exit(made.stdout)

    def do(self, word: str, rest: str) -> None:
        rest = rest.replace("${TARGETARCH}", self.arch)
        if word == "COPY":
            pattern, folder = rest.split()
            for file in (ROOT / "build").glob(pattern):
                shutil.copy(file, self.root / folder.strip("/"))
        elif word == "RUN":
            done = self.inside("sh", "-c", rest)
            if done.returncode != 0:
                sys.exit(f"container: RUN {rest}\n{done.stdout[-3000:]}")
        elif word == "ENV":
            name, _, value = rest.partition("=")
            self.variables[name] = value
        elif word == "USER":
            self.user = rest

    def ask_server(self, command: list[str]) -> str:
        variables = [f"{name}={value}" for name, value in self.variables.items()]
        script = ASKED.format(keys=KEYS, command=shlex.join(["env", *variables, "HAKMEM_STATS_FILE=/tmp/stats", *command]))
        return self.inside("setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups", "sh", "-c", script).stdout


def bytes_in_use(root: Path) -> int:
    """At the server's end, as its HAKMEM wrote them."""
    (file,) = (root / "tmp").glob("stats.*")
    said = subprocess.run([ROOT / "build/venv/bin/hakmem", "stats", "--json", file], stdout=subprocess.PIPE, check=True)
    return int(json.loads(said.stdout)["state"]["in_use"])


def main(arguments: list[str]) -> int:
    image = Image(arguments[0] if arguments else "amd64")
    image.make()
    try:
        for word, rest in instructions():
            image.do(word, rest)
        command = next(json.loads(rest) for word, rest in instructions() if word == "CMD")
        said = image.ask_server(command)
        used = bytes_in_use(image.root) if "mapped 0" not in said else 0
    finally:
        shutil.rmtree(image.root, ignore_errors=True)
    served = f"{KEYS}\n" in said and "ended 0\n" in said and used > LEAST_BYTES
    print(f"{'passed' if served else 'FAILED'}: a container's recipe, {image.arch}: {' '.join(command)}: {used >> 10:,} KiB in use "
          f"in HAKMEM{'' if served else chr(10) + said}")
    return 0 if served else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
