# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real programs of musl say the same on HAKMEM as on musl's own malloc.

HAK_TEST_LIBRARY names libhakmem.so for musl, HAK_TEST_PROGRAMS the folder in which build_programs.sh put the programs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from served import JQ, JQ_INPUT, REDIS, SQL, Served  # noqa: E402

LIBRARY = Path(os.environ["HAK_TEST_LIBRARY"])
PROGRAMS = Path(os.environ["HAK_TEST_PROGRAMS"])
INPUT = Path(__file__).parents[1] / "real" / "input"
SERVER_SECONDS = 20

SHELL = """
i=0; while [ $i -lt 300 ]; do echo "line $i of some text $((i * 7919 % 1009))"; i=$((i + 1)); done >lines
sort -k6 -n lines | uniq | sed 's/text/TEXT/' | awk '{ n[$6 % 7] += $2 } END { for (k = 0; k < 7; k++) print k, n[k] }'
tar -cf all.tar lines && gzip -c all.tar | gunzip | md5sum; bzip2 -c lines | bunzip2 | cmp - lines && echo same
find . -name 'l*' | xargs wc -l; grep -c 'line 1' lines; diff lines lines && vi --help 2>&1 | head -n 1; echo '2^400; sqrt(2)' | bc -l
"""


class OnMusl(Served):
    library = str(LIBRARY)

    def base(self) -> dict[str, str]:
        # No program of glibc is found: it could not load a library of musl.
        return {"PATH": str(self.folder / "bin"), "LANG": "C", "LC_ALL": "C"}


class Programs(OnMusl):
    def test_lua(self) -> None:
        self.same(str(PROGRAMS / "lua"), str(INPUT / "work.lua"))

    def test_sqlite3(self) -> None:
        self.same(str(PROGRAMS / "sqlite3"), "work.db", given=SQL)

    def test_jq(self) -> None:
        self.same(str(PROGRAMS / "jq"), JQ, given=JQ_INPUT)

    def test_busybox(self) -> None:
        applets = self.folder / "bin"
        applets.mkdir()
        busybox = str(PROGRAMS / "busybox")
        for name in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
            (applets / name).symlink_to(busybox)
        self.same(busybox, "sh", "-c", SHELL)


class Redis(OnMusl):
    @contextmanager
    def server(self, hakmem: bool) -> Iterator[Path]:
        here = self.folder / f"redis-{hakmem}"
        here.mkdir()
        socket = here / "socket"
        command = [str(PROGRAMS / "redis"), "--port", "0", "--unixsocket", str(socket), "--dir", str(here), "--save", "",
                   "--enable-debug-command", "yes", "--io-threads", "2"]
        server = subprocess.Popen(command, env=self.environment(hakmem, True), stdout=subprocess.DEVNULL)
        try:
            end = monotonic() + SERVER_SECONDS
            while not socket.exists() and monotonic() < end:
                sleep(0.05)
            yield socket
        finally:
            server.terminate()
            self.assertEqual(server.wait(timeout=SERVER_SECONDS), 0)

    def asked(self, hakmem: bool) -> str:
        with self.server(hakmem) as socket:
            client = [str(PROGRAMS / "redis-cli"), "-s", str(socket)]
            answers = subprocess.run(client, input="\n".join(REDIS), capture_output=True, text=True, timeout=100, check=True)
            bench = [str(PROGRAMS / "redis-benchmark"), "-s", str(socket), "-q", "-n", "20000", "-t", "set,lpush", "-d", "200"]
            subprocess.run(bench, capture_output=True, timeout=100, check=True)
            return answers.stdout

    def test_redis(self) -> None:
        self.assertEqual(self.asked(False), self.asked(True))
        self.prove(20000)


class Static(OnMusl):
    def test_lua(self) -> None:
        """Beside the dynamic one, which is musl's malloc."""
        script = str(INPUT / "work.lua")
        self.assertEqual(self.ran(False, str(PROGRAMS / "lua"), script), self.ran(True, str(PROGRAMS / "lua-static"), script, preload=False))
        self.prove(1000)


@unittest.skipIf(os.geteuid() != 0, "only root changes into a folder")
class Image(OnMusl):
    """As a container: a folder with musl, busybox and the library, and nothing else."""

    def make(self) -> Path:
        root = self.folder / "root"
        for name in ("lib", "bin", "proc", "tmp"):
            (root / name).mkdir(parents=True)
        linker = Path("/lib/ld-musl-x86_64.so.1")
        shutil.copy(linker.resolve(), root / "lib" / linker.name)
        shutil.copy(LIBRARY, root / "lib" / "libhakmem.so.0")
        shutil.copy(PROGRAMS / "busybox", root / "bin" / "busybox")
        for name in ("sh", "seq", "sort", "md5sum", "awk"):
            (root / "bin" / name).symlink_to("busybox")
        return root

    def inside(self, root: Path, hakmem: bool) -> str:
        script = "seq 1 20000 | sort -r | awk '{ n[$1 % 97] = $0 } END { for (k = 0; k < 97; k++) print n[k] }' | md5sum"
        variables = {"PATH": "/bin"} | ({"LD_PRELOAD": "/lib/libhakmem.so.0", "HAKMEM_COUNTERS_FILE": "/tmp/counters",
                                         "HAKMEM_COUNT_CALLS": "on"} if hakmem else {})
        words = ["/usr/sbin/chroot", str(root), "/bin/busybox", "env", *(f"{name}={value}" for name, value in variables.items())]
        ended = subprocess.run([*words, "sh", "-c", script], env={}, capture_output=True, text=True, timeout=100, check=False)
        return f"{ended.stdout}\n{ended.stderr}\n{ended.returncode}"

    def test_busybox(self) -> None:
        root = self.make()
        self.assertEqual(self.inside(root, False), self.inside(root, True))
        for file in (root / "tmp").glob("counters.*"):
            shutil.copy(file, self.folder)
        self.prove(10000)


if __name__ == "__main__":
    unittest.main()
