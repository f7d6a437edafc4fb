# SPDX-License-Identifier: MIT OR Apache-2.0
"""How whole processes fare on HAKMEM: start and exit, threads, fork, dlopen, limits, valgrind, settings.

Run with the variables of process_case.py set, and HAK_TEST_DL_LIBRARY (libhakmem-dl.so). Each class is one ctest test.
HAK_TEST_SCALE multiplies processes and forks, as in `make stress`.
"""

import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from learn_case import LEARNERS
from process_case import LIBRARY, MIB, PROGRAMS, ProcessCase, Result, environment, limit, page_cost, program, program_file, run

DL_LIBRARY = Path(os.environ["HAK_TEST_DL_LIBRARY"])
NOBODY = 65534
SCALE = int(os.environ.get("HAK_TEST_SCALE", "1"))


class StartAndExit(ProcessCase):
    """Some hundred processes, each with three threads."""

    def test_threads_joined(self) -> None:
        for _ in range(100 * SCALE):
            self.expect_quiet_success(run(program("start_exit"), "joined"), "done\n")

    def test_threads_still_running(self) -> None:
        for _ in range(100 * SCALE):
            self.expect_quiet_success(run(program("start_exit"), "running"), "done\n")

    def test_main_leaves_first(self) -> None:
        for _ in range(50 * SCALE):
            self.expect_quiet_success(run(program("start_exit"), "leaving"), "done\n")

    def test_teardown(self) -> None:
        for _ in range(3):
            self.expect_quiet_success(run(program("teardown")), "ended\n")


class Threads(ProcessCase):
    def test_a_hundred_thousand_leave_nothing(self) -> None:
        result = run(program("thread_flood"))
        self.expect_quiet_success(result)


class Sandbox(ProcessCase):
    def test_of_the_calls_of_a_malloc(self) -> None:
        for how in ("alone", "threads", "ends", "forked", "still", "bare", "strict"):
            with self.subTest(how):
                self.expect_quiet_success(run(program("sandbox"), how), "done\n")

    def test_that_says_pages_have_gone_which_stay(self) -> None:
        for calls in ("purges", "all"):
            with self.subTest(calls):
                self.expect_quiet_success(run(program("lying"), calls), "done\n")

    def test_that_the_process_was_born_in(self) -> None:
        for mode in ("baseline", "evolving"):
            with self.subTest(mode):
                settings = LEARNERS | {"HAKMEM_MODE": mode, "HAK_TEST_PRELOAD": str(LIBRARY)}
                result = run(program("filtered"), preload=False, **settings)
                self.expect_quiet_success(result, "done\n")


class Fork(ProcessCase):
    def test_while_threads_are_inside_malloc(self) -> None:
        for how in ("fork", "_Fork", "vfork", "spawn"):
            with self.subTest(how):
                self.expect_quiet_success(run(program("fork_hammer"), how), "done\n")

    def test_before_there_are_threads(self) -> None:
        self.expect_quiet_success(run(program("fork_before_threads")), "done\n")

    def test_while_a_drain_is_due(self) -> None:
        settings = {"HAKMEM_PROCESS_CACHE_BYTES": "3M", "HAKMEM_PRICE": "0"}
        self.expect_quiet_success(run(program("fork_starved"), **settings), "done\n")

    def test_from_a_handler_inside_a_kernel_call(self) -> None:
        self.expect_quiet_success(run(program("fork_in_malloc")), "done\n")

    def test_from_a_handler_while_waiting_for_a_lock(self) -> None:
        self.expect_quiet_success(run(program("fork_in_malloc"), "waiting"), "done\n")

    def test_from_a_timers_handler(self) -> None:
        self.expect_quiet_success(run(program("fork_from_signal"), str(60 * SCALE)), "done\n")

    def test_while_calls_are_counted(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            counters = f"{folder}/counters"
            result = run(program("fork_in_malloc"), HAKMEM_COUNT_CALLS="on", HAKMEM_COUNTERS_FILE=counters)
            self.expect_quiet_success(result, "done\n")


@contextmanager
def copies(of: Path, count: int) -> Iterator[list[str]]:
    """So many files of the same library: the loader opens one file only once."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{of.stem}_{i}.so" for i in range(count)]
        for path in paths:
            shutil.copy(of, path)
        yield paths


def module(name: str) -> Path:
    return PROGRAMS / f"libprocess_{name}.so"


class Dlopen(ProcessCase):
    def test_the_dl_library(self) -> None:
        self.expect_quiet_success(run(program("dlopen_host"), "open", str(DL_LIBRARY), preload=False), "done\n")

    def test_the_preload_library(self) -> None:
        self.expect_quiet_success(run(program("dlopen_host"), "open", str(LIBRARY), preload=False), "done\n")

    def test_the_dl_library_on_top_of_the_preloaded(self) -> None:
        self.expect_quiet_success(run(program("dlopen_host"), "open", str(DL_LIBRARY)), "done\n")

    def test_the_dl_library_when_static_tls_is_used_up(self) -> None:
        with copies(module("tls_hog"), 60) as hogs:
            self.expect_quiet_success(
                run(program("dlopen_host"), "late", *hogs, str(DL_LIBRARY), preload=False), "done\n"
            )

    def test_fifty_libraries(self) -> None:
        with copies(module("plugin"), 50) as plugins:
            self.expect_quiet_success(run(program("dlopen_host"), "many", *plugins), "done\n")


class Limits(ProcessCase):
    def test_small_address_space(self) -> None:
        for size in (16, 100, 1000, 10000, 30000, 100000, 500000):
            with self.subTest(size):
                result = run(program("small_space"), str(size), before=limit(resource.RLIMIT_AS, 64 * MIB))
                self.expect_quiet_success(result)
                first, second, third = (int(word) for word in result.stdout.split())
                # 16 B blocks carry a bit each and a share of their slab's record.
                self.assertGreaterEqual(first, (40 if size < 100 else 45) * MIB)
                self.assertGreaterEqual(min(second, third), first * 95 // 100)

    def test_a_program_under_a_small_address_space(self) -> None:
        for how in ("joined", "running"):
            result = run(program("start_exit"), how, before=limit(resource.RLIMIT_AS, 128 * MIB))
            self.expect_quiet_success(result, "done\n")

    def test_small_stacks_and_no_descriptors(self) -> None:
        result = run(program("tight"), before=limit(resource.RLIMIT_STACK, 128 << 10))
        self.assertEqual((result.returncode, result.stdout), (0, "done\n"), result.stderr)

    def test_no_bound_on_the_stack(self) -> None:
        """Then the kernel maps upwards from a third of all addresses on: the range must not lie in its way."""
        result = run(program("start_exit"), "joined", before=limit(resource.RLIMIT_STACK, resource.RLIM_INFINITY))
        self.expect_quiet_success(result, "done\n")

    def test_locked_memory(self) -> None:
        result = run(program("start_exit"), "joined", before=limit(resource.RLIMIT_MEMLOCK, 0))
        self.expect_quiet_success(result, "done\n")

    def test_closed_standard_files(self) -> None:
        def close_all() -> None:
            os.closerange(0, 3)

        for name, arguments in (("start_exit", ["joined"]), ("tight", []), ("teardown", [])):
            with self.subTest(name):
                result = subprocess.run(
                    [program(name), *arguments],
                    env=environment(True, HAKMEM_FOO="1", HAKMEM_COUNT_CALLS="maybe"),
                    preexec_fn=close_all,
                    timeout=100,
                    check=False,
                )
                expected = 1 if name == "teardown" else 0  # teardown reports on stdout, which is closed
                self.assertEqual(result.returncode, expected)


HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")


def huge_page_mode() -> str:
    file = HUGE_PAGES / "enabled"
    return file.read_text(encoding="ascii") if file.exists() else ""


def huge_page_lack() -> str:
    """Why this machine cannot show huge pages of 2 MiB, or nothing."""
    try:
        mode, size = ((HUGE_PAGES / name).read_text(encoding="ascii") for name in ("enabled", "hpage_pmd_size"))
    except OSError:
        return "the kernel has no transparent huge pages"
    if "[never]" in mode:
        return f"{HUGE_PAGES}/enabled says never"
    return "" if int(size) == 2 * MIB else f"huge pages have {int(size)} bytes"


@unittest.skipIf(huge_page_lack() != "", huge_page_lack())
class HugePages(ProcessCase):
    """What the setting huge_pages does under the system's present mode, always or madvise."""

    def kib(self, heap: str, mode: str) -> int:
        result = run(program("huge_pages"), heap, HAKMEM_HUGE_PAGES=mode)
        self.expect_quiet_success(result)
        return int(result.stdout)

    def test_a_dense_heap_lies_in_them_or_not(self) -> None:
        self.assertEqual(self.kib("dense", "off"), 0)
        self.assertGreater(self.kib("dense", "on"), 0)

    def test_a_sparse_heap_does_not_grow_by_itself(self) -> None:
        without = self.kib("sparse", "off")
        self.assertLessEqual(self.kib("sparse", "auto"), without * 1.05)
        self.assertGreater(self.kib("sparse", "on"), without * 2)

    def test_nor_do_buffers_that_are_never_filled(self) -> None:
        self.assertLessEqual(self.kib("buffers", "auto"), self.kib("buffers", "off") * 1.05)

    def test_filled_ones_lie_in_them_where_a_dense_heap_does(self) -> None:
        """Huge pages may be dear on this machine, now or at one of the attempts."""
        both = [(self.kib("dense", "auto"), self.kib("filled", "auto")) for _ in range(4)]
        self.assertTrue(any(filled for _, filled in both) or not all(dense for dense, _ in both), both)

    def test_written_arrays_lie_in_them_or_not(self) -> None:
        self.assertEqual(self.kib("arrays", "off"), 0)
        self.assertGreater(self.kib("arrays", "on"), 0)

    @unittest.skipIf("[always]" in huge_page_mode(), "the system gives huge pages by itself")
    def test_arrays_that_stay_empty_do_not(self) -> None:
        self.assertLessEqual(self.kib("lone", "auto"), self.kib("lone", "off") * 1.05 + 256)


class Valgrind(ProcessCase):
    def check_tool(self, *tool: str) -> None:
        for how in ("joined", "running"):
            self.expect_quiet_success(run("valgrind", "-q", *tool, program("start_exit"), how), "done\n")

    def test_none(self) -> None:
        self.check_tool("--tool=none")

    def test_callgrind(self) -> None:
        self.check_tool("--tool=callgrind", "--callgrind-out-file=/dev/null")


class Settings(ProcessCase):
    def probe(self, *names: str, which: str = "settings_probe", cwd: str | None = None, **settings: str) -> Result:
        before = None if cwd is None else lambda: os.chdir(cwd)
        return run(program(which), *names, preload=False, before=before, **settings)

    def expect_one_line(self, result: Result, *words: str) -> None:
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"\Ahakmem: [^\n]+\n\Z")
        for word in words:
            self.assertIn(word, result.stderr)

    def test_taken_without_a_word(self) -> None:
        result = self.probe(
            "count_calls", "lab_big_threshold", "lab_cache_heap_percent", HAKMEM_COUNT_CALLS="on", HAKMEM_LAB_BIG_THRESHOLD="4M",
            HAKMEM_LAB_CACHE_HEAP_PERCENT="25",
        )
        self.expect_quiet_success(result, "count_calls=on\nlab_big_threshold=4M\nlab_cache_heap_percent=25\n")

    def test_unknown_is_reported_once_and_ignored(self) -> None:
        result = self.probe("count_calls", HAKMEM_FOO="1")
        self.expect_one_line(result, "HAKMEM_FOO")
        self.assertEqual(result.stdout, "count_calls=off\n")

    def test_of_an_unknown_one_the_nearest_is_named(self) -> None:
        result = self.probe("price", HAKMEM_PRIZE="lean")
        self.expect_one_line(result, "HAKMEM_PRIZE=lean ignored: no such setting; nearest: price (HAKMEM_PRICE)\n")
        self.assertEqual(result.stdout, "price=balanced\n")

    def test_a_soft_limit_above_the_hard_one_is_reported_once_and_ignored(self) -> None:
        result = self.probe("soft_limit", "hard_limit", HAKMEM_SOFT_LIMIT="2T", HAKMEM_HARD_LIMIT="1T")
        said = "hakmem: soft_limit=2T ignored: it is above hard_limit=1T, which holds alone\n"
        self.assertEqual((result.returncode, result.stderr), (0, said))
        self.assertEqual(result.stdout, "soft_limit=0\nhard_limit=1T\n")

    def test_a_trace_needs_an_absolute_path(self) -> None:
        with tempfile.TemporaryDirectory(prefix="hakmem-") as folder:
            for path in ("a.hakt", "./a.hakt", "~/a.hakt"):
                result = self.probe("count_calls", HAKMEM_TRACE_FILE=path, cwd=folder)
                said = f"trace_file={path} ignored: it must be an absolute path (/...); this process is not traced"
                self.assertEqual((result.returncode, result.stderr), (0, f"hakmem: {said}\n"))
            self.assertEqual(os.listdir(folder), [])
            self.expect_quiet_success(self.probe("count_calls", HAKMEM_TRACE_FILE=f"{folder}/a.hakt", cwd=folder))
            self.assertEqual(len(os.listdir(folder)), 1)

    def test_malformed_is_reported_once_and_ignored(self) -> None:
        cases = {
            "HAKMEM_COUNT_CALLS": ("maybe", "count_calls", "off"),
            "HAKMEM_BIG_CACHE_BYTES": ("12Q", "big_cache_bytes", "1G"),
            "HAKMEM_LAB_BIG_THRESHOLD": ("1", "lab_big_threshold", "1M"),
            "HAKMEM_LAB_BIG_CACHE_BLOCKS": ("-1", "lab_big_cache_blocks", "128"),
            "HAKMEM_LAB_CACHE_HEAP_PERCENT": ("", "lab_cache_heap_percent", "70"),
            "HAKMEM_PRICE": ("cheap", "price", "balanced"),
            "HAKMEM_HUGE_PAGES": ("always", "huge_pages", "auto"),
            "HAKMEM_LAB_THREAD_CACHE_BYTES": ("99999999999999999999999", "lab_thread_cache_bytes", "1M"),
        }
        for variable, (value, name, kept) in cases.items():
            with self.subTest(variable):
                result = self.probe(name, **{variable: value})
                self.expect_one_line(result, variable)
                self.assertEqual(result.stdout, f"{name}={kept}\n")

    def test_each_wrong_one_has_its_line(self) -> None:
        result = self.probe(HAKMEM_FOO="1", HAKMEM_BAR="2", HAKMEM_COUNT_CALLS="maybe", HAKMEM_LAB_CACHE_HEAP_PERCENT="5")
        self.assertEqual(len(re.findall(r"^hakmem: .+$", result.stderr, re.MULTILINE)), 3, result.stderr)

    def test_a_preloaded_program_reports_once(self) -> None:
        result = run(program("start_exit"), "joined", HAKMEM_FOO="1")
        self.expect_one_line(result, "HAKMEM_FOO")
        self.assertEqual(result.stdout, "done\n")

    def test_forked_children_report_nothing(self) -> None:
        result = run(program("fork_in_malloc"), HAKMEM_FOO="1")
        self.expect_one_line(result, "HAKMEM_FOO")

    def test_options_symbol_comes_before_the_environment(self) -> None:
        result = self.probe("lab_big_cache_blocks", "count_calls", which="settings_options", HAKMEM_LAB_BIG_CACHE_BLOCKS="9")
        self.expect_one_line(result, "nonsense")
        self.assertEqual(result.stdout, "lab_big_cache_blocks=9\ncount_calls=on\n")

    def test_plain_static_build_ignores_the_environment(self) -> None:
        result = self.probe("count_calls", which="settings_plain", HAKMEM_COUNT_CALLS="on", HAKMEM_FOO="1")
        self.expect_quiet_success(result, "count_calls=off\n")

    def test_override_static_build_reads_it(self) -> None:
        result = self.probe("count_calls", which="settings_override", HAKMEM_COUNT_CALLS="on")
        self.expect_quiet_success(result, "count_calls=on\n")


def become_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


@unittest.skipUnless(os.geteuid() == 0, "a set-uid program of another user's can only be made by root")
class RaisedRights(ProcessCase):
    """Programs that run with raised rights (AT_SECURE) take nothing from the environment."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder.chmod(0o755)
        self.raised = self.folder / "raised"
        shutil.copy(program("settings_override"), self.raised)
        self.settings = environment(
            False, HAKMEM_COUNT_CALLS="on", HAKMEM_FOO="1", HAKMEM_COUNTERS_FILE=str(self.folder / "counters")
        )

    def probe(self) -> Result:
        return subprocess.run(
            [str(self.raised), "count_calls"], env=self.settings, capture_output=True, text=True, cwd=self.folder,
            check=False, preexec_fn=become_nobody,
        )

    def test_ordinary_rights_take_the_environment(self) -> None:
        self.raised.chmod(0o755)
        result = self.probe()
        self.assertEqual(result.stdout, "count_calls=on\n")
        self.assertIn("HAKMEM_FOO", result.stderr)

    def test_raised_rights_do_not(self) -> None:
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest(f"{self.folder} is mounted nosuid")
        self.raised.chmod(0o4755)
        self.assertTrue(self.raised.stat().st_mode & stat.S_ISUID)
        self.expect_quiet_success(self.probe(), "count_calls=off\n")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["raised"])


class StaticLinking(ProcessCase):
    def test_everything_is_owned(self) -> None:
        self.expect_quiet_success(run(program("static_owner"), preload=False), "done\n")

    def test_there_is_one_malloc(self) -> None:
        symbols = subprocess.run(
            ["nm", program_file("static_owner")], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for name in ("malloc", "free", "calloc", "realloc", "memalign", "malloc_usable_size", "_Znwm", "_ZdlPv"):
            defined = [line.split()[1] for line in symbols if re.fullmatch(rf"[0-9a-f]+ [TtWwVvi] {name}", line)]
            self.assertEqual(len(defined), 1, f"{name}: {defined}")
        foreign = [line for line in symbols if re.search(r" (_int_malloc|_int_free|sysmalloc|ptmalloc_init)$", line)]
        self.assertEqual(foreign, [], "glibc's malloc is in the program")


class SystemCalls(ProcessCase):
    """What strace sees between the two marks of large_pairs: a thread's 2,000 pairs make no system call, but those by
    which it is measured what memory costs.
    """

    TOLD = {"HAKMEM_LAB_COST_CALL": "2000", "HAKMEM_LAB_COST_PAGE": page_cost(1000), "HAKMEM_LAB_COST_MOVE": "40"}

    def calls_between_marks(self, size: int, *how: str, **settings: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            log = f"{folder}/log"
            command = ("strace", "-f", "-o", log, "-E", f"LD_PRELOAD={LIBRARY}", program("large_pairs"), str(size), *how)
            self.expect_quiet_success(run(*command, preload=False, **self.TOLD, **settings))
            calls = Path(log).read_text(encoding="ascii", errors="replace").splitlines()
        marks = [at for at, call in enumerate(calls) if "getppid(" in call]
        self.assertEqual(len(marks), 2)
        thread = calls[marks[0]].split()[0]
        return [call for call in calls[marks[0] + 1 : marks[1]] if call.split()[0] == thread and "resumed>" not in call]

    def test_none_in_steady_state(self) -> None:
        for size in (16, 1000, 30000, 65536, 262144, 1000000, 2 * MIB):
            with self.subTest(size):
                self.assertEqual(self.calls_between_marks(size), [])

    def test_none_in_a_forked_child_whose_first_thread_waits(self) -> None:
        for size in (16, 30000, 262144, 2 * MIB):
            with self.subTest(size):
                self.assertEqual(self.calls_between_marks(size, "forked", HAKMEM_BACKGROUND_THREAD="off"), [])


class TinyCalls(ProcessCase):
    """What strace sees of a process with one block: no page for forks that cut nothing, no file but the library, and few
    calls more than of the same process without it.
    """

    def calls(self, *command: str, preload: bool) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            log = f"{folder}/log"
            library = ("-E", f"LD_PRELOAD={LIBRARY}") if preload else ()
            self.expect_quiet_success(run("strace", "-f", "-o", log, *library, *command, preload=False))
            return Path(log).read_text(encoding="ascii", errors="replace").splitlines()

    def test_of_one_block(self) -> None:
        mine, others = (self.calls(program("tiny"), "once", preload=preload) for preload in (True, False))
        opened = [[call for call in calls if " open" in call] for calls in (mine, others)]
        self.assertEqual(len(opened[0]), len(opened[1]) + 1, opened[0])
        self.assertFalse([call for call in mine if "MADV_WIPEONFORK" in call])
        self.assertLessEqual(len(mine) - len(others), 14, mine)

    @unittest.skipUnless(os.geteuid() == 0, "only root may change its root")
    def test_limits_are_read_before_the_root_changes(self) -> None:
        calls = self.calls("chroot", "/", "true", preload=True)
        names = [call for call in calls if "/cgroup" in call or " chroot(" in call]
        self.assertIn("cgroup", names[0])

    def test_a_child_that_went_by_unnoticed_prepares_for_its_sandbox(self) -> None:
        """It is told from a child of vfork, which leaves its parent's memory as it is (names_test.py)."""
        calls = self.calls(program("tiny"), "child", preload=True)
        names = [call for call in calls if re.search(r"/cgroup|MADV_WIPEONFORK|PR_SET_NO_NEW_PRIVS", call)]
        self.assertIn("/cgroup", names[0])
        self.assertIn("MADV_WIPEONFORK", names[-2])
        self.assertIn("PR_SET_NO_NEW_PRIVS", names[-1])


class Crash(ProcessCase):
    def test_the_message_needs_no_stderr(self) -> None:
        """A wrong free ends the program also when nobody can read why."""
        result = run("python3", "-c", CRASH, before=lambda: os.close(2))
        self.assertEqual(result.returncode, -signal.SIGABRT)


CRASH = "import ctypes; libc = ctypes.CDLL(None); libc.free.argtypes = [ctypes.c_void_p]; libc.free(4096)"


if __name__ == "__main__":
    unittest.main()
