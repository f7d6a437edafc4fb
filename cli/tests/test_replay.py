# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem replay`: traces of programs that never were, on every allocator there is; and files that are none."""

from __future__ import annotations

import gzip
import sys
import unittest
from pathlib import Path
from subprocess import CompletedProcess

from support import BUILD, ROOT, Scratch, hakmem, preloadable

sys.path.insert(0, str(ROOT / "tests" / "trace"))

from writer import Trace  # noqa: E402

ALLOCATORS = ("hakmem", "glibc")


def busy_trace(calls: int = 2000) -> Trace:
    """Two threads, of which the second frees what the first makes; and another process that does little."""
    trace = Trace()
    process = trace.process(7, ["prog", "an argument"])
    for i in range(calls // 2):
        process.thread(0).allocate(10 * i, 0x1000 + 16 * i, 100 + i)
        process.thread(1).free(10 * i + 5, 0x1000 + 16 * i)
    trace.process(8, ["other"]).thread(0).allocate(5, 0x1000, 8)
    return trace


class Replay(Scratch):
    def replay(self, data: bytes | Trace, *options: str, **variables: str) -> CompletedProcess[str]:
        file = self.folder / "trace.hakt"
        file.write_bytes(data.packed() if isinstance(data, Trace) else data)
        return hakmem("replay", "--build", str(BUILD), "--rounds", "2", *options, str(file), **variables)

    def assert_refused(self, ended: CompletedProcess[str], text: str, status: int = 2) -> None:
        self.assertEqual((ended.returncode, ended.stdout), (status, ""), ended.stderr)
        self.assertIn(text, ended.stderr)
        self.assert_one_line(ended.stderr)

    def assert_row(self, ended: CompletedProcess[str], name: str) -> None:
        time = r" +[\d.]+ m?s \S+"
        self.assertRegex(ended.stdout, rf"(?m)^{name}{time}{time} +[\d,]+ \S+ +[\d.]+ MiB \S+ *$")
        self.assertRegex(ended.stdout, rf"proven in each run to serve malloc and free: .*\b{name} \S+")

    def test_both_sides_are_shown(self) -> None:
        ended = self.replay(busy_trace())
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        head = "hakmem replay: prog 'an argument' (pid 7, process 1 of 2): 2,000 calls in 2 threads\n"
        self.assertIn(head, ended.stdout)
        self.assertIn("the smallest of 2 runs each", ended.stdout)
        self.assertNotIn("note:", ended.stdout)
        for name in ALLOCATORS:
            self.assert_row(ended, name)

    def test_a_long_command_is_a_line(self) -> None:
        trace = Trace()
        trace.process(7, ["prog", "-c", "first\nsecond", "word " * 50]).thread(0).allocate(1, 0x1000, 8)
        first, _, rest = self.replay(trace).stdout.partition("\n")
        self.assertRegex(first, r"\Ahakmem replay: prog -c 'first second' 'word .* \.\.\. \(pid 7\): 1 call")
        self.assertLess(len(first), 160)
        self.assertEqual(rest[0], "\n")

    def test_further_allocators(self) -> None:
        library = preloadable("forward")
        ended = self.replay(busy_trace(), "--allocator", str(library), "--allocator", f"twice={library}")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        for name in (*ALLOCATORS, "tools_forward", "twice"):
            self.assert_row(ended, name)

    def test_installed_allocators(self) -> None:
        ended = self.replay(busy_trace(), "--peers", "--rounds", "1")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        for name in (*ALLOCATORS, "jemalloc"):
            self.assert_row(ended, name)

    def test_the_process_that_is_asked_for(self) -> None:
        ended = self.replay(busy_trace(), "--process", "2", "--touch", "none")
        self.assertIn("hakmem replay: other (pid 8, process 2 of 2): 1 call in 1 thread\n", ended.stdout)
        self.assert_refused(self.replay(busy_trace(), "--process", "3"), "no process 3")

    def test_a_torn_end(self) -> None:
        """In the packed stream, where the last byte of a record was had or not, and in a record."""
        whole = busy_trace(200_000).bytes()
        torn = whole + b"HAKT" + bytes(30)
        for data in (gzip.compress(whole)[:-4], gzip.compress(torn), gzip.compress(torn)[:-8]):
            ended = self.replay(data)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))
            self.assertEqual(ended.stdout.count("note: "), 1)
            self.assertIn("note: the trace ends in the middle of a record; what came before was", ended.stdout)
            self.assertIn(" 200,000 calls in 2 threads", ended.stdout)

    def test_what_the_reader_must_know(self) -> None:
        trace = busy_trace()
        thread = trace.processes[0].thread(0)
        thread.lost = 1234
        thread.free(30_000, 0x999990)
        thread.allocate(30_001, 0, 1 << 60)
        ended = self.replay(trace)
        self.assertIn("note: events that were lost when the trace was made: 1,234\n", ended.stdout)
        self.assertIn("note: frees of blocks from before the trace, left out: 1\n", ended.stdout)
        self.assertIn("note: calls that failed when the trace was made, left out: 1\n", ended.stdout)

    def test_allocations_that_fail(self) -> None:
        trace = Trace()
        trace.process(7, ["prog"]).thread(0).allocate(1, 0x1000, 1 << 47)
        ended = self.replay(trace, "--touch", "first")
        self.assertIn("note: allocations that failed on glibc: 1\n", ended.stdout)
        self.assertIn("note: allocations that failed on hakmem: 1\n", ended.stdout)

    def test_no_trace(self) -> None:
        whole = busy_trace().bytes()
        self.assert_refused(self.replay(b"#!/bin/sh\nexit 0\n"), "trace.hakt: not a trace")
        self.assert_refused(self.replay(gzip.compress(b"#!/bin/sh\n")), "trace.hakt: not a trace")
        self.assert_refused(self.replay(b""), "trace.hakt: not a trace")
        self.assert_refused(self.replay(gzip.compress(b"")), "trace.hakt: not a trace (nothing is in it)")
        self.assert_refused(self.replay(gzip.compress(whole + bytes(64))), "trace.hakt: byte")
        damaged = bytearray(gzip.compress(whole))
        damaged[-6] ^= 1
        self.assert_refused(self.replay(bytes(damaged)), "trace.hakt: damaged, it cannot be unpacked (")

    def test_wrong_use(self) -> None:
        trace = busy_trace()
        self.assert_refused(hakmem("replay", "--build", str(BUILD), "/no/such"), "/no/such: no such file or directory")
        self.assert_refused(hakmem("replay", "--build", str(BUILD), "/tmp"), "/tmp: is a directory")
        self.assert_refused(self.replay(trace, "--touch", "some"), "--touch some: expected all, first, none")
        self.assert_refused(self.replay(trace, "--rounds", "0"), "a whole number from 1 to 1,000")
        self.assert_refused(self.replay(trace, "--allocator", "/no/such.so"), "a library that exists")
        self.assert_refused(self.replay(trace, "--allocator", f"glibc={preloadable('forward')}"), "a glibc already")

    def test_who_does_not_serve(self) -> None:
        """Another library that is called HAKMEM; one that serves nothing; one that breaks the program."""
        ended = self.replay(busy_trace(), "--library", str(preloadable("forward")))
        self.assert_refused(ended, "is not HAKMEM", 3)
        ended = self.replay(busy_trace(), "--allocator", str(BUILD / "libhakmem-dl.so"))
        self.assert_refused(ended, "hakmem-dl: malloc and free are served by", 3)
        ended = self.replay(busy_trace(), "--allocator", str(preloadable("crash")))
        self.assert_refused(ended, "on tools_crash the replay was killed by", 1)

    def test_nothing_is_left_behind(self) -> None:
        self.replay(busy_trace(), TMPDIR=str(self.folder))
        self.assertEqual([path.name for path in Path(self.folder).iterdir()], ["trace.hakt"])


if __name__ == "__main__":
    unittest.main()
