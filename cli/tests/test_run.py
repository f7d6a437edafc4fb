# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem run` on real programs, as a user would see it."""

from __future__ import annotations

import shutil
import subprocess
import unittest
from pathlib import Path

from support import BUILD, COMMAND, Scratch, clean_environment, hakmem, hakmem_run, program


class Served(Scratch):
    def assert_served(self, ended: subprocess.CompletedProcess[str], status: int = 0) -> None:
        self.assertEqual(ended.returncode, status, ended.stderr)
        self.assertRegex(ended.stderr, r"calls HAKMEM did not serve: 0 of [\d,]+ that the probe counted\n")
        self.assertIn("served by HAKMEM: malloc and free are those of", ended.stderr)
        for measure in ("wall time", "CPU time", "peak RSS", "page faults"):
            self.assertRegex(ended.stderr, rf"{measure} +\S.*x\n")

    def test_the_programs_output_appears_once(self) -> None:
        ended = hakmem_run(program("calls"), "text", "3")
        self.assert_served(ended)
        self.assertEqual(ended.stdout, "line 0\nline 1\nline 2\n")
        self.assertEqual(ended.stderr.count("to standard error"), 1)

    def test_the_programs_exit_status(self) -> None:
        self.assert_served(hakmem_run("sh", "-c", "ls / > /dev/null; exit 4"), 4)

    def test_a_program_that_dies_alike_everywhere(self) -> None:
        self.assert_served(hakmem_run(program("calls"), "abort", "100"), 134)

    def test_children_of_all_kinds(self) -> None:
        ended = hakmem_run("sh", "-c", f"{program('calls')} fork 10; ls / | cat > /dev/null; exec env true")
        self.assert_served(ended)
        self.assertRegex(ended.stderr, r"in the process and \d+ children, in the timed run")

    def test_a_compiler(self) -> None:
        source = self.folder / "x.cpp"
        source.write_text("#include <map>\n#include <string>\nint main() { std::map<int, std::string> m; m[1]; }\n")
        self.assert_served(hakmem_run("g++", "-O1", str(source), "-o", str(self.folder / "x")))

    def test_redis_brings_jemalloc(self) -> None:
        ended = hakmem_run("redis-server", "--version")
        self.assert_served(ended)
        self.assertIn("the program brings libjemalloc.so.2; its glibc runs had libc.so.6 preloaded", ended.stderr)

    def test_the_program_sees_the_signals_as_the_caller_left_them(self) -> None:
        state = ["grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"]
        plain = subprocess.run(state, env=clean_environment(), capture_output=True, text=True, check=True)
        self.assertEqual(hakmem_run(*state).stdout, plain.stdout)

    def test_threads(self) -> None:
        self.assert_served(hakmem_run(program("calls"), "threads", "8", "5000"))

    def test_hakmem_preloaded_by_the_caller_disturbs_neither_side(self) -> None:
        ended = hakmem_run("ls", "/", LD_PRELOAD=str(self.places.so_file))
        self.assert_served(ended)
        self.assertNotIn("the program brings", ended.stderr)

    def test_the_default_program(self) -> None:
        """Beside all allocators there are, with memory over time."""
        ended = hakmem("run", "--build", str(BUILD), "--runs", "1", "--allocators", "glibc")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertRegex(ended.stdout, r"\Aburst: .* checksum [0-9a-f]{8}\n\Z")
        self.assertRegex(ended.stderr, r"hakmem run --peers: PYTHONMALLOC=malloc \S+ \S+/burst.py\n")
        self.assertRegex(ended.stderr, r"(?m)^HAKMEM +[\d,]+ ┤")


class Input(Scratch):
    def test_a_file_is_read_by_every_run(self) -> None:
        text = self.folder / "text"
        text.write_text("a\nb\n")
        for options, stdin in ((["--stdin", str(text)], None), (["--stdin", "-"], "a\nb\n")):
            with self.subTest(options=options):
                ended = hakmem_run("grep", "-c", "b", options=options, stdin=stdin)
                self.assertEqual((ended.returncode, ended.stdout), (0, "1\n"), ended.stderr)

    def test_standard_input_that_is_a_file(self) -> None:
        text = self.folder / "text"
        text.write_text("a\nb\n")
        command = [COMMAND, "run", "--build", str(BUILD), "--runs", "1", "grep", "-c", "b"]
        with text.open() as stdin:
            ended = subprocess.run(
                command, stdin=stdin, env=clean_environment(), capture_output=True, text=True, check=False
            )
        self.assertEqual((ended.returncode, ended.stdout), (0, "1\n"), ended.stderr)


class NotServed(Scratch):
    def refused(self, *command: str, status: int) -> str:
        """The program itself may have written; the last line is the command's."""
        ended = hakmem_run(*command)
        self.assertEqual(ended.returncode, status, ended.stderr)
        self.assertNotIn("wall time", ended.stderr)
        self.assert_one_line(ended.stderr)
        return ended.stderr

    def test_a_static_program(self) -> None:
        self.assertIn("linked statically", self.refused(program("calls_static"), status=2))

    def test_a_program_that_drops_the_preload(self) -> None:
        text = self.refused("env", "-i", shutil.which("ls") or "ls", "/", status=3)
        self.assertIn("ls was started without what hakmem had put into LD_PRELOAD", text)

    def test_a_static_program_behind_another(self) -> None:
        self.assertIn("linked statically", self.refused("env", program("calls_static"), status=3))

    def test_a_malloc_inside_the_executable(self) -> None:
        self.assertIn("has a malloc of its own", self.refused(program("own_malloc"), status=3))

    def test_a_child_that_cannot_be_served_is_noted(self) -> None:
        ended = hakmem_run("sh", "-c", f"{program('calls_static')}; ls /")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("note: not on HAKMEM, and not in these counts: tools_calls_static is linked", ended.stderr)

    def test_a_program_that_ends_differently(self) -> None:
        """The first run of it succeeds, the later ones do not."""
        mark = self.folder / "mark"
        script = f"test ! -e {mark} && touch {mark}"
        self.assertIn("exited with 0 on HAKMEM in the counted run, but exited with 1 on glibc",
                      self.refused("sh", "-c", script, status=3))


class LeftOvers(Scratch):
    def test_no_scratch_folder_stays(self) -> None:
        """Also when the run is refused."""
        for command in (["true"], ["no-such-command-at-all"], [program("own_malloc")]):
            hakmem_run(*command, TMPDIR=str(self.folder))
            self.assertEqual(list(Path(self.folder).iterdir()), [], command)

    def test_processes_left_running_are_noted(self) -> None:
        ended = hakmem_run("sh", "-c", "sleep 3 > /dev/null 2>&1 &")
        self.assertIn("note: the program left processes running", ended.stderr)


if __name__ == "__main__":
    unittest.main()
