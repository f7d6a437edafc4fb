# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ctrl-C and SIGTERM, at any moment: the program is stopped too, one line at most, and the command dies by the signal,
which a shell calls 128 + its number."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from support import BUILD, COMMAND, Scratch, clean_environment, end_groups, groups_of, small_trace

from hakmem.base.errors import Stopped
from hakmem.base.stop import STOP_SIGNALS, Stops, stops

PATIENCE_SECONDS = 30
STOPPED_LINE = "hakmem: stopped by SIGINT; the program was stopped too\n"
EARLY_LINE = "hakmem: stopped by SIGINT\n"  # there was no program yet
# From before the interpreter runs until after the program does, on any machine.
MOMENTS_MS = (*range(0, 200, 5), *range(200, 800, 50))


def commands_running(mark: str) -> list[str]:
    """The command lines that hold `mark`, of processes other than this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if mark in line:
                found.append(line)
    return found


class Holding(unittest.TestCase):
    """While a process is being started, a signal waits: else nobody would know the process it must stop."""

    def setUp(self) -> None:
        for number in STOP_SIGNALS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def test_a_held_signal_arrives_when_let_in(self) -> None:
        stops = Stops()
        stops.held = True
        stops.arrive(signal.SIGTERM, None)
        with self.assertRaises(Stopped) as stopped:
            stops.let_in()
        self.assertEqual(stopped.exception.signal_number, signal.SIGTERM)

    def test_otherwise_it_arrives_at_once(self) -> None:
        Stops().let_in()
        with self.assertRaises(Stopped):
            Stops().arrive(signal.SIGINT, None)


    def test_one_that_a_finalizer_swallowed_comes_back_before_the_next_process(self) -> None:
        stops = Stops()
        with self.assertRaises(Stopped):
            stops.arrive(signal.SIGINT, None)
        with self.assertRaises(Stopped):
            stops.hold()

    def test_when_nothing_is_to_be_ended_any_longer_the_signals_do_what_they_did(self) -> None:
        before = [signal.getsignal(number) for number in STOP_SIGNALS]
        stops = Stops()
        with self.assertRaises(Stopped), stops.taken():
            self.assertEqual([signal.getsignal(number) for number in STOP_SIGNALS], [stops.arrive] * 3)
            stops.arrive(signal.SIGINT, None)
        self.assertEqual([signal.getsignal(number) for number in STOP_SIGNALS], before)

    def test_one_that_was_held_to_the_end_arrives_there(self) -> None:
        stops = Stops()
        with self.assertRaises(Stopped), stops.taken():
            stops.hold()
            stops.arrive(signal.SIGINT, None)


class Left(Scratch):
    def seen_at_work(self, command: Path, words: tuple[str, ...], work: Path, deadline: float) -> subprocess.Popen[str]:
        while True:
            self.assertLess(time.monotonic(), deadline, words)
            process = subprocess.Popen(
                [command, *words], cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                env=clean_environment(TMPDIR=str(work)), text=True,
            )
            while process.poll() is None:
                if any(path.name.startswith(("hakmem-", ".hakmem-")) for path in work.iterdir()):
                    return process
                self.assertLess(time.monotonic(), deadline, words)
                time.sleep(0.001)
            process.communicate()

    def assert_nothing_is_left(self, command: Path, words: tuple[str, ...], number: int) -> None:
        """Stopped as soon as there is a file of its own. A command that ends before it is seen is started again."""
        with self.subTest(words=words, signal=number):
            work = Path(tempfile.mkdtemp(dir=self.folder))
            deadline = time.monotonic() + PATIENCE_SECONDS
            process = self.seen_at_work(command, words, work, deadline)
            process.send_signal(number)
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
            self.assertNotIn("Traceback", errors)
            self.assertIn(process.returncode, (-number, 3), errors)  # 3: a trace of nothing is told as such
            while left := [path for path in work.iterdir() if path.name.startswith(("hakmem-", ".hakmem-"))]:
                self.assertLess(time.monotonic(), deadline, left)  # the cleaner of exec comes after it
                time.sleep(0.01)


class Stopping(Left):
    def stopped(self, number: int, script: str) -> subprocess.Popen[str]:
        """Starts the command on a shell script that prints `ready`, and sends it the signal then."""
        command = [COMMAND, "run", "--build", str(BUILD), "sh", "-c", script]
        process = subprocess.Popen(
            command, env=clean_environment(TMPDIR=str(self.folder)), text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        ready = process.stdout.readline()
        self.addCleanup(end_groups, process, groups_of(process))
        self.assertEqual(ready, "ready\n")
        process.send_signal(number)
        return process

    def assert_all_gone(self, mark: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while commands_running(mark):
            self.assertLess(time.monotonic(), deadline, commands_running(mark))
            time.sleep(0.05)

    def check(self, number: int, script: str, mark: str) -> None:
        process = self.stopped(number, script)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, -number)
        self.assert_one_line(errors)
        self.assertIn(signal.Signals(number).name, errors)
        self.assert_all_gone(mark)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_ctrl_c_at_any_moment(self) -> None:
        for moment in MOMENTS_MS:
            with self.subTest(ms=moment):
                process = subprocess.Popen(
                    [COMMAND, "run", "--build", str(BUILD), "sleep", "1234.8"], text=True, stderr=subprocess.PIPE,
                    env=clean_environment(TMPDIR=str(self.folder)), stdin=subprocess.DEVNULL,
                )
                time.sleep(moment / 1000)
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=PATIENCE_SECONDS)
                self.assertEqual(process.returncode, -signal.SIGINT, errors)
                self.assertIn(errors, ("", EARLY_LINE, STOPPED_LINE))
                self.assertEqual(list(self.folder.iterdir()), [])
        self.assert_all_gone("sleep 1234.8")

    def test_what_a_command_has_beside_its_program_is_removed(self) -> None:
        """Each that makes files of its own, as soon as there is one."""
        trace, build = small_trace(self.folder / "a.hakt"), ("--build", str(BUILD))
        sleeps = ("--", "sleep", "1234.9")
        numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        for at, words in enumerate((
            ("trace", *build, "-o", "out.hakt", *sleeps), ("learn", *build, *sleeps), ("sites", *build, *sleeps),
            ("exec", *build, "--profile", *sleeps), ("replay", *build, "--rounds", "500", str(trace)),
            ("doctor", *build),
        )):
            self.assert_nothing_is_left(COMMAND, words, numbers[at % len(numbers)])
        self.assert_all_gone("sleep 1234.9")

    def test_a_draft_is_written_or_removed(self) -> None:
        from hakmem.base.atomic_write import write_whole

        file, change_mode = self.folder / "file", os.chmod

        def stopped_at_the_draft(*words: object) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            change_mode(*words)  # type: ignore[arg-type]

        with self.assertRaises(Stopped), stops.taken(), mock.patch("os.chmod", stopped_at_the_draft):
            write_whole(file, b"whole")
        self.assertEqual([(path.name, path.read_bytes()) for path in self.folder.iterdir()], [("file", b"whole")])

    def test_one_that_the_caller_ignores_stays_ignored(self) -> None:
        script = f"trap '' INT; {COMMAND} run --build {BUILD} --runs 1 sh -c 'echo ready; sleep 0.2' & "
        script += "sleep 0.1; kill -INT $!; wait $!"
        ended = subprocess.run(["sh", "-c", script], env=clean_environment(), capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stdout), (0, "ready\n"), ended.stderr)

    def test_ctrl_c(self) -> None:
        self.check(signal.SIGINT, "echo ready; sleep 1234.5; true", "sleep 1234.5")

    def test_sigterm(self) -> None:
        self.check(signal.SIGTERM, "echo ready; sleep 1234.6 & wait", "sleep 1234.6")

    def test_a_program_that_ignores_the_signals(self) -> None:
        script = "trap '' INT TERM; echo ready; for n in $(seq 150); do sleep 0.77; done"
        self.check(signal.SIGINT, script, "do sleep 0.77; done")


if __name__ == "__main__":
    unittest.main()
