# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lines of Python in heap profiles, of every CPython from 3.11 on that PATH has: where memory was asked for, to the byte
range, and who called whom, between native frames."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
import time
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

from support import BUILD, clean_environment, hakmem

from hakmem.profiling.exec_profile import beside
from hakmem.profiling.profile import frames_of, rows_of
from hakmem.reading.estimate import range_of
from hakmem.reading.pprof import columns, read
from hakmem.reading.symbols import Frame, Names

LIBRARY = BUILD / "libhakmem.so"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")

# Lines count: what asks is line 4, 7 (a lambda, called by C), 11 (a generator) and 15, with a name that is not ASCII.
SCRIPT = """\
import os, sys
keep = []
def inner(n):
    keep.append(bytearray(n))
class Work:
    def method(self, n):
        sorted([2, 1], key=lambda each: keep.append(bytearray(n)) or each)
        inner(n)
def lines(n):
    for _ in range(100):
        keep.append(bytearray(n))
        yield 1
def größe(n):
    for _ in range(100):
        keep.append(bytearray(n))
def outer():
    for _ in range(100):
        Work().method(60000)
    for _ in lines(30000): pass
    größe(20000)
outer()
if os.fork() == 0:
    for _ in range(50): inner(100000)
    os._exit(0)
os.wait()
os._exit(0)
"""
HELD = {"inner (held.py:4)": 6_000_000, "Work.method.<locals>.<lambda> (held.py:7)": 12_000_000,
        "lines (held.py:11)": 3_000_000, "größe (held.py:15)": 2_000_000}
GROWS = """\
import time
keep = []
def leak():
    keep.append(bytearray(100000))
while True:
    leak()
    time.sleep(0.002)
"""
EXTENSION = """\
#include <stdlib.h>
char *parse(const char *text) { char *copy = malloc(3000); copy[0] = text[0]; return copy; }
"""
CALLS = """\
import ctypes, sys
parse = ctypes.CDLL(sys.argv[1]).parse
def handle():
    parse(b"request")
for _ in range(3000): handle()
"""


def interpreters() -> dict[str, str]:
    """By version: as they call themselves, since what PATH has may be a script that starts one."""
    found = {}
    for version in VERSIONS:
        told = shutil.which(f"python{version}")
        says = subprocess.run([told, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True,
                              check=False) if told else None
        if says and says.returncode == 0:
            found[version] = says.stdout.strip()
    return found


class PythonFrames(unittest.TestCase):
    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def profiled(self, *command: str, options: tuple[str, ...] = ()) -> Any:
        file = self.folder / "out.pb.gz"
        ended = hakmem("exec", "--build", str(BUILD), f"--profile={file}", "--set", "profile_bytes=16384", *options, "--",
                       *command)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return read(file)

    def assert_held(self, profile: Any, held: dict[str, int]) -> None:
        """Each line with its bytes. The range is of usable bytes, which are up to a page more than what was asked for."""
        at, rows = columns(profile)["inuse_space"], rows_of(profile, Names(profile))
        for line, size in held.items():
            low, high = range_of(rows[line].flat[at], rows[line].evidence, profile.period)
            self.assertTrue(0.8 * low <= size <= 1.1 * high, f"{line}: {size:,}, not {low:,.0f} to {high:,.0f}")

    def stacks(self, profile: Any, line: str) -> list[list[Frame]]:
        """Those in which that line asked."""
        names = Names(profile)
        found = [frames_of(sample, names) for sample in profile.sample]
        return [frames for frames in found if any(frame.row() == line for frame in frames)]

    def called(self, profile: Any, line: str) -> set[tuple[str, ...]]:
        """The lines of Python in those stacks, innermost first."""
        return {tuple(f.row() for f in frames if f.is_interpreted) for frames in self.stacks(profile, line)}

    def test_each_interpreter(self) -> None:
        script, seen = self.write("held.py", SCRIPT), interpreters()
        self.assertTrue(seen, "none in PATH")
        for version, python in seen.items():
            with self.subTest(version):
                profile = self.profiled(python, "-S", script, options=("--children",))
                self.assert_held(profile, HELD)
                outside = ("outer (held.py:18)", "<module> (held.py:21)")
                self.assertEqual(self.called(profile, "inner (held.py:4)"),
                                 {("inner (held.py:4)", "Work.method (held.py:8)", *outside)})
                asks = "Work.method.<locals>.<lambda> (held.py:7)"
                self.assertEqual(self.called(profile, asks), {(asks, "Work.method (held.py:7)", *outside)})
                self.assert_native_between(self.stacks(profile, asks))
                self.assert_child_has_its_own(version)

    def assert_native_between(self, stacks: list[list[Frame]]) -> None:
        """sorted() calls the lambda; the loop's frames are no more there, those around them are."""
        for frames in stacks:
            kinds = "".join("p" if frame.is_interpreted else "n" for frame in frames)
            self.assertRegex(kinds, r"\An+pn+p{3}n+\Z")
            self.assertNotIn("_PyEval_EvalFrameDefault", [frame.function for frame in frames])

    def assert_child_has_its_own(self, version: str) -> None:
        """The parent's places are in the child's file, too."""
        file = next(self.folder.glob("out.*.pb.gz"))
        child = read(file)
        self.assertEqual(file, beside(self.folder / "out.pb.gz", int(file.suffixes[0][1:])))
        self.assert_held(child, HELD | {"inner (held.py:4)": 11_000_000})
        self.assertIn(("inner (held.py:4)", "<module> (held.py:23)"), self.called(child, "inner (held.py:4)"), version)
        file.unlink()

    def test_the_library_writes_lines_itself(self) -> None:
        script, python = self.write("held.py", SCRIPT.partition("if os.fork")[0]), next(iter(interpreters().values()))
        settings = {"HAKMEM_PROFILE_FILE": str(self.folder / "heap"), "HAKMEM_PROFILE_BYTES": "16384"}
        ended = subprocess.run([python, "-S", script], env=clean_environment(LD_PRELOAD=str(LIBRARY), **settings),
                               check=False)
        self.assertEqual(ended.returncode, 0)
        file = max(self.folder.glob("heap.*"), key=lambda each: each.stat().st_size)
        profile = read(file)
        functions = {profile.string_table[f.name]: profile.string_table[f.filename] for f in profile.function}
        self.assertEqual(functions["größe"], script)
        peak = hakmem("profile", "--peak", str(file)).stdout
        self.assertRegex(peak, r"(?m)^ +[56]\.\d MiB .*inner \(held\.py:4\)")
        if shutil.which("go"):
            said = subprocess.run(["go", "tool", "pprof", "-list", "größe", "-sample_index=peak_space", str(file)],
                                  capture_output=True, text=True, check=False, cwd=self.folder)
            self.assertRegex(said.stdout, r"[12]\.\d+MB +15: +keep\.append\(bytearray\(n\)\)", said.stderr)

    def test_a_process_that_is_asked(self) -> None:
        for version, python in interpreters().items():
            with self.subTest(version):
                process = subprocess.Popen([python, "-S", self.write("grows.py", GROWS)],
                                           env=clean_environment(LD_PRELOAD=str(LIBRARY)))
                try:
                    time.sleep(0.5)
                    said = hakmem("profile", "--seconds", "2", "--leaks", str(process.pid))
                finally:
                    process.kill()
                    process.wait()
                self.assertRegex(said.stdout, rf"(?m)^    leak  {self.folder}/grows.py:4\n(?:    \S+\n)*?    <module>  \S+:6$",
                                 said.stderr)

    def test_a_leak_in_an_extension_is_found_by_its_line_of_python(self) -> None:
        source, extension = self.write("parse.c", EXTENSION), str(self.folder / "parse.so")
        compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
        subprocess.run([shutil.which(compiler) or "cc", "-shared", "-fPIC", "-O1", "-fno-builtin", source, "-o", extension],
                       check=True)
        profile = self.profiled(next(iter(interpreters().values())), "-S", self.write("calls.py", CALLS), extension)
        stacks = self.stacks(profile, "handle (calls.py:4)")
        self.assertTrue(stacks)
        for frames in stacks:
            self.assertEqual(frames[0].function, "parse")
        sizes: defaultdict[str, int] = defaultdict(int)
        names = Names(profile)
        for sample in profile.sample:
            line = next((f.row() for f in frames_of(sample, names) if f.is_interpreted), "")
            sizes[line] += sample.value[columns(profile)["inuse_space"]]
        self.assertEqual(max(sizes, key=lambda line: sizes[line]), "handle (calls.py:4)")

    def test_what_is_no_interpreter_that_is_known_has_its_stacks_as_before(self) -> None:
        """A program that exports the names, with another version."""
        source = self.write("pretends.c", """
            #include <stdlib.h>
            unsigned long Py_Version = 0x03990000;
            char PyCode_Type[400], PyUnicode_Type[400];
            void *PyGILState_GetThisThreadState(void) { abort(); }
            int main(void) { for (int i = 0; i < 1000; i++) if (!malloc(10000)) return 1; return 0; }
        """)
        program = str(self.folder / "pretends")
        subprocess.run(["cc", "-rdynamic", "-O0", source, "-o", program], check=True)
        names = Names(profile := self.profiled(program))
        self.assertIn("main", {frames_of(sample, names)[0].function for sample in profile.sample})


class Crashes(unittest.TestCase):
    """Threads without the interpreter's lock, code that is made and dropped, forks, an end with threads that go on."""

    CODE = """\
import os, sys, threading, time, zlib
def churn(n):
    for i in range(n):
        made = {}
        exec(compile("def f%d(k):\\n return [bytearray(k) for _ in range(3)]\\n" % (i % 7), "<made %d é>" % (i % 5), "exec"), made)
        made["f%d" % (i % 7)](30000)
        zlib.compress(bytes(20000))
def deep(n):
    return deep(n - 1) if n else sorted([3, 1, 2], key=lambda x: bytearray(4000) and x)
class Last:
    def __del__(self): bytearray(30000)
threads = [threading.Thread(target=churn, args=(100,)) for _ in range(4)]
for each in threads: each.start()
for _ in range(4):
    if (child := os.fork()) == 0:
        churn(10)
        os._exit(0)
    os.waitpid(child, 0)
for _ in range(10): deep(300)
for _ in range(50): Last()
for each in threads: each.join()
def forever():
    while True: churn(5)
for _ in range(3): threading.Thread(target=forever, daemon=True).start()
time.sleep(0.1)
print("done", flush=True)
"""

    def test_none(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            settings = {"HAKMEM_PROFILE_TABLE": f"{folder}/table", "HAKMEM_PROFILE_BYTES": "2048", "PYTHONMALLOC": "malloc"}
            for version, python in interpreters().items():
                with self.subTest(version):
                    ended = subprocess.run([python, "-W", "ignore", "-c", self.CODE], capture_output=True, text=True,
                                           env=clean_environment(LD_PRELOAD=str(LIBRARY), **settings), check=False)
                    self.assertEqual((ended.returncode, ended.stdout), (0, "done\n"), ended.stderr[-2000:])
                    table = max(Path(folder).glob("table.*"), key=lambda each: each.stat().st_size)
                    self.assertRegex(hakmem("profile", "--by", "alloc_space", str(table)).stdout, r"f\d(\.<locals>\.<listcomp>)? \(<made \d é>:2\)")


if __name__ == "__main__":
    unittest.main()
