# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernel calls that are refused, by ENOSYS as by an old kernel and by EPERM as by a filter: asked once, and done without.

HAK_TEST_LIBRARY is libhakmem.so, HAK_TEST_WITHOUT the launcher (without.c), HAK_TEST_THREADS and HAK_TEST_STATIC the
programs (threads.c) that preload it and that are linked with libhakmem-override.a. HAK_TEST_SCALE above 1: each program.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

LIBRARY, WITHOUT = Path(os.environ["HAK_TEST_LIBRARY"]), os.environ["HAK_TEST_WITHOUT"]
THREADS, STATIC = os.environ["HAK_TEST_THREADS"], os.environ["HAK_TEST_STATIC"]
IS_MUSL = b"libc.so.6\0" not in LIBRARY.read_bytes()
THOROUGH = int(os.environ.get("HAK_TEST_SCALE", "1")) > 1
ERRORS = ("ENOSYS", "EPERM")
# Those that only improve; without them as much memory goes back. HAKMEM makes neither of the last two, nor will it.
OPTIONAL = ("populate", "cold", "wipeonfork", "dump", "hugepage", "membarrier", "clock", "affinity", "robust_list", "limits",
            "guard", "thread_name", "scheduler", "set_scheduler", "set_affinity", "sigprocmask", "sigaction", "tgkill", "gettid",
            "nanosleep", "poll", "process_madvise", "vma_name")
# Without them something stays: memory, or no background thread is made. One thread: glibc needs some of them for others.
NEEDED = ("remap", "unmap", "clone", "getpid", "futex")
# Of files that settings ask for. Not refused to dynamic programs, whose loader needs most of them.
OF_FILES = ("files", "read", "pread", "write_file", "pwrite", "fallocate", "map_file", "close", "stat", "fstat", "fcntl", "fchmod",
            "flock", "rename", "unlink", "user", "peek")
FILES = ("stats_file", "counters_file", "decisions_file", "profile_file", "policy_file", "trace_file")
# Calls without a row in without.c: those by which a program ends; and the program's own, which HAKMEM hands on (api/next.c).
WITHOUT_A_ROW = {"exit", "exit_group", "kill", "rt_sigreturn", "capset", "chroot", "setns", "unshare"}
# The program that makes the call, where that is not "keys". The background thread takes neither another policy nor other
# processors under a filter (os/thread.c), so that "scheduler", "set_scheduler" and "set_affinity" are not asked for here; nor
# are "cold", which needs huge pages, and "poll", which needs a wrong free.
MADE_BY = {"populate": "grow", "wipeonfork": "flood", "membarrier": "fork", "clock": "flood", "dump": "flood", "guard": "flood",
           "thread_name": "flood", "gettid": "fork"}
# A process asks once; for membarrier musl asks once more, for itself.
ASKED_ONCE = {"populate": r"madvise\(.*MADV_POPULATE", "wipeonfork": r"madvise\(.*MADV_WIPEONFORK", "membarrier": r"membarrier\("}

Result = subprocess.CompletedProcess[str]


def run(call: str, error: str, *command: str, before: tuple[str, ...] = (), **settings: str) -> Result:
    environment = {"PATH": os.environ["PATH"], "LANG": "C", "HAK_TEST_PRELOAD": str(LIBRARY), **settings}
    return subprocess.run([*before, WITHOUT, call, error, *command], env=environment, capture_output=True, text=True,
                          timeout=200, check=False)


def threads_need_clone() -> bool:
    """True of musl, and of glibc where it has no clone3, as on AArch64 before 2.38."""
    thread = (sys.executable, "-c", "import threading; threading.Thread().start()")
    return IS_MUSL or run("clone", "ENOSYS", *thread, HAK_TEST_PRELOAD="").returncode != 0


class Refused(unittest.TestCase):
    def expect_done(self, result: Result) -> None:
        self.assertEqual((result.returncode, result.stderr), (0, ""), f"{result.args}: {result.stdout}")
        self.assertTrue(result.stdout.endswith("done\n"), result.stdout)

    def test_each_call(self) -> None:
        for call in OPTIONAL:
            for error in ERRORS:
                brief = (MADE_BY.get(call, "keys") if error == "ENOSYS" else "keys",)
                for what in ("flood", "keys", "fork") if THOROUGH else brief:
                    with self.subTest(call=call, error=error, what=what):
                        self.expect_done(run(call, error, THREADS, what))

    def test_fork_without_a_wiped_page(self) -> None:
        """And without the list by which a thread of glibc is known."""
        for call in ("wipeonfork", "robust_list"):
            self.expect_done(run(call, "ENOSYS", THREADS, "fork"))

    def test_all_advice(self) -> None:
        """No memory goes back; all else goes on."""
        for error in ERRORS:
            for what in ("keys", "stack", *(("fork",) if THOROUGH else ())):
                self.expect_done(run("madvise", error, THREADS, what))

    def test_files(self) -> None:
        """No /proc, no control group of any version, no pressure: in a static program, which opens nothing else."""
        for error in ERRORS:
            self.expect_done(run("files", error, STATIC, "keys"))

    def test_what_is_needed(self) -> None:
        for call in NEEDED:
            for error in ERRORS:
                with self.subTest(call=call, error=error):
                    threads = call == "clone" and not threads_need_clone()
                    self.expect_done(run(call, error, THREADS, "flood" if threads else "grow"))

    def test_files_that_settings_ask_for(self) -> None:
        """The program goes on as without them; each setting has a line at most, a policy one more for its second use."""
        for call in OF_FILES:
            for error in ERRORS:
                with self.subTest(call=call, error=error), tempfile.TemporaryDirectory() as folder:
                    files = {f"HAKMEM_{name.upper()}": f"{folder}/{name}" for name in FILES}
                    result = run(call, error, STATIC, "keys", HAKMEM_MODE="evolving", **files)
                    self.assertEqual((result.returncode, result.stdout), (0, "done\n"), f"{result.args}: {result.stderr}")
                    said = result.stderr.splitlines()
                    self.assertLessEqual(len(said), len(FILES) + 1, result.stderr)
                    for line in said:
                        self.assertRegex(line, r"^hakmem: \S+")

    def test_each_call_of_the_library_has_a_row(self) -> None:
        sources = [path for layer in ("os", "arch", "api") for path in (ROOT / "src" / layer).glob("*.[ch]")]
        made = {call for path in sources for call in re.findall(r"\bSYS_(\w+)", path.read_text(encoding="utf-8"))}
        rows = set(re.findall(r'^    \{"\w+", SYS_(\w+),', Path(__file__).with_name("without.c").read_text(encoding="utf-8"),
                              re.MULTILINE))
        self.assertEqual(made - rows, WITHOUT_A_ROW)
        tried = {*OPTIONAL, *NEEDED, *OF_FILES, "madvise"}
        self.assertEqual(tried, set(re.findall(r'^    \{"(\w+)"', Path(__file__).with_name("without.c").read_text(
            encoding="utf-8"), re.MULTILINE)))

    def test_asked_once(self) -> None:
        for call, pattern in ASKED_ONCE.items():
            for error in ERRORS:
                with self.subTest(call=call, error=error):
                    asked = self.refusals(call, error, pattern)
                    self.assertLessEqual(asked, 2 if call == "membarrier" else 1)

    def refusals(self, call: str, error: str, pattern: str) -> int:
        trace = ("strace", "-f", "-qq", "-o", "/dev/stderr", "-e", "trace=madvise,membarrier")
        result = run(call, error, THREADS, "grow" if call == "populate" else "keys", before=trace)
        self.assertTrue(result.stdout.endswith("done\n"), result.stdout)
        return len(re.findall(rf"{pattern}.*= -1 {error}", result.stderr))


if __name__ == "__main__":
    unittest.main()
