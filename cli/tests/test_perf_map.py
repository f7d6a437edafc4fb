# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names of code that was made while a program ran: what /tmp/perf-PID.map says, when it is believed, and node and the JVM."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from support import BUILD, hakmem

from hakmem.profiling.profile import frames_of
from hakmem.reading import perf_map
from hakmem.reading.perf_map import Code, code_of, made_code, names_in
from hakmem.reading.pprof import Profile, read
from hakmem.reading.symbols import Frame, Names

SCRIPT = """\
const keep = [];
function leakBuffer(n) {
  const made = Buffer.allocUnsafeSlow(n);
  keep.push(made);
  return made.length;
}
function work() { let sum = 0; for (let i = 0; i < 50; i++) sum += leakBuffer(200000); return sum; }
for (let i = 0; i < 10; i++) work();
"""
CLASS = """\
import java.nio.ByteBuffer;
import java.util.*;
public class Leak {
  static List<ByteBuffer> keep = new ArrayList<>();
  static int work(int n) {
    for (int i = 0; i < 20; i++) keep.add(ByteBuffer.allocateDirect(n));
    return keep.size();
  }
  public static void main(String[] words) { for (int i = 0; i < 300; i++) work(20000); }
}
"""


def profile_of(pid: int, begun: float, ended: float, address: int, runs: bool = False) -> Any:
    """With one stack of one address, in no file."""
    profile = Profile()
    end = "of a process that runs" if runs else "at exit"
    profile.string_table.extend(["", f"hakmem: pid {pid}, 1 block sampled, 1 of them live, 0 lost, {end}"])
    profile.comment.append(1)
    profile.time_nanos, profile.duration_nanos = int(begun * 1e9), int((ended - begun) * 1e9)
    profile.location.add(id=1, address=address)
    profile.sample.add(location_id=[1])
    return profile


class Lines(unittest.TestCase):
    def test_what_they_name(self) -> None:
        for name, code in (
            ("JS:^leakBuffer /srv/app.js:3:14", Code("leakBuffer", "/srv/app.js", 3)),
            ("JS:~ file:///srv/a b.mjs:1:1", Code("(anonymous)", "/srv/a b.mjs", 1)),
            ("LazyCompile:*Foo.bar node:internal/fs:12:3", Code("Foo.bar", "node:internal/fs", 12)),
            ("Builtin:ArrayMap", Code("Builtin:ArrayMap", "", 0)),
            ("py::C.f:/srv/app.py", Code("C.f", "/srv/app.py", 0)),
            ("py::f:<frozen runpy>", Code("f", "<frozen runpy>", 0)),
            ("long Leak.work(int)", Code("long Leak.work(int)", "", 0)),
        ):
            self.assertEqual(code_of(name), code)

    def test_the_last_line_of_an_address_counts_and_what_is_no_line_does_not(self) -> None:
        with tempfile.TemporaryFile() as file:
            file.write(b"1000 10 old\nff zz no line\n\xff\xfe\n1000 8 new\n0x00007f0000000000 0x0000000000000100 jvm\n")
            file.write(b"2000 0 empty\n" + b"3000 10 " + b"x" * 9000 + b"\n4000 10 last")
            file.seek(0)
            found = names_in(file, (0x1000, 0x1007, 0x1008, 0x100F, 0x1010, 0x2000, 0x7F00000000FF, 0x400F))
        self.assertEqual({at: code.function for at, code in found.items()}, {
            0x1000: "new", 0x1007: "new", 0x1008: "old", 0x100F: "old", 0x7F00000000FF: "jvm", 0x400F: "last"})


class Trust(unittest.TestCase):
    """PID 4194303 has no process: a number that the kernel gives last."""

    PID = 4194303

    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)
        (self.folder / "tmp").mkdir()
        self.map = self.folder / "tmp" / f"perf-{self.PID}.map"
        self.map.write_text("1000 10 JS:~f /a.js:3:1\n")
        # the folder in place of the root: of one that has ended none is known
        self.addCleanup(mock.patch.stopall)
        mock.patch.object(perf_map, "paths_of", lambda process, number: [self.map]).start()

    def told(self, begun: float, ended: float, fresh: bool = False) -> list[str]:
        return [code.function for code in made_code(profile_of(self.PID, begun, ended, 0x1005), "", (0x1005,), fresh).values()]

    def test_it_was_written_while_the_process_ran(self) -> None:
        now = time.time()
        self.assertEqual(self.told(now - 5, now), ["f"])
        self.assertEqual(self.told(now + 60, now + 65), [], "of a process before")
        self.assertEqual(self.told(now - 300, now - 200), [], "of a process after")
        self.assertEqual(self.told(now - 300, now - 200, fresh=True), ["f"], "it ended just now, long after its last sample")

    def test_it_is_a_file_of_this_user(self) -> None:
        now = time.time()
        if os.geteuid() == 0:
            os.chown(self.map, 12345, 12345)
            self.assertEqual(self.told(now - 5, now), [])
            os.chown(self.map, 0, 0)
        target = self.folder / "target"
        self.map.rename(target)
        self.map.symlink_to(target)
        self.assertEqual(self.told(now - 5, now), [], "a link")
        self.map.unlink()
        os.mkfifo(self.map)
        self.assertEqual(self.told(now - 5, now), [], "a pipe")
        self.map.unlink()
        self.assertEqual(self.told(now - 5, now), [], "nothing")

    def test_names_in_a_profile(self) -> None:
        now = time.time()
        names = Names(profile_of(self.PID, now - 5, now, 0x1005))
        self.assertEqual(names.frames[1], [Frame("f", "/a.js", 3)])
        self.assertTrue(names.frames[1][0].is_interpreted)
        self.assertEqual(Names(profile_of(self.PID, now - 5, now, 0x2005)).frames[1], [Frame("0x2005", "", 0)])


class Programs(unittest.TestCase):
    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)

    def stacks(self, *command: str) -> list[list[str]]:
        """Functions of each: made code is passed by its frame pointers."""
        file = self.folder / "out.pb.gz"
        ended = hakmem("exec", "--build", str(BUILD), f"--profile={file}", "--set", "profile_bytes=65536", "--", *command)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        names = Names(profile := read(file))
        for left in (int(word) for word in ended.stderr.split() if word.isdecimal()):
            Path(f"/tmp/perf-{left}.map").unlink(missing_ok=True)
        return [[frame.function for frame in frames_of(sample, names)] for sample in profile.sample]

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_node(self) -> None:
        script = self.folder / "leak.js"
        script.write_text(SCRIPT)
        stacks = self.stacks("node", "--perf-basic-prof", "--interpreted-frames-native-stack",
                             "--no-logfile-per-isolate", f"--logfile={self.folder}/v8.log", str(script))
        found = [stack for stack in stacks if "leakBuffer" in stack]
        self.assertGreater(len(found), 0)
        self.assertTrue(any("work" in stack[stack.index("leakBuffer"):] for stack in found))

    @unittest.skipUnless(shutil.which("javac"), "no javac")
    def test_the_jvm(self) -> None:
        (self.folder / "Leak.java").write_text(CLASS)
        subprocess.run(["javac", "-d", str(self.folder), str(self.folder / "Leak.java")], check=True)
        stacks = self.stacks("java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:+PreserveFramePointer",
                             "-cp", str(self.folder), "Leak")
        self.assertTrue(any("int Leak.work(int)" in stack and "JavaMain" in stack for stack in stacks))


if __name__ == "__main__":
    unittest.main()
