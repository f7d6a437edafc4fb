# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line: help, version, and one line for everything wrong."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

from support import BUILD, COMMAND, ROOT, Scratch, clean_environment, hakmem, hakmem_run, preloadable

from hakmem import __version__


class CommandLine(Scratch):
    def test_version_is_that_of_the_library(self) -> None:
        header = (ROOT / "include" / "hakmem" / "hakmem.h").read_text()
        numbers = re.findall(r"#define HAK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
        self.assertEqual(__version__, ".".join(numbers))
        self.assertEqual(hakmem("--version").stdout, f"hakmem {__version__}\n")

    def test_what_loads_slowly_is_loaded_by_what_needs_it(self) -> None:
        slow = {"pandas", "numpy", "scipy", "matplotlib", "jinja2", "psutil", "hdrh", "rich", "tempfile"}
        self.assertEqual(slow & self.loaded_by("hakmem.cli"), set())
        to_read_results = {"pandas", "numpy", "scipy", "matplotlib", "jinja2"}
        self.assertEqual(to_read_results & self.loaded_by("hakmem.running.run"), set())

    def loaded_by(self, module: str) -> set[str]:
        code = f"import sys, {module}; print(*sys.modules)"
        listed = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
        return {name.partition(".")[0] for name in listed.stdout.split()}

    def test_the_working_folder_and_python_variables_are_the_programs(self) -> None:
        (self.folder / "typing.py").write_text("raise SystemExit('taken from the working folder')")
        ended = subprocess.run(
            [COMMAND, "--version"], cwd=self.folder, env=clean_environment(PYTHONPATH=str(self.folder)),
            capture_output=True, text=True, check=False,
        )
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_by_a_link_from_elsewhere(self) -> None:
        link = self.folder / "link"
        link.symlink_to(COMMAND)
        ended = subprocess.run([link, "--version"], capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (0, f"hakmem {__version__}\n"))

    def test_without_a_path(self) -> None:
        ended = hakmem("--version", PATH="")
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, f"hakmem {__version__}\n", ""))

    def test_help(self) -> None:
        for arguments in (["--help"], ["-h"], ["run", "--help"]):
            with self.subTest(arguments=arguments):
                ended = hakmem(*arguments, COLUMNS="100")
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                self.assertIn("Usage: hakmem", ended.stdout)
        self.assertIn("--runs", hakmem("run", "--help").stdout)

    def test_what_is_wrong_names_the_commands_own_help(self) -> None:
        cases = {
            "sites": ("sites", "--frobnicate"), "exec": ("exec", "--mode"), "trace": ("trace",),
            "decisions": ("decisions", "a", "b"),
            "": ("frobnicate",),
        }
        for command, words in cases.items():
            with self.subTest(words=words):
                self.assertTrue(hakmem(*words).stderr.endswith(f" (see {f'hakmem {command}'.strip()} --help)\n"), hakmem(*words).stderr)

    def test_wrong_use(self) -> None:
        cases = (
            ["frobnicate"], ["--frobnicate"], ["run", "--frobnicate"], ["run", "--runs", "many"],
            ["run", "--runs", "0"], ["run", "--runs", "-1"], ["run", "--runs"],
            ["run", "--build", "/no/such", "true"], ["run", "--build", str(BUILD), "--library", "/no/such", "true"],
            ["run", "--build", str(BUILD), "--stdin", "/no/such", "true"],
            ["run", "--build", str(BUILD), "--stdin", "/", "true"],
            ["run", "--build", str(BUILD), "--library", "/", "true"], ["run", "--build", "/etc/passwd", "true"],
            ["run", "--build", self.circle(), "true"], ["run", "--build", str(BUILD), "--library", self.circle(), "true"],
            ["run", "--build", str(BUILD), "--stdin", self.circle(), "true"],
        )
        for arguments in cases:
            with self.subTest(arguments=arguments):
                ended = hakmem(*arguments)
                self.assert_one_line(ended.stderr)
                self.assertEqual((ended.returncode, ended.stdout), (2, ""))

    def circle(self) -> str:
        link = self.folder / "circle"
        if not link.is_symlink():
            link.symlink_to("circle")
        return str(link)

    def test_commands_that_cannot_be_run(self) -> None:
        for command, status in (("no-such-command-at-all", 127), ("/etc/passwd", 126), ("/etc", 126)):
            with self.subTest(command=command):
                ended = hakmem_run(command)
                self.assert_one_line(ended.stderr)
                self.assertEqual((ended.returncode, ended.stdout), (status, ""))

    def test_an_executable_the_kernel_refuses(self) -> None:
        """A shell runs a file without #! as a script, and so does the launcher; a broken #! is an error."""
        broken = self.folder / "broken"
        broken.write_text("#!/no/such/interpreter\n")
        broken.chmod(0o755)
        ended = hakmem_run(str(broken))
        self.assert_one_line(ended.stderr)
        self.assertEqual(ended.returncode, 127)


class NotHakmem(Scratch):
    def refused(self, library: Path) -> str:
        ended = hakmem_run("true", options=["--library", str(library)])
        self.assert_one_line(ended.stderr)
        self.assertEqual((ended.returncode, ended.stdout), (3, ""))
        return ended.stderr

    def test_glibc(self) -> None:
        self.assertIn("is not HAKMEM", self.refused(Path("/lib/x86_64-linux-gnu/libc.so.6")))

    def test_a_library_that_forwards_to_glibc(self) -> None:
        self.assertIn("is not HAKMEM", self.refused(preloadable("forward")))

    def test_another_allocator(self) -> None:
        self.assertIn("is not HAKMEM", self.refused(Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")))

    def test_one_that_pretends_fails_at_the_count(self) -> None:
        ended = hakmem_run("ls", "/", options=["--library", str(preloadable("pretend"))])
        self.assertIn("HAKMEM wrote no counters", ended.stderr)
        self.assertEqual(ended.returncode, 3)

    def test_not_a_library(self) -> None:
        text = self.folder / "text.so"
        text.write_text("no library")
        self.assertIn("is not HAKMEM", self.refused(text))

    def test_a_library_that_crashes(self) -> None:
        self.assertIn("SIGSEGV", self.refused(preloadable("crash")))

    def test_a_path_that_cannot_be_preloaded(self) -> None:
        folder = self.folder / "with space"
        folder.mkdir()
        (folder / "libhakmem.so").symlink_to(self.places.so_file)
        copy = folder / "copy.so"
        copy.write_bytes(self.places.so_file.read_bytes())
        ended = hakmem_run("true", options=["--library", str(copy)])
        self.assert_one_line(ended.stderr)
        self.assertIn("cannot be preloaded", ended.stderr)


if __name__ == "__main__":
    unittest.main()
