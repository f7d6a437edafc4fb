# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem exec --profile`: the profile of a program and its children, whatever ends them."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from support import BUILD, COMMAND, Scratch, clean_environment, end, hakmem, program

from hakmem.base.figures import bytes_text
from hakmem.reading.estimate import evidence_of, range_of, sum_of
from hakmem.reading.pprof import read

AT_BUILD = ("--build", str(BUILD))
PATIENCE_SECONDS = 30
PYTHON = "/usr/bin/python3"


class Profiled(Scratch):
    def setUp(self) -> None:
        super().setUp()
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()

    def profiled(
        self, *command: str, options: tuple[str, ...] = ("--profile",), ends: int = 0
    ) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            [COMMAND, "exec", *AT_BUILD, "--set", "profile_bytes=8192", *options, "--", *command], cwd=self.folder,
            env=clean_environment(TMPDIR=str(self.temporary)), capture_output=True, text=True, check=False,
        )
        self.assertEqual(ended.returncode, ends, ended.stderr)
        self.assertEqual(list(self.temporary.iterdir()), [])
        return ended

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.is_file())

    def assert_leak_is_named(self, stderr: str) -> None:
        text = (Path(__file__).parents[2] / "tests" / "tools" / "leaks.cpp").read_text().splitlines()
        line = 1 + next(n for n, each in enumerate(text) if "/* leaks */" in each)
        size = r"\d\d\.\d"
        most = rf"\n\n  ≈ [78]\d\.\d MiB \({size} to {size} MiB\) in ≈ [\d,]+ blocks, from [\d,]+ samples, 9\d\.\d % of what is "
        most += "live\n"
        self.assertRegex(stderr, rf"{most} +.*open\(int\)  .*leaks\.cpp:{line}\n")

    def test_the_leaking_line_is_named_however_it_ends(self) -> None:
        leaks = program("leaks")
        ways = ((0, 3, "exited with 3"), (9, -9, "was killed by SIGKILL"), (6, -6, "was killed by SIGABRT"))
        for number, ends, said in ways:
            with self.subTest(said=said):
                ended = self.profiled(leaks, *([str(number)] if number else []), ends=ends)
                self.assertEqual(ended.stdout, "served\n")
                begins = f"hakmem exec: {leaks} {said}\n  heap profile tools_leaks."
                self.assertTrue(ended.stderr.startswith(begins), ended.stderr)
                self.assert_leak_is_named(ended.stderr)
                file = self.files()[0]
                self.assertRegex(file, r"\Atools_leaks\.\d+\.heap\.pb\.gz\Z")
                profile = read(self.folder / file)
                self.assertTrue(profile.function, "it is named")
                self.assertIn("open(int)", hakmem("profile", "--leaks", str(self.folder / file)).stdout)
                (self.folder / file).unlink()

    def test_what_was_freed_before_the_end_is_told_as_the_peak(self) -> None:
        code = "import ctypes\nx = [bytes(900) for _ in range(30000)]\nx.clear()\n"
        ended = self.profiled("env", "PYTHONMALLOC=malloc", PYTHON, "-S", "-c", code, options=("--profile=x.pb.gz",))
        peak = next(line for line in ended.stderr.splitlines() if line.startswith("  peak "))
        self.assertRegex(peak, r" 2\d\.\d MiB in ≈ [\d,]+ blocks, from [\d,]+ samples\Z")
        counted = r"\n {15}scaled by [01]\.\d\d to the 2\d\.\d MiB \([\d,]+ B\) that the counters know, \S+ m?s after the first sample\n"
        self.assertRegex(ended.stderr, counted)
        self.assertIn("\n  stacks       at the peak; most of that is gone\n", ended.stderr)
        self.assertRegex(ended.stderr, r"samples, [89]\d\.\d % of what was live at the peak\n")
        self.assertIn("at the peak", hakmem("profile", "--peak", str(self.folder / "x.pb.gz")).stdout.splitlines()[0])

    def test_the_number_that_the_shell_has_is_taken_for_the_programs(self) -> None:
        """Of `hakmem exec --profile program &` it is that of the parent, which waits and does not run on HAKMEM."""
        command = [COMMAND, "exec", *AT_BUILD, "--profile=x.pb.gz", "--", program("causes"), "leak"]
        process = subprocess.Popen(command, cwd=self.folder, env=clean_environment(TMPDIR=str(self.temporary)),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(end, process)
        assert process.stdout is not None
        pid = int(process.stdout.readline().split()[2])
        self.assertNotEqual(pid, process.pid)
        for words in (("explain",), ("profile",), ("top", "--once"), ("profile", "--leaks")):
            shown = hakmem(*words, str(process.pid))
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), words)
            self.assertIn("leak_some" if "--leaks" in words else "live" if words[0] == "top" else str(pid), shown.stdout, words)

    def test_what_was_freed_at_once_is_told_with_its_command(self) -> None:
        code = "for _ in range(60000): bytes(900)\n"
        ended = self.profiled("env", "PYTHONMALLOC=malloc", PYTHON, "-S", "-c", code, options=("--profile=x.pb.gz",))
        told = r"\n  temporary    ≈ [456]\d\.\d MiB \([^)]*\) in ≈ [\d,]+ blocks, from [\d,]+ samples: freed before their thread asked for more\n"
        self.assertRegex(ended.stderr, told)
        self.assertIn("\n               hakmem profile --temporary --leaks x.pb.gz\n", ended.stderr)
        kept = self.profiled("env", "PYTHONMALLOC=malloc", PYTHON, "-S", "-c", "x = [bytes(900) for _ in range(30000)]\n")
        self.assertNotIn("temporary", kept.stderr)

    def test_a_file_that_is_named_and_stats_too(self) -> None:
        options = ("--profile=here.pb.gz", "--stats")
        for words in (options, options[::-1]):
            ended = self.profiled(program("leaks"), options=words, ends=3)
            labels = [line[2:15].strip() for line in ended.stderr.splitlines()[1:]]
            self.assertEqual(labels[:7], ["time", "peak memory", "served", "at the end", "", "HAKMEM", ""])
            self.assertEqual(labels[7:9], ["heap profile", "live"])
            self.assertEqual(self.files(), ["here.pb.gz"])
            self.assertIn("served       by HAKMEM", ended.stderr)
            self.assert_leak_is_named(ended.stderr)

    def test_scripts_children_and_what_samples_nothing(self) -> None:
        leaks = program("leaks")
        script, text = self.folder / "script", self.folder / "text"
        script.write_text(f"#!/bin/sh\n{leaks} 9\n{leaks}\n")
        text.write_text(f"exec {leaks}\n")
        script.chmod(0o755)
        text.chmod(0o755)
        ended = self.profiled("./script", options=("--profile=out.pb.gz",), ends=3)
        self.assertEqual(ended.stdout, "served\nserved\n")
        self.assertIn("which it started: in its own, ", ended.stderr)
        self.assert_leak_is_named(ended.stderr)
        self.assertEqual([name for name in self.files() if name.startswith("out")], ["out.pb.gz"])
        self.assertIn("without a file", ended.stderr)
        self.profiled("./script", options=("--profile=all.pb.gz", "--children"), ends=3)
        self.assertIn(len([name for name in self.files() if re.fullmatch(r"all(\.\d+)?\.pb\.gz", name)]), (2, 3))
        self.assert_leak_is_named(self.profiled("./text", ends=3).stderr)
        ended = self.profiled("/bin/true", options=("--profile=none.pb.gz", "--set", "profile_bytes=1T"))
        self.assertRegex(ended.stderr, r"\Ahakmem exec: /bin/true exited with 0\n  heap profile none\.pb\.gz: ([\d.]+ (Ki)?B in use at exit, )?"
                         r"likely less than 12.0 GiB ever; at least one byte in 4.0 GiB is sampled, more with [^\n]*\n\Z")
        self.assertEqual(len(read(self.folder / "none.pb.gz").sample), 0)

    def test_a_program_that_only_starts_others_has_one_line(self) -> None:
        """And one for what it started, of which no table can be made: in a root without /dev/shm and the temporary folder."""
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            self.skipTest("no bwrap")
        inside = ("--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", str(self.temporary), "true")
        ended = hakmem("exec", *AT_BUILD, f"--profile={self.folder / 'x'}", "--", bwrap, *inside)
        *_, exited, profile = ended.stderr.splitlines()
        self.assertEqual((ended.returncode, exited), (0, f"hakmem exec: {bwrap} exited with 0"))
        self.assertRegex(profile, r"\A  heap profile .*/x: [\d.]+ (Ki)?B in use at exit, .* ever; at least one byte in [\d.]+ (Ki)?B is sampled")
        self.assertLessEqual(len(ended.stderr.splitlines()), 3)

    def test_what_little_leaks_is_never_told_as_nothing(self) -> None:
        """By a few samples or none: the truth is in the range that is told, or below the bound. The counters have it all."""
        code, size = "import ctypes, sys\nc = ctypes.CDLL(None)\n", re.compile(r"[\d.,]+ (?:[KMG]i)?B")
        code += "for _ in range(int(sys.argv[1])): c.malloc(1000)\n"
        inside = runs = 0
        for blocks in (20, 100, 400, 1500) * 2:
            ended = hakmem("exec", *AT_BUILD, f"--profile={self.folder / 'x'}", "--", PYTHON, "-S", "-c", code, str(blocks))
            live = next(line for line in ended.stderr.splitlines() if line.startswith("  live "))
            counted = next(line for line in ended.stderr.splitlines() if line.startswith("  counted "))
            truth = int(counted.split("(")[1].split(" ")[0].replace(",", ""))
            self.assertGreater(truth, 1000 * blocks)
            self.assertNotIn(" 0 B in ", ended.stderr)
            profile = read(self.folder / "x")
            self.assertIn(f"one byte in {bytes_text(profile.period)} is sampled: ", ended.stderr)
            self.assertIn(f"with less than {bytes_text(3 * profile.period)} may go unseen", ended.stderr)
            low, high = range_of(sum(s.value[3] for s in profile.sample), sum_of(evidence_of(profile)), profile.period)
            self.assertIn(size.findall(bytes_text(high))[0], live)
            runs, inside = runs + 1, inside + (low * 0.99 <= truth <= high * 1.01)
        self.assertGreaterEqual(inside, runs - 2)

    def test_a_small_program_is_sampled_densely(self) -> None:
        """With the library's own rate a megabyte would be two samples, and its range three times as wide as it is."""
        code = "import ctypes\nc = ctypes.CDLL(None)\nfor _ in range(1000): c.malloc(1000)\n"
        options = (f"--profile={self.folder / 'x'}", "--set", "profile_bytes=512K")
        ended = hakmem("exec", *AT_BUILD, *options, "--", PYTHON, "-S", "-c", code)
        self.assertIn("at least one byte in ", ended.stderr)
        profile = read(self.folder / "x")
        size = sum(sample.value[3] for sample in profile.sample)
        low, high = range_of(size, sum_of(evidence_of(profile)), profile.period)
        self.assertGreater(sum(each.samples for each in evidence_of(profile)), 60)
        self.assertLess((high - low) / size, 0.8)

    def test_the_callers_own_period_stays(self) -> None:
        """The first samples, and `true` has no others, are 256 times as dense, but not one in less than 2 KiB."""
        for options, variables, said, more in (
            ((), {}, "2.0 KiB", "1"), (("--set", "profile_bytes=300"), {}, "300 B", "1"),
            ((), {"HAKMEM_PROFILE_BYTES": "4M"}, "16.0 KiB", "4096, or 1"),
        ):
            ended = hakmem("exec", *AT_BUILD, f"--profile={self.folder / 'x'}", *options, "--", "true", **variables)
            self.assertIn(f"one byte in {said} is sampled", ended.stderr)  # of which one may be found
            self.assertIn(f"with --set profile_bytes={more}: each block", ended.stderr)

    def test_a_forks_child(self) -> None:
        code = (
            "import os\nx = [bytes(900) for _ in range(30000)]\n"
            "if os.fork() == 0:\n  y = [bytes(900) for _ in range(60000)]\n  os._exit(0)\nos.wait()\nos._exit(0)\n"
        )
        command = ("env", "PYTHONMALLOC=malloc", "/usr/bin/python3", "-c", code)
        ended = self.profiled(*command, options=("--profile=x.pb.gz", "--children"))
        live = {name: sum(s.value[3] for s in read(self.folder / name).sample) for name in self.files()}
        self.assertEqual(len(live), 2, ended.stderr)
        child = next(name for name in live if name != "x.pb.gz")
        self.assertRegex(child, r"\Ax\.\d+\.pb\.gz\Z")
        self.assertGreater(live[child], 75e6)

    def test_a_script_that_runs_python_has_pythons_profile_alone(self) -> None:
        """With what it starts before and after: sixteen other processes have nothing to say."""
        shim = self.folder / "shim"
        shim.write_text('#!/bin/sh\nfor n in 1 2 3 4; do ls / | cat >/dev/null; done\n/usr/bin/python3 "$@"\nexit $?\n')
        shim.chmod(0o755)
        code = "x = [bytes(900) for _ in range(30000)]; import os; os.system('ls / >/dev/null'); os._exit(0)"
        ended = self.profiled("env", "PYTHONMALLOC=malloc", "./shim", "-c", code)
        (file,) = [name for name in self.files() if name != "shim"]
        self.assertRegex(file, r"\Aenv\.\d+\.heap\.pb\.gz\Z")
        self.assertGreater(sum(s.value[3] for s in read(self.folder / file).sample), 25e6)
        self.assertIn("which it started: in its own, ", ended.stderr)
        self.assertRegex(ended.stderr, r"\n  process      [1-9]\d* others? without a file, the one[^\n]*; --children: a file of each\n")
        self.assertEqual(self.profiled("true", options=("--children",), ends=2).stderr, "hakmem: --children goes with --profile\n")

    def test_a_killed_parent_leaves_nothing(self) -> None:
        """Though another process makes 20,000 files in the temporary folder, or as many as it can."""
        code = (
            "d=${HAKMEM_PROFILE_TABLE%/*}; "
            '(exec >/dev/null 2>&1; while [ $((n += 1)) -le 20000 ]; do : >"$d/x$n" || exit; done) & '
            "echo ready; exec sleep 60"
        )
        process = subprocess.Popen(
            [COMMAND, "exec", *AT_BUILD, "--profile", "--", "sh", "-c", code], cwd=self.folder,
            env=clean_environment(TMPDIR=str(self.temporary)), stdout=subprocess.PIPE, text=True,
        )
        assert process.stdout is not None
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assertEqual(len(list(self.temporary.iterdir())), 1)
        process.kill()
        process.communicate()
        for _ in range(PATIENCE_SECONDS * 100):
            if not list(self.temporary.iterdir()):
                return
            time.sleep(0.01)
        self.fail("its folder stays")

    def test_who_stops_what_makes_the_profile_is_told(self) -> None:
        writer = self.folder / "writer"
        writer.write_text("#!/bin/sh\necho ready\nexec sleep 60\n")
        writer.chmod(0o755)
        library = str(BUILD / "libhakmem.so")
        process = subprocess.Popen(
            [str(BUILD / "hak_attend"), "-p", "", "-i", str(writer), "-m", "package", library, "/bin/true", "true"],
            env=clean_environment(TMPDIR=str(self.temporary)), stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(process.wait)
        assert process.stderr is not None
        self.assertEqual([process.stderr.readline() for _ in range(2)], ["hakmem exec: true exited with 0\n", "ready\n"])
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        process.stderr.close()
        self.assertEqual(said, f"hakmem: the writer of the heap profile was stopped by signal {signal.SIGTERM:d}\n")
        self.assertEqual((process.wait(), list(self.temporary.iterdir())), (0, []))

    def test_what_is_held_is_told_where_no_file_can_be_written(self) -> None:
        (self.folder / "full").symlink_to("/dev/full")
        ended = self.profiled(program("leaks"), options=("--profile=full",), ends=3)
        self.assertIn("\n  heap profile not written: full: no space left on device\n", ended.stderr)
        self.assertNotIn("hakmem profile --leaks", ended.stderr)
        self.assert_leak_is_named(ended.stderr)

    def test_a_program_with_a_long_name_and_little_address_space(self) -> None:
        name = "n" * 250
        shutil.copy(program("leaks"), self.folder / name)
        ended = self.profiled("sh", "-c", f"ulimit -v 1000000; exec ./{name}", ends=3)
        self.assertNotIn("Traceback", ended.stderr)
        ended = self.profiled(f"./{name}", ends=3)
        self.assert_leak_is_named(ended.stderr)
        self.assertRegex(ended.stderr, r"\n  heap profile n{200}\.\d+\.heap\.pb\.gz\n")

    def test_a_limit_on_files_does_not_end_the_program(self) -> None:
        for blocks in (0, 1, 100):
            ended = subprocess.run(
                ["sh", "-c", f'ulimit -f {blocks} && exec "$@"', "sh", COMMAND, "exec", *AT_BUILD, "--stats", "--profile=x.gz",
                 "--", "true"], cwd=self.folder, env=clean_environment(), capture_output=True, text=True, check=False,
            )
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertIn("hakmem exec: true exited with 0\n", ended.stderr)

    def test_what_cannot_be_is_said_before_it_runs(self) -> None:
        for option, said in (
            ("--profile=/no/such/x", "/no/such: a profile cannot be written there"),
            (f"--profile={self.folder}", f"--profile={self.folder}: a folder; name a file"),
            (f"--profile={'x' * 256}", f"--profile={'x' * 256}: file name too long"),
        ):
            ended = self.profiled("echo", "it", options=(option,), ends=2)
            self.assertEqual((ended.stdout, ended.stderr), ("", f"hakmem: {said}\n"))
        ended = hakmem("exec", *AT_BUILD, "--profile", "--frobnicate", "echo", "it")
        self.assert_one_line(ended.stderr)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))

    def test_a_command_that_is_not_there(self) -> None:
        ended = self.profiled("no-such-command-at-all", ends=127)
        self.assert_one_line(ended.stderr)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
