# SPDX-License-Identifier: MIT OR Apache-2.0
"""Standard streams that are closed, full, or that nobody reads: no status is wrong for them, and nothing is a traceback."""

from __future__ import annotations

import re
import subprocess
import unittest
from collections.abc import Callable

from support import BUILD, COMMAND, PROGRAMS, Scratch, clean_environment, hakmem, heap_profile, small_trace
from test_learn import ring

from hakmem import __version__
from hakmem.base.streams import BOX_LINES, SIGNS

VERSION = f"hakmem {__version__}\n"
FULL = "hakmem: standard output: no space left on device\n"
BROKEN_PIPE = 141
RUN = f"run --build {BUILD} --runs 1"


class Reading(Scratch):
    command = COMMAND

    def shell(self, words: str) -> subprocess.CompletedProcess[str]:
        """`words` follow the command; its status, not that of what reads it."""
        script = f"set -o pipefail; {self.command} {words}"
        return subprocess.run(["bash", "-c", script], env=clean_environment(), capture_output=True, text=True)

    def check(self, words: str, status: int, output: str, errors: str | None = "") -> None:
        with self.subTest(words=words):
            ended = self.shell(words)
            self.assertEqual((ended.returncode, ended.stdout), (status, output), ended.stderr)
            self.assertNotIn("Traceback", ended.stderr)
            self.assertNotIn("Exception ignored", ended.stderr)
            if errors is not None:
                self.assertEqual(ended.stderr, errors)

    def assert_nothing_is_left(self, words: str) -> None:
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        with self.subTest(words=words):
            script = f"set -o pipefail; export TMPDIR={work}; {self.command} {words} 2>{self.folder}/errors | (exec <&-; sleep 0.1)"
            ended = subprocess.run(["bash", "-c", script], env=clean_environment(), check=False)
            self.assertEqual(ended.returncode, BROKEN_PIPE, (self.folder / "errors").read_text())
            self.assertNotIn("Traceback", (self.folder / "errors").read_text())
            self.assertNotIn("stopped by", (self.folder / "errors").read_text())
            self.assertEqual(list(work.iterdir()), [])

    def assert_no_figure_is_cut(self, command: Callable[..., subprocess.CompletedProcess[str]], *words: str) -> None:
        with self.subTest(words=words):
            narrow, usual = (command(*words, **columns).stdout for columns in ({"COLUMNS": "50"}, {}))
            self.assertNotIn("…", narrow)
            figures = [set(re.findall(r"[ (][\d.,]+(?=[ )])", text)) for text in (usual, f"{narrow} ".replace("\n", " "))]
            self.assertEqual(figures[0] - figures[1], set())
            is_prose = re.compile(r"[A-Za-z≈]")
            self.assertLessEqual(max(len(line) for line in narrow.splitlines() if is_prose.match(line)), 80)


class Streams(Reading):
    def test_closed(self) -> None:
        self.check("--version 2>&-", 0, VERSION)
        self.check("--version <&-", 0, VERSION)
        self.check("--version >&-", 1, "", "hakmem: standard output: bad file descriptor\n")
        self.check("--version <&- >&- 2>&-", 1, "")
        self.check("frobnicate 2>&-", 2, "")
        self.check("no-such 2>&- >&-", 2, "")

    def test_closed_around_a_program(self) -> None:
        self.check(f"{RUN} echo hello 2>&-", 0, "hello\n")
        self.check(f"{RUN} echo hello >&-", 0, "", None)
        self.check(f"{RUN} echo hello <&- >&- 2>&-", 0, "")
        self.check(f"{RUN} sh -c 'exit 4' <&- >&- 2>&-", 4, "")
        self.check(f"{RUN} cat <&-", 0, "", None)
        self.check(f"{RUN} --stdin - cat <&-", 0, "", None)
        self.check(f"{RUN} sh -c 'exec <&- >&- 2>&-; /bin/true'", 0, "", None)

    def test_what_is_opened_later_takes_no_closed_stream(self) -> None:
        """The program's standard error would be one of the command's own files."""
        self.check(f"{RUN} sh -c 'readlink /proc/self/fd/2' 2>&-", 0, "/dev/null\n")

    def test_full(self) -> None:
        self.check("--version >/dev/full", 1, "", FULL)
        self.check("--help >/dev/full", 1, "", FULL)
        self.check(">/dev/full", 1, "", FULL)
        self.check("profile --help >/dev/full", 1, "", FULL)
        self.check("--version 2>&- >/dev/full", 1, "")
        self.check("--version 2>/dev/full", 0, VERSION)
        self.check(f"{RUN} echo hello 2>/dev/full", 0, "hello\n")

    def test_nobody_reads(self) -> None:
        self.check("profile --help | (exec <&-; sleep 2)", BROKEN_PIPE, "")
        self.check("--help | (exec <&-; sleep 2)", BROKEN_PIPE, "")
        self.check(f"{RUN} true 2>&1 | (exec <&-; sleep 2)", 0, "")

    def test_nobody_reads_the_program(self) -> None:
        gone = "as its output is read no longer; it was not measured\n"
        self.check(f"{RUN} seq 1000000 | head -1", BROKEN_PIPE, "1\n",
                   f"hakmem: the program was killed by SIGPIPE, {gone}")

    def test_a_full_disk_is_the_programs_failure(self) -> None:
        ended = self.shell(f"{RUN} echo hello >/dev/full")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("(the first writes where this command does, the others to files)", ended.stderr)

    def test_a_reader_that_is_gone_leaves_nothing(self) -> None:
        """Each command that has files of its own while it prints."""
        trace = small_trace(self.folder / "a.hakt")
        build = f"--build {BUILD}"
        for words in (
            f"replay {build} --rounds 1 {trace}", f"sites {build} --trace {trace}", f"doctor {build} true",
            f"sites {build} -- {PROGRAMS}/tools_traced",
        ):
            self.assert_nothing_is_left(words)

    def test_a_folder(self) -> None:
        self.check("--version </", 2, "", "hakmem: standard input is a folder\n")

    def test_letters_that_the_locale_lacks(self) -> None:
        ended = subprocess.run(
            [COMMAND, "run", "--build", str(BUILD), "--runs", "1", "echo", b"\xff\xc3\xa9"], capture_output=True,
            env=clean_environment(LC_ALL="C", PYTHONUTF8="0"),
        )
        self.assertEqual((ended.returncode, ended.stdout), (0, b"\xff\xc3\xa9\n"), ended.stderr)

    def test_signs_are_plain_where_the_locale_has_ascii_only(self) -> None:
        trace, profile = small_trace(self.folder / "a.hakt"), heap_profile(self.folder)
        decisions = self.folder / "ring.1"
        decisions.write_bytes(ring(7))
        build = ("--build", str(BUILD))
        for words in (
            ("profile", profile), ("profile", "--leaks", profile), ("sites", *build, "--trace", trace), ("decisions", decisions),
            ("replay", *build, "--rounds", "1", trace), ("sites", "--help"),
            ("report", profile, "-o", self.folder / "page.html"), ("run", *build, "--runs", "1", "true"),
            ("top", "--once", f"{self.folder}/\xe9"),
        ):
            with self.subTest(words=words):
                ended = subprocess.run([COMMAND, *map(str, words)], env=clean_environment(LC_ALL="C"), capture_output=True, check=False)
                told = ended.stdout + ended.stderr
                self.assertTrue(told.isascii(), told)
                self.assertNotIn(b"\\u", told)
                self.assertNotIn(b"Traceback", told)
        self.assertTrue(all(sign.isascii() for sign in (*SIGNS.values(), *BOX_LINES.values())))

    def test_columns_are_heeded_by_every_table_and_no_figure_is_cut(self) -> None:
        profile, decisions = heap_profile(self.folder), self.folder / "ring.1"
        decisions.write_bytes(ring(7))
        for words in (("profile", str(profile)), ("decisions", str(decisions))):
            self.assert_no_figure_is_cut(hakmem, *words)
        for command in ("profile", "sites", "replay"):
            narrow = hakmem(command, "--help", COLUMNS="50").stdout
            self.assertLessEqual(max(map(len, narrow.splitlines())), 50)


def can_mount() -> bool:
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], check=False, capture_output=True).returncode == 0


class DiskThatIsFull(Scratch):
    command = COMMAND
    SCRIPT = """mount -t tmpfs -o size=16k none "$0" || exit 99
        head -c 16384 /dev/zero >"$0/fill"; cd "$0"; "$@"; echo "status $?" >&2; ls -A "$0" >&2"""

    def refused(self, out: str, *words: object, status: int = 1, before: str = "", left: str = "") -> None:
        """One line with the cause, and nothing left."""
        with self.subTest(words=words):
            disk = self.folder / "disk"
            disk.mkdir(exist_ok=True)
            ended = subprocess.run(
                ["unshare", "-m", "sh", "-c", before + self.SCRIPT, disk, self.command, *map(str, words)],
                env=clean_environment(), capture_output=True, text=True, check=False,
            )
            self.assertEqual(ended.stderr, f"hakmem: {out}\nstatus {status}\nfill\n{left}")


@unittest.skipUnless(can_mount(), "no disk may be made here")
class FullDisk(DiskThatIsFull):
    def test_one_line_with_the_cause_and_nothing_half_written(self) -> None:
        trace, profile, full = small_trace(self.folder / "a.hakt"), heap_profile(self.folder), "no space left on device"
        build, many = ("--build", BUILD), f"for i in $(seq 9); do {PROGRAMS}/tools_traced; done >/dev/null"
        for words in (
            ("profile", profile, "-o"), ("report", profile, "-o"), ("sites", *build, "--trace", trace, "--csv"),
        ):
            self.refused(f"out: {full}", *words, "out")
        self.refused(f"out: {full}", "learn", *build, "-o", "out", "--", "sh", "-c", many)
        self.refused("sh: there was no room for a trace; no trace came", "trace", *build, "-o", "out", "--", "sh", "-c", many, status=3)


if __name__ == "__main__":
    unittest.main()
