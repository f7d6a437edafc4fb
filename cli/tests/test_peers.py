# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem run --peers`: curves, picture and sentence on known figures; programs and services on HAKMEM and glibc."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import unittest
from contextlib import suppress
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from support import BUILD, Scratch, hakmem, preloadable, program

from hakmem.process.launch import Launcher, Streams
from hakmem.process.listening import listens
from hakmem.process.samples import Sample, before_the_fall
from hakmem.running import service
from hakmem.running.memory_over_time import Curve, curve_of, most_in_each
from hakmem.running.picture import COLUMNS, picture
from hakmem.running.trial import Trial, problem_of_samples
from hakmem.running.verdict import Measure, best, sentence

SECOND = 1_000_000_000
PYTHON = "/usr/bin/python3"
BURST = "x = [bytes(1000) for _ in range(20000)]; del x; import time; time.sleep(0.2); print('done')"
SERVER = """
import os, signal, socket, sys
if len(sys.argv) > 1: signal.signal(signal.SIGTERM, signal.SIG_IGN)
server = socket.socket(socket.AF_UNIX)
if os.path.exists('SOCKET'): os.unlink('SOCKET')
server.bind('SOCKET')
server.listen()
while True:
    client, _ = server.accept()
    kept = bytes(8 << 20)
    client.sendall(b'yes')
    client.close()
"""
CLIENT = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('SOCKET'); assert s.recv(9) == b'yes'"


def sample(second: float, mib: float, processes: int = 1) -> Sample:
    return Sample(int(second * SECOND), int(mib * 1024), 0, 0, processes)


def commands_of(group: int) -> list[str]:
    """Of the processes that are left of it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getpgid(int(folder.name)) == group:
                found.append((folder / "cmdline").read_text())
    return found


def measure(words: str = "memory at the end", unit: str = "MiB", **values: list[float]) -> Measure:
    return Measure("", words, unit, values, lambda value: f"{value:.0f}")


class Curves(unittest.TestCase):
    def test_mean_is_over_time(self) -> None:
        curve = Curve([0.0, 1.0, 3.0], [0.0, 10.0, 10.0])
        self.assertEqual((curve.span, curve.peak, curve.mean), (3.0, 10.0, (5 + 20) / 3))
        self.assertEqual(Curve([0.0], [7.0]).mean, 7.0)

    def test_the_end_is_the_middle_of_the_last_samples(self) -> None:
        curve = Curve([0.0, 1.00, 1.01, 1.02, 1.03], [9.0, 7.0, 5.0, 5.0, 0.1])
        self.assertEqual(curve.end, 5.0)
        self.assertEqual((curve.up_to(0.5), curve.up_to(0.0), Curve([0.0], [3.0]).end), (9.0, 9.0, 3.0))

    def test_a_curve_ends_with_its_process_and_where_it_was_told_to_end(self) -> None:
        samples = [sample(5, 1), sample(6, 2), sample(7, 3), sample(8, 0, processes=0)]
        self.assertEqual(curve_of(samples, 100 * SECOND), Curve([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]))
        self.assertEqual(curve_of(samples, 6 * SECOND), Curve([0.0, 1.0], [1.0, 2.0]))
        self.assertEqual(curve_of(samples, 0), Curve([0.0], [1.0]))

    def test_what_a_program_frees_to_end_is_no_part_of_it(self) -> None:
        work = [sample(n / 100, 1500 + n % 2) for n in range(50)]
        fall = [sample(0.5 + n / 100, 1500 - 100 * n) for n in range(1, 15)] + [sample(0.65 + n / 100, 13) for n in range(9)]
        self.assertEqual(before_the_fall(work + fall), work)
        late = [sample(0.9, 13)]  # nothing was sampled while a child ended
        self.assertEqual(before_the_fall(work + late), work)
        rest = [sample(0.5 + n / 100, 100) for n in range(30)]
        self.assertEqual(before_the_fall(work + rest), work + rest)
        decay = [sample(0.5 + n / 100, 1500 - 5 * n) for n in range(100)]
        self.assertEqual(before_the_fall(work + decay), work + decay)

    def test_the_most_in_each_part(self) -> None:
        curve = Curve([0.0, 0.4, 0.9, 3.5], [1.0, 7.0, 2.0, 5.0])
        self.assertEqual(most_in_each(curve, 5, 5.0), [7.0, 2.0, 2.0, 5.0, None])
        self.assertEqual(most_in_each(Curve([0.0], [2.0]), 2, 0.0), [2.0, None])


class Pictures(unittest.TestCase):
    def test_rows_fit_and_have_a_scale(self) -> None:
        flat = Curve([0.0, 2.0], [100.0, 100.0])
        falls = Curve([0.0, 1.0, 1.01, 2.0], [100.0, 100.0, 0.0, 0.0])
        lines = picture({"HAKMEM": falls, "google-tcmalloc": flat}, 80)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual(lines[0].split(), ["HAKMEM", "100", "┤" + "█" * (COLUMNS // 2 + 1)])
        self.assertRegex(lines[1], r" 0 ┤█{27}▁{25} 0$")
        self.assertRegex(lines[3], r" 0 ┤█{52} 100$")
        self.assertRegex(lines[-1], r"^ +0 +1 s +2 s$")


    def test_they_fit_a_narrow_terminal(self) -> None:
        curves = {name: Curve([0.0, 2.0], [1500.0, 1500.0]) for name in ("HAKMEM", "google-tcmalloc")}
        for width in (40, 50, 60):
            lines = picture(curves, width)
            self.assertEqual(max(map(len, lines)), width)
            self.assertRegex(lines[-1], r"^ +0 +1 s +2 s$")


class Sentences(unittest.TestCase):
    LESS, MORE = [34.0, 34, 35, 36], [215.0, 220, 216, 217]

    def test_what_differs(self) -> None:
        self.assertEqual(sentence([measure(HAKMEM=self.LESS, glibc=self.MORE)]),
                         "Least memory at the end: HAKMEM (34 MiB; glibc 216).")
        others = {"glibc": self.MORE, "jemalloc": [300.0] * 4}
        self.assertIn("(34 MiB; others 216 to 300)", sentence([measure(HAKMEM=self.LESS, **others)]))

    def test_what_does_not_differ(self) -> None:
        overlap, close = [36.0, 37, 38, 39], [1000.0, 1001, 1002, 1003]
        self.assertEqual(best({"a": self.LESS, "b": overlap}), ["a", "b"])
        self.assertEqual(best({"a": close, "b": [value + 10 for value in close]}), ["a", "b"])  # 1 % apart
        self.assertEqual(sentence([measure(a=self.LESS, b=overlap)]), "Memory at the end: no difference.")
        self.assertEqual(sentence([measure(a=self.LESS, b=overlap, c=self.MORE)]),
                         "Memory at the end: no single best, but c needs more than a.")

    def test_few_runs_name_no_best(self) -> None:
        text = sentence([measure(a=[1.0, 1, 1], b=[9.0, 9, 9])])
        self.assertEqual(text, "Which is best is not said of fewer than 4 runs each.")

    def test_each_measure_has_its_clause(self) -> None:
        text = sentence([measure("CPU time", "s", a=self.MORE, b=self.LESS), measure(a=self.LESS, b=self.MORE)])
        self.assertEqual(text, "Least CPU time: b (34 s; a 216); least memory at the end: a (34 MiB; b 216).")


class Peers(Scratch):
    def peers(self, *words: str, **variables: str) -> CompletedProcess[str]:
        only = [] if "--allocators" in words else ["--allocators", "glibc"]
        return hakmem("run", "--build", str(BUILD), "--peers", *only, *words, **variables)

    def refused(self, *words: str, status: int, text: str) -> None:
        ended = self.peers(*words)
        self.assertEqual(ended.returncode, status, ended.stderr)
        self.assertIn(text, ended.stderr)
        self.assert_one_line(ended.stderr)


class Programs(Peers):
    def test_a_burst_in_the_terminal_and_as_a_page(self) -> None:
        page = self.folder / "a b.html"
        ended = self.peers("--html", str(page), "--", PYTHON, "-c", BURST, COLUMNS="80")
        self.assertEqual((ended.returncode, ended.stdout), (0, "done\n"), ended.stderr)
        self.assertRegex(ended.stderr, r"(?m)^ +CPU \[s\] +wall \[s\] +peak \[MiB\] +mean \[MiB\] +end \[MiB\]$")
        for name in ("HAKMEM", "glibc"):
            self.assertRegex(ended.stderr, rf"(?m)^{name}( +[\d.]+){{5}}\n( +[\d.]+–[\d.]+){{5}}$")
            self.assertRegex(ended.stderr, rf"(?m)^{name} +\d+ ┤.*\n +0 ┤[▁-█ ]+ \d+$")
        words = " ".join(ended.stderr.split())
        self.assertRegex(words, r"CPU time.*wall time.*peak memory.*memory over time.*memory at the end.*\.")
        self.assertRegex(words, r"proven in each run to serve malloc and free: HAKMEM \w+, glibc [\d.]+$")
        self.assertLessEqual(max(len(line) for line in ended.stderr.splitlines() if "-c" not in line), 80)
        data = json.loads(re.findall(r"const data = (\{.*\});\n", page.read_text("ascii"))[0])
        runs = {curves["name"]: len(curves["runs"]) for curves in data["curves"]}
        self.assertEqual(runs, {"HAKMEM": 4, "glibc": 4})

    def test_an_allocator_that_does_not_serve_or_breaks_is_named(self) -> None:
        dl, crash = BUILD / "libhakmem-dl.so", preloadable("crash")
        peers = ["--allocators", "dl,crash", "--peer", f"dl={dl}", "--peer", f"crash={crash}"]
        ended = self.peers("--runs", "1", *peers, "--", PYTHON, "-c", BURST)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("not measured: dl: in python", ended.stderr)
        self.assertIn("not measured: crash: was killed by", ended.stderr)
        self.assertRegex(ended.stderr, r"(?m)^glibc( +[\d.]+){5}$")
        self.assertIn("Which is best is not said", ended.stderr)

    def test_a_program_that_fails_alike_everywhere(self) -> None:
        ended = self.peers("--runs", "1", "--", "sh", "-c", "sleep 0.1; exit 7")
        self.assertEqual(ended.returncode, 7, ended.stderr)
        self.assertIn("hakmem run --peers: sh -c 'sleep 0.1; exit 7'", ended.stderr)

    def test_a_program_that_fails_on_hakmem(self) -> None:
        script = "case $LD_PRELOAD in *libhakmem.so*) exit 9;; esac"
        text = "the program exited with 9 on HAKMEM, but exited with 0 on glibc"
        self.refused("--", "sh", "-c", script, status=3, text=text)

    def test_a_program_that_hakmem_does_not_serve(self) -> None:
        self.refused("--", program("calls_static"), status=2, text="linked statically")
        self.refused("--", "env", program("calls_static"), status=3, text="HAKMEM did not serve it")
        self.refused("--", program("own_malloc"), status=3, text="has a malloc of its own")

    def test_a_program_that_is_too_short_for_samples(self) -> None:
        text = "memory over time, sampled every 10 ms, needs one of 50 ms or more"
        self.refused("--", "true", status=2, text=text)

    def test_wrong_use(self) -> None:
        library = preloadable("forward")
        self.refused("--allocators", "none", "--", "true", status=2, text="--allocators none: not among those found")
        self.refused("--peer", "x=/no/such.so", "--", "true", status=2, text="expected NAME=FILE with a library")
        self.refused("--peer", f"glibc={library}", "--", "true", status=2, text="there is a glibc already")
        self.refused("--html", "/no/such/page", "--", "true", status=1, text="/no/such/page: no such file or directory")
        self.refused("--", "/no/such/program", status=127, text="no such")
        for option in ("--load", "--rest", "--html", "--allocators", "--peer"):
            ended = hakmem("run", "--build", str(BUILD), option, "1", "--", "true")
            self.assertEqual((ended.returncode, ended.stderr), (2, f"hakmem: {option} goes with --peers\n"))
        for option, value in (("--rest", "0"), ("--load", "")):
            ended = hakmem("run", "--build", str(BUILD), option, value, "--", "true")
            self.assertEqual((ended.returncode, ended.stderr), (2, f"hakmem: {option} goes with --peers\n"))

    def test_the_end_is_before_the_program_frees_what_it_has(self) -> None:
        ended = self.peers("--runs", "1", "--", PYTHON, "-c", "x = bytearray(b'x') * (400 << 20); import time; time.sleep(0.1)")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        for name in ("HAKMEM", "glibc"):
            row = re.search(rf"(?m)^{name}( +[\d.]+){{4}} +(\d+)$", ended.stderr)
            self.assertTrue(row and int(row[2]) >= 380, ended.stderr)

    def test_a_program_that_puts_itself_into_the_background(self) -> None:
        """It and what it left are ended, and no figure is printed."""
        daemon = f"setsid sh -c 'echo $$ >> {self.folder}/pids; exec sleep 60' > /dev/null 2>&1 & sleep 0.1"
        for words in ((), ("--rest", "1"), ("--load", "true")):
            text = "the program put itself into the background"
            self.refused("--runs", "1", *words, "--", "sh", "-c", daemon, status=2, text=text)
        pids = (self.folder / "pids").read_text().split()
        self.assertEqual(len(pids), 3)
        for pid in pids:
            self.assertFalse(Path(f"/proc/{pid}").exists())

    def test_a_page_that_cannot_be_written_is_refused_first(self) -> None:
        for page in ("", "/", "/proc/x.html", "/proc/version/x"):
            self.refused("--html", page, "--", "sh", "-c", f"touch {self.folder}/ran", status=1, text="hakmem: ")
        self.assertFalse((self.folder / "ran").exists())

    def test_a_rest_that_is_too_short(self) -> None:
        self.refused("--rest", "0.02", "--", "sleep", "5", status=2, text="--rest 0.02: without --load 0.1 or more")
        ended = self.peers("--runs", "1", "--rest", "0.1", "--", "sh", "-c", "sleep 5")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertNotIn("LD_PRELOAD", ended.stderr)

    def test_few_samples_of_a_program_that_was_ended(self) -> None:
        moments = service.Moments(None, None, 0)
        trial = Trial(mock.Mock(), moments, [], "", [sample(0, 1)])
        self.assertIn("only 1 samples of memory", problem_of_samples(trial) or "")

    def test_nothing_is_left_behind(self) -> None:
        self.peers("--runs", "1", "--", "sleep", "0.1", TMPDIR=str(self.folder))
        self.assertEqual([*self.folder.iterdir()], [])


class Services(Peers):
    def setUp(self) -> None:
        """The server makes its socket anew in each run."""
        super().setUp()
        socket = str(self.folder / "socket")
        self.server, self.client = (text.replace("SOCKET", socket) for text in (SERVER, CLIENT))

    def served(self, *words: str) -> str:
        """What is said of it."""
        ended = self.peers("--runs", "1", "--rest", "0.3", *words, "--", PYTHON, "-c", self.server)
        self.assertEqual((ended.returncode, ended.stdout), (0, ""), ended.stderr)
        return ended.stderr

    def assert_ends(self, group: int) -> None:
        """It is killed, which takes a moment."""
        for _ in range(500):
            if not commands_of(group):
                return
            time.sleep(0.01)
        self.fail(f"{commands_of(group)} lives on")

    def test_a_load_and_rest(self) -> None:
        said = self.served("--load", f'{PYTHON} -c "{self.client}"')
        self.assertRegex(said, r"(?m)^ +CPU \[s\] +load \[s\] +peak \[MiB\] +mean \[MiB\] +load \[MiB\] +end \[MiB\]$")
        self.assertRegex(said, r"(?m)^glibc( +[\d.]+){6}$")
        self.assertNotIn("note: SIGTERM", said)

    def test_rest_alone(self) -> None:
        self.assertIn("each run was ended after 0.3 s", self.served())

    def test_a_load_that_fails(self) -> None:
        text = "on HAKMEM the program failed: --load exited with 4: no answer"
        self.refused("--load", "echo no answer; exit 4", "--", PYTHON, "-c", self.server, status=3, text=text)

    def test_a_program_that_is_no_service(self) -> None:
        text = "on HAKMEM the program failed: ended before the load began: exited with 5: not today"
        self.refused("--load", "true", "--", "sh", "-c", "echo not today >&2; exit 5", status=3, text=text)
        dies = f"{PYTHON} -c \"{self.client}\"; kill $(cat '{self.folder}/pid'); sleep 9"
        script = f"echo $$ > '{self.folder}/pid'; exec {PYTHON} -c \"{self.server}\""
        text = "ended under the load: was killed by SIGTERM"
        self.refused("--load", dies, "--", "sh", "-c", script, status=3, text=text)

    def test_a_service_that_ends_badly(self) -> None:
        early, crash = "sleep 0.1; exit 5", "trap 'kill -SEGV $$' TERM; while :; do sleep 0.05; done"
        for script, text in ((early, "before it was to be ended it exited with 5"),
                             (crash, "asked to end, it was killed by SIGSEGV")):
            self.refused("--rest", "0.4", "--", "sh", "-c", script, status=3, text=text)

    def test_a_service_that_outlives_sigterm_is_killed(self) -> None:
        launcher, streams = Launcher(self.places.launcher, self.folder), Streams()
        command = ["sh", "-c", f"{PYTHON} -c \"{self.server}\" stubborn; true"]
        for words in ([PYTHON, "-c", self.server, "stubborn"], command):
            running = launcher.running(words, os.environ, streams, [])
            patience = mock.patch.multiple(service, GRACE_SECONDS=0.2, UP_SECONDS=0.1)
            with patience, running as process:
                moments = service.go_through(process, service.Manner(rest=0.3), self.folder)
            self.assertEqual((moments.problem, moments.killed), ("", words is not command))
            self.assertEqual(launcher.figures("").signal, signal.SIGTERM if words is command else signal.SIGKILL)
            self.assert_ends(process.pid)

    def test_listening_is_seen_from_outside(self) -> None:
        line = f"{PYTHON} -c \"{self.server}\"; true"
        with subprocess.Popen(["sh", "-c", line], stderr=subprocess.DEVNULL) as shell:
            try:
                while not listens(shell.pid):
                    self.assertIsNone(shell.poll())
            finally:
                for child in Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split():
                    subprocess.run(["kill", child], check=True)
        with subprocess.Popen(["sleep", "9"]) as other:
            self.assertFalse(listens(other.pid))
            other.kill()


if __name__ == "__main__":
    unittest.main()
