# SPDX-License-Identifier: MIT OR Apache-2.0
"""How memory comes back in whole processes: the helper thread, idle programs, trims, limits, locked pages, steady load.

Run with the variables of process_case.py set. Each class is one ctest test. No test asserts a time: a program waits
some seconds for what is to come true, and says when it did not.
"""

import os
import resource
import shutil
import tempfile
import unittest
from pathlib import Path

from process_case import LIBRARY, PAGE, ProcessCase, page_cost, program, run

# Nothing that is free is kept for longer than a look.
DEAREST = "1000000000000"
# Of the pages that went back, so many in a hundred may be used again within a second, and some besides.
AGAIN_PERCENT = 1
GRACE_PAGES = 64
STEADY_PERCENT = 90
# Of costs.c: 64 MiB.
PAGES_A_ROUND = (64 << 20) // PAGE


class HelperThread(ProcessCase):
    def expect(self, how: str, output: str = "", **settings: str) -> None:
        self.expect_quiet_success(run(program("helper_thread"), how, **settings), output)

    def expect_right(self, how: str) -> None:
        self.expect_quiet_success(run(program("helper_rights"), how))

    def test_none_in_a_program_of_one_thread(self) -> None:
        self.expect("alone_always")

    def test_none_where_there_is_little_to_give_back(self) -> None:
        self.expect("not_for_little")

    def test_none_where_threads_are_few(self) -> None:
        self.expect("not_where_threads_are_few")

    def test_one_for_each_way_to_make_a_thread(self) -> None:
        for how in ("by_pthread_create", "by_thrd_create", "by_std_thread"):
            with self.subTest(how):
                self.expect(how)

    def test_one_for_big_blocks(self) -> None:
        self.expect("starts_for_big_blocks")

    def test_what_ended_threads_freed_goes(self) -> None:
        self.expect("gives_back_at_the_last_end")
        self.expect("gives_back_though_one_had_just_ended")

    def test_what_is_taken_again_stays(self) -> None:
        self.expect("keeps_it_for_threads_that_begin_soon")

    def test_none_when_it_is_switched_off(self) -> None:
        self.expect("not_wanted", HAKMEM_BACKGROUND_THREAD="off")

    def test_switched_off_while_it_runs(self) -> None:
        self.expect("switched_off_and_on")

    def test_it_is_gone_when_the_program_is_alone_again(self) -> None:
        self.expect("gone_when_alone_again")

    def test_it_ends_when_nothing_is_left_to_do(self) -> None:
        self.expect("gone_when_nothing_is_left", HAKMEM_PRICE=DEAREST)

    def test_new_namespaces_after_the_last_join(self) -> None:
        self.expect_right("unshares")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_it_is_of_the_programs_user(self) -> None:
        self.expect_right("changes_user")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_it_never_stays_the_old_user(self) -> None:
        self.expect_right("changes_user_often")

    @unittest.skipUnless(os.geteuid() == 0, "only root has capabilities to give up")
    def test_it_keeps_no_capabilities(self) -> None:
        self.expect_right("drops_capabilities")

    @unittest.skipUnless(os.geteuid() == 0, "only root may have real-time threads")
    def test_real_time_threads_of_one_core_wait_for_it(self) -> None:
        self.expect_right("changes_user_of_real_time_threads")

    def test_the_user_changes_in_a_handler(self) -> None:
        self.expect_right("changes_user_in_a_handler")

    def test_it_keeps_no_descriptor_open(self) -> None:
        self.expect_right("leaves_private_descriptors")

    def test_none_in_a_sandbox(self) -> None:
        self.expect_right("sandboxed")

    def test_a_child_of_vfork_changes_nothing(self) -> None:
        self.expect_right("vforked")

    @unittest.skipUnless(os.geteuid() == 0, "only root may have real-time threads")
    def test_it_is_not_bound_nor_of_real_time(self) -> None:
        self.expect_right("is_no_real_time_thread")

    def test_it_gives_way_to_nobody(self) -> None:
        self.expect_right("is_no_idle_thread")

    def test_a_daemon_has_one(self) -> None:
        self.expect_right("becomes_a_daemon")

    def test_it_hears_no_signals(self) -> None:
        self.expect("blocks_signals")

    def test_signals_that_all_block_stay_pending(self) -> None:
        self.expect("leaves_signals_pending")

    def test_a_forked_child_has_none_until_it_makes_a_thread(self) -> None:
        self.expect("after_fork")

    def test_the_process_ends(self) -> None:
        ways = ("exit", "underscore_exit", "quick_exit", "exit_of_another_thread", "exec", "pthread_exit_of_main",
                "the_last_worker", "the_kernels_exit")
        for way in ways:
            for _ in range(5):
                with self.subTest(way):
                    self.expect(f"by_{way}", "ended\n")

    def test_no_address_space_for_it(self) -> None:
        self.expect("without_address_space")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become a user who has no other processes")
    def test_no_thread_left_for_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            copies = [shutil.copy(path, folder) for path in (program("helper_thread"), LIBRARY)]
            Path(folder).chmod(0o755)
            result = run(
                copies[0], "without_a_thread_left", preload=False, before=become_user_of_two_threads,
                LD_PRELOAD=str(copies[1]),
            )
            self.expect_quiet_success(result)


def become_user_of_two_threads() -> None:
    """A user of this test's own, as the limit counts all threads of a user."""
    nobody_else = 100_000 + os.getpid()
    resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
    os.setgroups([])
    os.setgid(nobody_else)
    os.setuid(nobody_else)


class IdleMemory(ProcessCase):
    def expect(self, load: str, threads: int, what: str, **settings: str) -> None:
        result = run(program("idle_memory"), load, str(threads), what, **settings)
        self.expect_quiet_success(result)
        print(f"{load}, {threads} threads, {what}: {result.stdout}", end="")

    def test_it_goes_back_while_threads_sleep(self) -> None:
        for load in ("mixed", "small", "holes"):
            with self.subTest(load):
                self.expect(load, 2, "falls")
        self.expect("mixed", 4, "falls")

    def test_soon_where_memory_is_dear(self) -> None:
        self.expect("mixed", 2, "falls", HAKMEM_PRICE="lean")

    def test_not_soon_where_speed_is_wanted(self) -> None:
        for _ in range(3):  # what is live and what is free are read while both threads free
            self.expect("holes", 2, "stays", HAKMEM_PRICE="speed")

    def test_in_a_forked_child(self) -> None:
        self.expect("mixed", 2, "child")

    def test_one_thread_gives_back_as_it_frees(self) -> None:
        for load in ("mixed", "small", "holes"):
            with self.subTest(load):
                self.expect(load, 0, "at_once")

    def test_threads_do_without_the_helper(self) -> None:
        """Who sweeps may lose its processor to the other, which frees on meanwhile: the best of some runs counts."""
        results = [run(program("idle_memory"), "mixed", "2", "at_once", HAKMEM_BACKGROUND_THREAD="off") for _ in range(3)]
        self.expect_quiet_success(min(results, key=lambda result: result.returncode))


class IdleThreads(ProcessCase):
    """What 64 idle threads hold in their magazines goes back: hardly more than the pages of live blocks stays."""

    def expect(self, load: str, what: str, share: int) -> None:
        result = run(program("idle_threads"), load, what, str(share))
        self.expect_quiet_success(result)
        print(f"{load}, {what}: {result.stdout}", end="")

    def test_when_they_keep_nothing(self) -> None:
        for what in ("trimmed", "waits"):
            with self.subTest(what):
                self.expect("all", what, 4)

    def test_when_they_keep_one_block_in_64(self) -> None:
        for what in ("trimmed", "waits"):
            with self.subTest(what):
                self.expect("some", what, 6)

    def test_that_a_new_thread_does_not_starve_beside_them(self) -> None:
        """At this price nothing is idle for long enough: they are emptied because it asks."""
        settings = {"HAKMEM_PROCESS_CACHE_BYTES": "8M", "HAKMEM_COUNT_CALLS": "on", "HAKMEM_PRICE": "1"}
        result = run(program("starved"), **settings)
        self.expect_quiet_success(result)
        print(result.stdout, end="")


class Trim(ProcessCase):
    def test_it_says_yes_only_when_memory_went(self) -> None:
        for how in ("fresh", "twice", "threads"):
            for function in ("malloc_trim", "hak_trim"):
                with self.subTest(f"{function} {how}"):
                    self.expect_quiet_success(run(program("trim"), how, function), "done\n")

    def test_the_pad_stays(self) -> None:
        for how in ("pad", "pad_of_one_run"):
            with self.subTest(how):
                self.expect_quiet_success(run(program("trim"), how, "malloc_trim"))

    def test_addresses_go_too(self) -> None:
        self.expect_quiet_success(run(program("trim"), "addresses", "malloc_trim"))

    def test_addresses_go_at_rest(self) -> None:
        self.expect_quiet_success(run(program("trim"), "rest", "malloc_trim", HAKMEM_PRICE="lean"))


class LimitedCase(ProcessCase):
    def expect(self, how: str, *lines: str, **settings: str) -> None:
        """Ends well, and says on stderr lines that begin so, and no others."""
        result = run(program("limited"), how, **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.endswith("done\n"), result.stdout)
        said = result.stderr.splitlines()
        self.assertEqual(len(said), len(lines), result.stderr)
        for line, begin in zip(said, lines, strict=True):
            self.assertTrue(line.startswith(f"hakmem: {begin}"), line)


class Limited(LimitedCase):
    def test_hard_limit(self) -> None:
        self.expect("hard", HAKMEM_HARD_LIMIT="64M")
        for how in ("hard_by_call", "hard_for_others"):
            with self.subTest(how):
                self.expect(how)

    def test_realloc_at_the_hard_limit(self) -> None:
        self.expect("hard_resized")

    def test_hard_limit_of_many_threads(self) -> None:
        for how in ("hard_threads", "hard_race"):
            with self.subTest(how):
                self.expect(how)

    def test_soft_limit(self) -> None:
        self.expect("soft")

    def test_limits_below_what_is_in_use(self) -> None:
        self.expect("below_use")

    def test_settings(self) -> None:
        self.expect("settings")

    def test_address_space(self) -> None:
        for how in ("fragments", "survivors"):
            with self.subTest(how):
                self.expect(how)


class LimitsFolder(LimitedCase):
    """What is wrong in the files of a control group is told once, and the program goes on."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hakmem-")))

    def write(self, **files: str) -> None:
        good = {"memory.max": "max\n", "memory.high": "max\n", "memory.current": "1000000\n"}
        for name, text in (good | {name.replace("_", "."): text for name, text in files.items()}).items():
            (self.folder / name).write_text(text)

    def expect_said(self, *lines: str) -> None:
        self.expect("plain", *lines, HAKMEM_CGROUP_DIR=str(self.folder))

    def test_good_files(self) -> None:
        self.write()
        self.expect_said()

    def test_malformed_files(self) -> None:
        for text, why in (("lots\n", "is not a number"), ("", "is empty"), ("12", "has no end of line"),
                          ("99999999999999999999999\n", "is too large a number"), ("-5\n", "is not a number")):
            with self.subTest(text):
                self.write(memory_max=text)
                self.expect_said(f"{self.folder}/memory.max {why}; ignored")

    def test_each_wrong_file_has_its_line(self) -> None:
        self.write(memory_max="1000000000000\n", memory_current="?\n", memory_pressure="none\n", cpu_max="2\n")
        result = run(program("limited"), "plain", HAKMEM_CGROUP_DIR=str(self.folder))
        self.assertEqual(result.returncode, 0)
        named = sorted(line.split()[1].rsplit("/", 1)[-1] for line in result.stderr.splitlines())
        self.assertEqual(named, ["cpu.max", "memory.current", "memory.pressure"])

    def test_a_limit_below_what_is_in_use(self) -> None:
        self.write(memory_max="1000\n")
        self.expect_said()

    def test_a_limit_that_comes_late(self) -> None:
        self.write()
        self.expect("late", HAKMEM_CGROUP_DIR=str(self.folder), HAKMEM_PRICE="speed")

    def test_no_files(self) -> None:
        self.expect_said()

    def test_no_folder(self) -> None:
        self.folder /= "missing"
        self.expect_said(f"{self.folder} (cgroup_dir) cannot be opened as a folder of limits; ignored")

    def test_a_file_in_its_place(self) -> None:
        self.write()
        self.folder /= "memory.max"
        self.expect_said(f"{self.folder} (cgroup_dir) cannot be opened as a folder of limits; ignored")


@unittest.skipUnless(os.geteuid() == 0, "only root may lock as much memory as it likes")
class LockedPages(ProcessCase):
    def test_the_kernel_takes_nothing_back(self) -> None:
        self.expect_quiet_success(run(program("locked")))

    def test_nor_from_the_helper(self) -> None:
        self.expect_quiet_success(run(program("locked"), "threads"))

    def test_what_they_cost_is_not_known(self) -> None:
        self.expect_quiet_success(run(program("costs_locked")))


class Bookkeeping(ProcessCase):
    def test_no_mapping_more(self) -> None:
        self.expect_quiet_success(run(program("bookkeeping"), "mappings"), "done\n")

    def test_zero_when_there_is_no_mapping_more(self) -> None:
        self.expect_quiet_success(run(program("bookkeeping"), "zeroed"), "done\n")

    def test_nothing_goes_that_is_locked_and_may_not_be_split(self) -> None:
        self.expect_quiet_success(run(program("bookkeeping"), "stuck"), "done\n")

    def test_a_daemon_is_a_process_of_its_own(self) -> None:
        self.expect_quiet_success(run(program("bookkeeping"), "unborn"), "done\n")

    def test_threads_that_two_forks_left_behind(self) -> None:
        self.expect_quiet_success(run(program("bookkeeping"), "buried"), "done\n")

    def test_claims_end_with_a_fork(self) -> None:
        result = run(program("bookkeeping"), "claims", HAKMEM_HARD_LIMIT="256M", HAKMEM_BIG_CACHE_BYTES="0")
        self.expect_quiet_success(result, "done\n")

    def test_what_is_refused_is_not_asked_about(self) -> None:
        with tempfile.TemporaryDirectory(prefix="hakmem-") as folder:
            Path(folder, "memory.max").write_text("1073741824\n")
            Path(folder, "memory.current").write_text("700000000\n")
            result = run(program("bookkeeping"), "refused", HAKMEM_CGROUP_DIR=folder)
            self.expect_quiet_success(result, "done\n")


class Costs(ProcessCase):
    """What comes back every 0.3 s is kept where fetching it is dear, and not where it is cheap."""

    def least_faults(self, page_ns: int) -> int:
        settings = {"HAKMEM_LAB_COST_CALL": "1000", "HAKMEM_LAB_COST_PAGE": page_cost(page_ns), "HAKMEM_LAB_COST_MOVE": "50"}
        result = run(program("costs"), **settings)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return int(result.stdout)

    def test_a_machine_with_dear_pages_keeps_them(self) -> None:
        dear, cheap = self.least_faults(2000), self.least_faults(250)
        self.assertLess(dear, PAGES_A_ROUND // 10)
        self.assertGreater(cheap, PAGES_A_ROUND // 3)


class SteadyLoad(ProcessCase):
    """A working set that does not change in size: what went back is not wanted again at once."""

    def returned(self, threads: int, *sizes: str, **settings: str) -> tuple[int, int, int]:
        result = run(program("steady"), str(threads), "3", *sizes, **settings)
        self.expect_quiet_success(result)
        pages, again, _, worked = (int(word) for word in result.stdout.split())
        print(f"{threads} threads, {worked} % at work: {pages} pages went back, {again} were used within a second")
        return pages, again, worked

    def check(self, threads: int, *sizes: str, tries: int = 1, **settings: str) -> None:
        """A thread that loses its processor does not work steadily: the best of some tries counts, and none where none
        of them was steady."""
        worked = []
        for _ in range(tries):
            pages, again, percent = self.returned(threads, *sizes, **settings)
            if again * 100 <= pages * AGAIN_PERCENT + GRACE_PAGES * 100:
                return
            worked.append(percent)
        if max(worked) < STEADY_PERCENT:
            self.skipTest(f"the threads had a processor for {max(worked)} % of their time")
        self.fail("pages that went back were used again within a second")

    def test_one_thread(self) -> None:
        self.check(0)

    def test_threads(self) -> None:
        self.check(2, tries=3)

    def test_threads_without_the_helper(self) -> None:
        self.check(2, tries=3, HAKMEM_BACKGROUND_THREAD="off")

    def test_longest_blocks_of_slabs(self) -> None:
        """Few of them share pages, so that nearly all free bytes of their slabs could go."""
        self.check(2, "17000", "32000", "1500", tries=3)


if __name__ == "__main__":
    unittest.main()
