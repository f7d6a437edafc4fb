# SPDX-License-Identifier: MIT OR Apache-2.0
"""tools/launcher: faithful ends, true figures, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import unittest
from pathlib import Path
from unittest import mock

from support import Scratch, clean_environment, end_groups, program

from hakmem.base.errors import Refusal, TimedOut
from hakmem.process.launch import Launcher, Streams, parse_figures
from hakmem.process.proof import read_executed
from hakmem.process.samples import read_samples

PATIENCE_SECONDS = 30


def wait_until(condition: object, what: str) -> None:
    """Polls; the limit is for a hang, not a measure."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.01)


def runs(pid: int) -> bool:
    """Zombies do not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Ends(Scratch):
    def direct(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.places.launcher, *argv], capture_output=True, text=True, check=False)

    def test_exit_statuses(self) -> None:
        for status in (0, 3, 255):
            with self.subTest(status=status):
                ended = self.direct("fd:1", "sh", "-c", f"exit {status}")
                self.assertEqual((ended.returncode, parse_figures(ended.stdout).exit), (status, status))

    def test_signals(self) -> None:
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number=number):
                ended = self.direct("fd:1", "sh", "-c", f"kill -{int(number)} $$")
                self.assertEqual(ended.returncode, -number)
                self.assertEqual(parse_figures(ended.stdout).status, 128 + number)

    def test_no_such_command_and_not_executable(self) -> None:
        for command, status in (("/no/such", 127), ("no-such-command-at-all", 127), ("/etc/passwd", 126)):
            with self.subTest(command=command):
                ended = self.direct("fd:1", command)
                self.assertEqual(ended.returncode, status)
                self.assertNotEqual(parse_figures(ended.stdout).exec_errno, 0)

    def test_wrong_use(self) -> None:
        for argv in ((), ("report",), ("-f", "list"), ("-f", "list", "report")):
            with self.subTest(argv=argv):
                ended = self.direct(*argv)
                self.assertEqual((ended.returncode, ended.stderr.count("\n")), (125, 1))

    def test_a_report_that_cannot_be_written(self) -> None:
        ended = self.direct("/no/such/folder/report", "true")
        self.assertEqual((ended.returncode, ended.stderr.count("\n")), (125, 1))

    def test_what_is_not_a_report(self) -> None:
        for line in ("", "pid=1", "pid=x wall_ns=1", "nonsense"):
            with self.subTest(line=line), self.assertRaises(Refusal):
                parse_figures(line)


class Measures(Scratch):
    def test_peak_rss_is_the_commands_own(self) -> None:
        """Started by this interpreter directly, `true` would seem to need more than the interpreter."""
        self.assertLess(self.launch("true").maxrss_kib, 4096)

    def test_peak_rss_and_faults_of_a_command_that_needs_memory(self) -> None:
        figures = self.launch("/usr/bin/python3", "-c", "x = bytearray(b'x') * (64 << 20)")
        self.assertGreater(figures.maxrss_kib, 64 << 10)
        self.assertGreater(figures.minflt, 100)

    def test_the_biggest_descendant_counts(self) -> None:
        grow = "/usr/bin/python3 -c \"x = bytearray(b'x') * (64 << 20)\"; true"
        self.assertGreater(self.launch("sh", "-c", grow).maxrss_kib, 64 << 10)

    def test_context_switches(self) -> None:
        """A command gives its core away each time it sleeps."""
        self.assertGreaterEqual(self.launch("bash", "-c", "for i in 1 2 3; do sleep 0.01; done").nvcsw, 3)

    def test_processes_left_behind_are_reported(self) -> None:
        figures = self.launch("sh", "-c", "sleep 20 & echo $!; exit 2")
        self.addCleanup(os.kill, int((self.folder / "output").read_text()), signal.SIGKILL)
        self.assertEqual((figures.left, figures.exit), (1, 2))
        self.assertEqual(self.launch("sh", "-c", "sleep 0 & wait").left, 0)


    def test_processes_left_behind_are_ended_where_asked(self) -> None:
        """Also those that have left the session and ignore SIGTERM. One that ends a little later is none."""
        daemon = "setsid sh -c 'trap \"\" TERM; echo $$; sleep 60; sleep 60' & sleep 0.2"
        for option in ("-s", "-f"):
            ended = self.with_options("-e", option, str(self.folder / "lines"), "fd:2", "sh", "-c", daemon)
            self.assertEqual(parse_figures(ended.stderr).left, 1)
            self.assertFalse(runs(int(ended.stdout)))
        self.assertEqual(parse_figures(self.with_options("-e", "fd:2", "sh", "-c", "sleep 0.1 &").stderr).left, 0)

    def test_no_sample_is_of_a_process_that_ends(self) -> None:
        """The kernel takes its memory back while statm says 0: at the end of a child, its parent seems to be all."""
        file, big = self.folder / "samples", "import os; x = bytearray(b'x') * (600 << 20); os._exit(0)"
        self.with_options("-s", str(file), "fd:2", "sh", "-c", f"/usr/bin/python3 -c \"{big}\"; exit 0")
        samples = read_samples(file)
        most = max(range(len(samples)), key=lambda n: samples[n].resident_kib)
        after = [one for one in samples[most + 1:] if one.resident_kib < 300 << 10]
        self.assertLessEqual(len(after), 2, after)

    def with_options(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.places.launcher, *words], capture_output=True, text=True, check=False)

    def test_no_room_for_the_report(self) -> None:
        launcher = Launcher(self.places.launcher, self.folder)
        full = mock.Mock(f_bavail=0, f_frsize=4096, f_files=0, f_favail=0)
        with mock.patch("os.statvfs", return_value=full), self.assertRaisesRegex(Refusal, "no room in"):
            launcher.figures("true")


class Signals(Scratch):
    def started(self, *argv: str) -> tuple[subprocess.Popen[str], int]:
        """A launcher, and the process id that its command prints first."""
        process = subprocess.Popen(
            [self.places.launcher, *argv], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert process.stdout is not None
        self.addCleanup(end_groups, process, [process.pid])
        return process, int(process.stdout.readline())

    def test_sigterm_is_passed_on(self) -> None:
        report = self.folder / "report"
        process, _ = self.started(str(report), "sh", "-c", "echo $$; exec sleep 60")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), -signal.SIGTERM)
        self.assertEqual(parse_figures(report.read_text()).signal, signal.SIGTERM)

    def test_the_command_dies_with_the_launcher(self) -> None:
        process, command = self.started(str(self.folder / "report"), "sh", "-c", "echo $$; exec sleep 60")
        process.kill()
        process.wait()
        wait_until(lambda: not runs(command), "the command ends")

    def test_ctrl_c_reaches_the_command_and_the_launcher_still_reports(self) -> None:
        report = self.folder / "report"
        process, _ = self.started(str(report), "sh", "-c", "trap 'exit 9' INT; echo $$; for n in $(seq 1000); do sleep 0.1; done")
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_SECONDS), 9)
        self.assertEqual(parse_figures(report.read_text()).exit, 9)


class TimeLimit(Scratch):
    def run_at_most(self, seconds: float, script: str) -> None:
        launcher = Launcher(self.places.launcher, self.folder)
        launcher.run(["sh", "-c", script], clean_environment(), Streams(output=self.folder / "output"), timeout=seconds)

    def test_everything_that_was_started_is_stopped(self) -> None:
        with self.assertRaises(TimedOut):
            self.run_at_most(2, "sleep 1234.7 & echo $!; trap '' TERM INT; sleep 1234.7; true")
        child = int((self.folder / "output").read_text())
        wait_until(lambda: not runs(child), "the grandchild ends")

    def test_a_command_in_time(self) -> None:
        self.run_at_most(PATIENCE_SECONDS, "echo done")
        self.assertEqual((self.folder / "output").read_text(), "done\n")


class Following(Scratch):
    def followed(self, *argv: str) -> list[str]:
        """The names of the programs that were executed; every machine the tests run on allows tracing."""
        executed = read_executed(self.list_of(*argv)) or []
        return sorted(Path(program.exe).name for program in executed)

    def list_of(self, *argv: str) -> Path:
        path = self.folder / "executed"
        self.launch(*argv, follow=path)
        return path

    def test_children_grandchildren_and_executions_in_place(self) -> None:
        script = f"{program('calls_static')}; ({program('calls')} fork 1; true); exec env -i {program('calls')} none"
        shell = Path("/bin/sh").resolve().name
        expected = sorted([shell, "tools_calls_static", "tools_calls", "env", "tools_calls"])
        self.assertEqual(self.followed("sh", "-c", script), expected)

    def test_threads_signals_and_stops_go_on_as_without(self) -> None:
        self.assertEqual(self.followed(program("calls"), "threads", "8", "10"), ["tools_calls"])
        script = "trap 'echo got it' USR1; (kill -STOP $$; sleep 0.1; kill -CONT $$; kill -USR1 $$) & wait; wait"
        self.launch("bash", "-c", script, follow=self.folder / "executed")
        self.assertIn("got it", (self.folder / "output").read_text())

    def test_ends_are_the_same(self) -> None:
        for script, status in (("exit 5", 5), ("kill -SEGV $$", 139), ("kill -KILL $$", 137)):
            with self.subTest(script=script):
                self.assertEqual(self.launch("sh", "-c", script, follow=self.folder / "executed").status, status)


if __name__ == "__main__":
    unittest.main()
