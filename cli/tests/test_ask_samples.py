# SPDX-License-Identifier: MIT OR Apache-2.0
"""Processes that were started without a setting: samples of what they take from now on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import unittest
from pathlib import Path
from unittest import mock

from asked import LIBRARY, PYTHON, Asked
from support import COMMAND, clean_environment, end, hakmem, line_of

from hakmem.base.errors import Refusal
from hakmem.profiling.from_outside import Outside, start_line, take
from hakmem.reading.asking import sampled
from hakmem.reading.living import gone, refuse_if_ending
from hakmem.reading.find_page import page_of_process
from hakmem.reading.estimate import evidence_of, range_of, sum_of
from hakmem.reading.memory_profile import profile_in_memory
from hakmem.reading.pprof import columns
from hakmem.reading.tables import Memory, Tables
from hakmem.watching import processes

NOBODY = 65534
GROWS = (
    "import time\nold = [bytes(1000) for _ in range(40000)]\nkept = []\nprint('ready', flush=True)\n"
    "while True: kept.extend(bytes(3000) for _ in range(100)); time.sleep(0.01)"
)


def switches(pid: int) -> dict[str, int]:
    """What is sampled now, for whom, and how."""
    memory = Memory(pid)
    try:
        found = Tables(memory)
        lent = memory.number(found.at["account"] + found.n["lent"], 1)
        return {"profile": found.setting("profile"), "lent": lent}
    finally:
        memory.close()


OFF = {"profile": 0, "lent": 0}


class FromOutside(Asked):
    def until_off(self, pid: int) -> None:
        deadline = time.monotonic() + 30
        while switches(pid) != OFF:
            self.assertLess(time.monotonic(), deadline, switches(pid))
            time.sleep(0.02)

    def live_range(self, found: Outside) -> tuple[float, float]:
        at = columns(found.profile)["inuse_space"]
        size = sum(sample.value[at] for sample in found.profile.sample)
        return range_of(size, sum_of(evidence_of(found.profile)), found.profile.period)

    def test_what_it_takes_from_now_on(self) -> None:
        """And nothing from before, the second time as well: ranges have the truth, with some room."""
        pid = self.ready(GROWS)
        for _ in range(2):
            before = page_of_process(pid).value("in_use")
            found = take(pid, 1.0)
            grown = page_of_process(pid).value("in_use") - before
            low, high = self.live_range(found)
            self.assertTrue(found.sampled)
            self.assertGreater(grown, low / 1.5)
            self.assertLess(low, high)
            self.assertGreater(1.5 * high + (4 << 20), 0.7 * grown, "what it took just before and after is not in it")
            self.assertGreater(max(len(sample.location_id) for sample in found.profile.sample), 5)
            self.until_off(pid)

    def test_a_program_that_switches_it_on_meanwhile(self) -> None:
        """Then it stays on."""
        pid = self.ready(
            "import ctypes, time\nhak = ctypes.CDLL(None)\nkept = []\nprint('ready', flush=True)\nstart = time.time()\n"
            "while time.time() < start + 1.0: kept.append(bytes(30000)); time.sleep(0.001)\n"
            "hak.hak_profile_start(0)\nwhile True: kept.append(bytes(30000)); time.sleep(0.001)"
        )
        take(pid, 1.5)
        self.assertEqual(switches(pid)["profile"], 1)

    def test_the_command(self) -> None:
        pid, out = self.ready(GROWS), self.folder / "out.pb.gz"
        said = hakmem("profile", str(pid), "--seconds", "0.5", "-o", str(out))
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        line = f"blocks from before are not in it (with them: {start_line(pid)})"
        self.assertIn(line, said.stdout)
        self.assertIn(f"hakmem exec --watch -- {PYTHON} ...", line, "its lines are no words of a command")
        self.assertRegex(said.stdout, r"(?m) _start +$")
        self.assertIn(" in use in ", hakmem("profile", str(out)).stdout)
        self.assertIn(f"{out} is no mark for --since", said.stdout)
        self.until_off(pid)
        self.assertIn("--seconds goes with a PID", self.refused("profile", str(out), "--seconds", "1"))

    def test_the_report(self) -> None:
        pid, page = self.ready(GROWS), self.folder / "page.html"
        said = hakmem("report", str(pid), "--seconds", "0.5", "-o", str(page))
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertIn("blocks from before are not in it", said.stdout)
        self.assertRegex(said.stdout, rf"look like growth: hakmem explain {pid} --seconds [1-9] says what grew, by size")
        text = page.read_text("ascii")
        self.assertIn("Of what it took within", text)
        self.assertRegex(text, r'"points":\s*\[\[[\d.]+,\s*\d+,\s*\d+,\s*\d+\]')
        self.until_off(pid)

    def test_the_report_of_an_idle_one(self) -> None:
        """Its memory is there all the same."""
        pid, page = self.ready(), self.folder / "page.html"
        said = hakmem("report", str(pid), "--seconds", "0.2", "-o", str(page))
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertIn("it took no memory beyond its caches meanwhile", said.stdout)
        self.assertIn("less never touched", page.read_text("ascii"))
        assert self.process.stdin is not None
        self.assertIn("took no memory beyond its caches within 0.2 s", self.refused("profile", str(pid), "--seconds", "0.2"))

    def test_whole_stacks_without_libgcc(self) -> None:
        """Nothing is opened for them in the middle of malloc, where the loader's lock may be held."""
        pid = self.ready(GROWS)
        said = hakmem("profile", str(pid), "--seconds", "0.5").stdout
        self.assertRegex(said, r"(?m) _start +$")
        self.assertNotIn("libgcc_s", Path(f"/proc/{pid}/maps").read_text())
        self.until_off(pid)

    @unittest.skipIf(os.uname().machine != "x86_64", "the filter has the numbers of one machine")
    def test_in_a_sandbox_that_malloc_alone_survives(self) -> None:
        """Its filter, which HAKMEM is not told of, ends it for the kernel calls with which stacks are walked elsewhere:
        rt_sigprocmask and process_vm_readv."""
        rows = "".join(f"(0x15, 0, 1, {number}), (0x6, 0, 0, 0x80000000), " for number in (14, 310))
        code = (
            "import ctypes, struct, time\nlibc = ctypes.CDLL(None)\nkept = []\n"
            f"rows = ((0x20, 0, 0, 0), {rows}(0x6, 0, 0, 0x7fff0000))\n"
            "text = ctypes.create_string_buffer(b''.join(struct.pack('<HBBI', *row) for row in rows))\n"
            "program = ctypes.create_string_buffer(struct.pack('<HxxxxxxQ', len(rows), ctypes.addressof(text)))\n"
            "assert libc.syscall(157, 38, 1, 0, 0, 0) == 0\n"
            "assert libc.syscall(157, 22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) == 0\n"
            "print('ready', flush=True)\nwhile True: kept.extend(bytes(3000) for _ in range(100)); time.sleep(0.01)"
        )
        pid = self.ready(code)
        found = take(pid, 0.5)
        self.assertIsNone(self.process.poll(), "it goes on")
        self.assertTrue(found.sampled)
        self.assertGreater(max(len(sample.location_id) for sample in found.profile.sample), 5)
        self.until_off(pid)

    def test_in_a_sandbox_that_it_told_of(self) -> None:
        """What stacks need was read before: its stacks from there are whole, without a kernel call."""
        code = (
            "import ctypes, threading\nhak = ctypes.CDLL(None)\nkept = []\nassert hak.prctl(38, 1, 0, 0, 0) == 0\n"
            "assert hak.hak_set(b'profile_bytes', b'64K') == 0\n"  # for a thread from then on
            "work = threading.Thread(target=lambda: kept.extend(bytes(3000) for _ in range(20000)))\n"
            "work.start(); work.join(); print('ready', flush=True); input()"
        )
        pid = self.ready(code, profile="on", profile_bytes="1T")
        self.assertGreater(max(len(sample.location_id) for sample in take(pid, 0.1).profile.sample), 5)

    def test_all_threads(self) -> None:
        code = (
            "import threading, time\ndef work(kept=None):\n    kept = []\n    while True: kept.append(bytes(40000)); time.sleep(0.001)\n"
            "for _ in range(4): threading.Thread(target=work, daemon=True).start()\nprint('ready', flush=True); time.sleep(600)"
        )
        pid = self.ready(code)
        found = take(pid, 1.0)
        self.assertGreater(self.live_range(found)[1], 20 << 20)
        self.until_off(pid)

    def test_a_fork_meanwhile(self) -> None:
        """A child has no reader of its samples, and ends its sampling."""
        code = (
            "import os, sys, time\nprint('ready', flush=True)\ninput()\n"
            "if os.fork() == 0:\n    print(os.getpid(), flush=True)\nkept = []\n"
            "while True: kept.append(bytes(40000)); time.sleep(0.005)"
        )
        pid = self.ready(code)
        assert self.process.stdin is not None
        with sampled(pid) as sampling:
            self.process.stdin.write("fork\n")
            self.process.stdin.flush()
            child = int(line_of(self.process))
            self.addCleanup(os.kill, child, signal.SIGKILL)
            sampling.await_answer(20)
            self.assertTrue(sampling.answered)
            self.until_off(child)
            self.assertEqual(switches(pid)["profile"], 1)
        self.until_off(pid)

    def test_one_that_ends_meanwhile(self) -> None:
        pid = self.ready(GROWS)
        asker = subprocess.Popen([COMMAND, "profile", str(pid), "--seconds", "60"], env=clean_environment(),
                                 stderr=subprocess.PIPE, text=True)
        while not switches(pid)["profile"]:
            time.sleep(0.02)
        self.process.kill()
        self.process.wait()
        said = asker.communicate(timeout=60)[1]
        self.assertEqual(asker.returncode, 2)
        self.assertRegex(said, rf"\Ahakmem: process {pid} (ended while it was sampled|has ended .*)\n\Z")

    def test_one_that_is_gone_a_moment_after_its_memory(self) -> None:
        """It was there when its memory went."""
        with mock.patch("hakmem.reading.living.why_gone", side_effect=[None, "there is no process 4194305"]), \
                self.assertRaisesRegex(Refusal, "^process 4194305 ended while it was sampled$"):
            refuse_if_ending(4194305, "sampled")

    def test_one_whose_files_go_meanwhile(self) -> None:
        """It was there when the samples began: "there is no process" would be wrong."""
        pid = self.ready(GROWS)
        with self.assertRaisesRegex(Refusal, "ended while it was sampled"), sampled(pid):
            self.process.kill()
            self.process.wait()
            raise gone(pid)

    def test_one_that_execs_meanwhile(self) -> None:
        """The program before is what was asked; the one after is left alone."""
        code = (
            "import os, sys\nkept = [bytes(n) for n in range(20000)]\nprint('ready', flush=True)\ninput()\n"
            "os.execv('/bin/sh', ['sh', '-c', 'echo there; read x'])"
        )
        pid = self.ready(code)
        assert self.process.stdin is not None
        with self.assertRaisesRegex(Refusal, "became another program"), sampled(pid) as sampling:
            self.process.stdin.write("exec\n")
            self.process.stdin.flush()
            self.assertEqual(line_of(self.process), "there")
            sampling.await_answer(1)
        self.assertEqual(switches(pid), OFF)

    def test_an_asker_that_is_stopped_or_killed(self) -> None:
        pid = self.ready(GROWS)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            asker = subprocess.Popen([COMMAND, "profile", str(pid), "--seconds", "60"], env=clean_environment(),
                                     stderr=subprocess.PIPE, text=True)
            while not switches(pid)["profile"]:
                time.sleep(0.02)
            asker.send_signal(number)
            said = asker.communicate(timeout=60)[1]
            self.assertEqual(asker.returncode, -number)
            if number != signal.SIGKILL:
                self.assertEqual(said, f"hakmem: stopped by {number.name}\n")
                self.until_off(pid)
        self.assertEqual(switches(pid)["lent"], 1, "it samples on, and the next one ends that")
        take(pid, 0.2)
        self.until_off(pid)

    def test_no_more_live_than_sampled(self) -> None:
        """It samples on while it is read."""
        pid = self.ready(GROWS.replace("time.sleep(0.01)", "time.sleep(0.001)"), profile_bytes="4096")
        for _ in range(3):
            found = take(pid, 0.3).profile
            text = found.string_table[found.comment[0]]
            numbers = re.search(r"(\d+) blocks? sampled, (\d+) of them live", str(text))
            assert numbers is not None
            self.assertGreaterEqual(int(numbers[1]), int(numbers[2]), text)

    def test_a_file_that_cannot_be_written(self) -> None:
        """That is told before the wait."""
        pid = self.ready(GROWS)
        for command in ("profile", "report"):
            start = time.monotonic()
            said = hakmem(command, str(pid), "--seconds", "20", "-o", str(self.folder / "none" / "x"))
            self.assertLess(time.monotonic() - start, 15)
            self.assertEqual(said.returncode, 1)
            self.assert_one_line(said.stderr)
            self.assertEqual(switches(pid), OFF)

    def test_a_library_of_another_name(self) -> None:
        other = self.folder / "other.so"
        other.write_bytes(Path(LIBRARY).read_bytes())
        process = subprocess.Popen(
            [PYTHON, "-c", GROWS], env=clean_environment(LD_PRELOAD=str(other), PYTHONMALLOC="malloc"),
            stdout=subprocess.PIPE, text=True,
        )
        self.addCleanup(end, process)
        line_of(process)
        self.assertIn("within 0.", hakmem("profile", str(process.pid), "--seconds", "0.2").stdout)

    def test_two_at_a_time(self) -> None:
        """The second one is refused, and the first goes on; what ends the second does not end the first's sampling."""
        pid = self.ready(GROWS)
        first = subprocess.Popen([COMMAND, "profile", str(pid), "--seconds", "7"], env=clean_environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not switches(pid)["profile"]:
            time.sleep(0.02)
        line = f"process {pid} is sampled by process {first.pid} (hakmem profile or report): wait for it"
        self.assertIn(line, self.refused("profile", str(pid), "--seconds", "0.1"))
        self.assertIn(line, self.refused("report", str(pid), "--seconds", "0.1"))
        self.assertEqual(switches(pid)["profile"], 1)
        said, wrong = first.communicate(timeout=60)
        self.assertEqual((first.returncode, wrong), (0, ""))
        self.assertRegex(said, r"within ([7-9]|1\d)\.\d s")
        self.until_off(pid)

    def test_sampling_that_is_switched_off_meanwhile(self) -> None:
        pid = self.ready(GROWS)
        with self.assertRaisesRegex(Refusal, "switched off meanwhile"), sampled(pid) as sampling:
            sampling.await_answer(20)
            sampling.end()
            sampling.stay(20)
        self.until_off(pid)

    def test_one_that_samples_by_itself_goes_on(self) -> None:
        pid = self.ready(GROWS, profile="on")
        found = take(pid, 0.1)
        self.assertEqual(found.seconds, 0)
        self.assertGreater(self.live_range(found)[1], 40 << 20, "it has what was taken before, too")
        self.assertEqual(switches(pid), {"profile": 1, "lent": 0})

    @unittest.skipIf(os.geteuid() != 0, "only root has other users' processes")
    def test_another_users(self) -> None:
        pid = self.ready(GROWS)
        self.assertIn("another user's", self.refused("profile", str(pid), user=NOBODY))
        self.assertIn("another user's", self.refused("report", str(pid), user=NOBODY))
        self.assertEqual(switches(pid), OFF)

    @unittest.skipIf(subprocess.run(["unshare", "-pmf", "true"], check=False).returncode, "no namespaces here")
    def test_in_a_container_with_its_own_root(self) -> None:
        inside = self.folder / "inside"
        inside.mkdir()
        line = 'mount -t tmpfs none "$0" && cp -L /usr/bin/python3 "$0/program" && exec env "$@"'
        outer = subprocess.Popen(
            ["unshare", "-pmf", "--mount-proc", "--kill-child", "sh", "-c", line, str(inside),
             f"LD_PRELOAD={LIBRARY} libgcc_s.so.1",
             "PYTHONMALLOC=malloc", str(inside / "program"), "-c", GROWS],
            env=clean_environment(), stdout=subprocess.PIPE, text=True,
        )
        self.addCleanup(end, outer)
        self.assertEqual(line_of(outer), "ready")
        pid = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().strip()
        self.assertIn("blocks that the program has", hakmem("top", "--once", pid).stdout)
        said = hakmem("profile", pid, "--seconds", "0.5", "--rows", "0").stdout
        self.assertRegex(said, r" _?Py[A-Z]\w+\n|Py_BytesMain", "named by the file that it has there")

    def test_hostile_samples(self) -> None:
        pid = self.ready(GROWS)
        take(pid, 0.3)
        true = Memory.read
        for value in (0x4141414141414141, (1 << 64) - 1, 0x7FF0000000000000):
            count = [0]

            def lying(memory: Memory, address: int, size: int) -> bytes:
                data = true(memory, address, size)
                count[0] += 1
                return value.to_bytes(8, "little") * (size // 8) if size in (8, 16, 24) and count[0] % 5 == 0 else data

            start = time.monotonic()
            with mock.patch.object(Memory, "read", lying):
                try:
                    profile_in_memory(pid)
                except Refusal as refusal:
                    self.assert_one_line(f"hakmem: {refusal}\n")
            self.assertLess(time.monotonic() - start, 60)


if __name__ == "__main__":
    unittest.main()
