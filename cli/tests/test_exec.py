# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem exec`, `path` and `env`: the program is itself, on HAKMEM; and what cannot be served is refused."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import BUILD, COMMAND, Scratch, clean_environment, end_groups, hakmem, preloadable, program

from hakmem.process.places import find_library
from hakmem.process.proof import read_records

AT_BUILD = ("--build", str(BUILD))
PATIENCE_SECONDS = 30


def started(*arguments: str, options: tuple[str, ...] = (), **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, "exec", *AT_BUILD, *options, "--", *arguments],
        env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
    )


def executed(*command: str, options: tuple[str, ...] = (), **more: str) -> subprocess.CompletedProcess[str]:
    return hakmem("exec", *AT_BUILD, *options, "--", *command, **more)


def signal_lines(command: list[str], before: Callable[[], object]) -> str:
    """What a program that is started so blocks and ignores."""
    show = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    return subprocess.run(
        [*command, *show], env=clean_environment(), preexec_fn=before, restore_signals=False, capture_output=True,
        text=True, check=True,
    ).stdout


def without_close_range() -> None:
    """The kernel has no such call any more for this process."""
    load, equal, answer, close_range = 0x20, 0x15, 0x06, 436
    program = struct.pack(
        "=" + 4 * "HBBI", load, 0, 0, 0, equal, 0, 1, close_range, answer, 0, 0, 0x50000 | errno.ENOSYS, answer, 0, 0, 0x7FFF0000
    )
    lines = ctypes.create_string_buffer(program)
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if libc.prctl(22, 2, struct.pack("@HP", 4, ctypes.addressof(lines))):  # PR_SET_SECCOMP
        raise OSError("no filter")


class Becoming(Scratch):
    def test_the_process_is_the_programs(self) -> None:
        process = started("sh", "-c", "echo $$; exit 7")
        output, errors = process.communicate()
        self.assertEqual((int(output), errors, process.returncode), (process.pid, "", 7))

    def test_it_ends_by_its_signal(self) -> None:
        self.assertEqual(executed("sh", "-c", "kill -SEGV $$").returncode, -signal.SIGSEGV)

    def test_hakmem_serves_it_and_what_was_preloaded_stays_behind(self) -> None:
        stem, witness = self.folder / "proof", str(self.places.identity_probe)
        ended = executed("sh", "-c", "echo $LD_PRELOAD; true", LD_PRELOAD=witness, HAKPROBE_FILE=str(stem))
        self.assertEqual(ended.stdout, f"{self.places.so_file} {witness}\n")
        served = [record.served_by(self.places.so_file) for record in read_records(stem) if "sh" in record.exe]
        self.assertIn(True, served)

    def test_hakmem_that_is_preloaded_already_comes_once(self) -> None:
        link = self.folder / "link.so"
        link.symlink_to(self.places.so_file)
        for there in (self.places.so_file, link):
            ended = executed("sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD=str(there))
            self.assertEqual(ended.stdout, f"{self.places.so_file}\n")

    def test_another_hakmem_is_named(self) -> None:
        other = Path(shutil.copy(self.places.so_file, self.folder / "libhakmem.so"))
        ended = executed("true", LD_PRELOAD=str(other))
        self.assert_one_line(ended.stderr)
        self.assertIn(f"another HAKMEM, {other}", ended.stderr)
        self.assertEqual(ended.returncode, 2)

    def test_another_allocator_is_named(self) -> None:
        for command in (["exec", *AT_BUILD, "true"], ["env", *AT_BUILD]):
            ended = hakmem(*command, LD_PRELOAD="libjemalloc.so.2")
            self.assert_one_line(ended.stderr)
            self.assertIn("another allocator, libjemalloc.so.2", ended.stderr)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))

    def test_signals_are_as_the_caller_had_them(self) -> None:
        def nothing() -> None:
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)

        def some() -> None:
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGUSR1])

        for before in (nothing, some):
            with self.subTest(before=before.__name__):
                ours = signal_lines([str(COMMAND), "exec", *AT_BUILD, "--"], before)
                self.assertEqual(ours, signal_lines([], before))

    def test_closed_streams_stay_closed(self) -> None:
        shown = self.folder / "shown"
        closing = f"ls /proc/self/fd 2>>{shown} >&- <&-"
        script = f"{COMMAND} exec --build {BUILD} -- {closing}; {closing}"
        subprocess.run(["sh", "-c", script], env=clean_environment(), check=False)
        lines = shown.read_text().splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[0], lines[1])

    def test_scripts_texts_and_what_is_on_the_path(self) -> None:
        for name, text in (("script", "#!/bin/sh\necho $0 $1\n"), ("text", "echo $0 $1\n")):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
            ended = executed(name, "--mode", PATH=f"{self.folder}:{os.environ['PATH']}")
            self.assertEqual((ended.stdout, ended.stderr), (f"{self.folder / name} --mode\n", ""))

    def test_settings(self) -> None:
        options = ("--mode=baseline", "--price", "lean", "--set", "lab_big_threshold=2M", "--set", "LAB_BIG_THRESHOLD=4M")
        ended = executed("sh", "-c", "env | grep ^HAKMEM_ | sort", options=options, HAKMEM_COUNT_CALLS="on")
        wanted = ["COUNT_CALLS=on", "LAB_BIG_THRESHOLD=4M", "MODE=baseline", "PRICE=lean"]
        self.assertEqual(ended.stdout.split(), [f"HAKMEM_{each}" for each in wanted])
        self.assertEqual(ended.stderr, "")

    def test_wrong_settings(self) -> None:
        wrong = (
            ("--set", "nonsense=1"), ("--set", "count_calls=perhaps"), ("--set", "count"), ("--set", "=1"), ("--mode", "x"),
            ("--price", "dear"), ("--set",), ("--frobnicate",), ("--stats=yes",),
        )
        for options in wrong:
            with self.subTest(options=options):
                command = [] if options == ("--set",) else ["true"]
                ended = hakmem("exec", *AT_BUILD, *options, *command, HAKMEM_FOO="1")
                self.assert_one_line(ended.stderr)
                self.assertEqual((ended.returncode, ended.stdout), (2, ""))

    def test_a_wrong_setting_is_answered_with_what_is_allowed_or_the_name_it_has(self) -> None:
        for pair, words in (
            ("count=on", "now named count_calls"), ("limits_folder=/", "now named cgroup_dir"),
            ("big_threshold=2M", "now the laboratory's: lab_big_threshold"), ("prize=lean", "no such setting; nearest: price"),
            ("price=dear", "allowed: speed, balanced, lean, or 0 to"), ("zzzzzz=1", "no such setting, nor one like it"),
        ):
            for command in (("exec", *AT_BUILD, "--set", pair, "true"), ("env", *AT_BUILD, "--set", pair)):
                with self.subTest(command=command):
                    ended = hakmem(*command)
                    self.assertIn(f"{pair}: {words}", ended.stderr)
                    self.assert_one_line(ended.stderr)
                    self.assertEqual((ended.returncode, ended.stdout), (2, ""))

    def test_module(self) -> None:
        ended = subprocess.run(
            [sys.executable, "-m", "hakmem", "exec", *AT_BUILD, "echo", "it"], env=clean_environment(),
            capture_output=True, text=True, check=False,
        )
        self.assertEqual((ended.stdout, ended.stderr), ("it\n", ""))

    def test_what_is_imported_is_little(self) -> None:
        code = "import sys, hakmem.base.stop, hakmem.base.streams, hakmem.cli, hakmem.commands.exec, hakmem.running.exec; print(*sys.modules)"
        listed = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
        slow = {"typer", "rich", "pandas", "dataclasses", "inspect", "tempfile", "subprocess", "ctypes", "argparse"}
        self.assertEqual(slow & set(listed.split()), set())


class Refused(Scratch):
    def refused(self, command: str, text: str, *more: str) -> None:
        for options in (more, (*more, "--stats")):
            ended = executed(command, options=options)
            self.assert_one_line(ended.stderr)
            self.assertIn(text, ended.stderr)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))

    def test_static(self) -> None:
        self.refused(program("calls_static"), "linked statically")

    def test_another_machine(self) -> None:
        for at, value, said in (
            (18, struct.pack("<H", 183), "(AArch64, 64-bit)"),
            (4, b"\1", "(x86-64, 32-bit)"),
            (4, b"\1\1\1\0\0\0\0\0\0\0\0\0\2\0\x03\0", "(x86, 32-bit)"),
            (5, b"\2\1\0\0\0\0\0\0\0\0\0\0\2\0\x16", "(s390, 64-bit, big-endian)"),
        ):
            with self.subTest(said=said):
                self.refused(self.changed(at, value), f"another kind of machine {said} than libhakmem.so (x86-64, 64-bit)")

    def test_a_library_of_another_machine(self) -> None:
        """The dynamic linker would complain, and start the program on its own malloc."""
        other = self.folder / "libhakmem.so"
        other.write_bytes(Path(self.changed(18, struct.pack("<H", 183))).read_bytes())
        self.refused(program("calls"), "for x86-64, 64-bit, and libhakmem.so for AArch64, 64-bit", "--library", str(other))

    def test_a_library_that_is_none_of_hakmem(self) -> None:
        """It would be preloaded, and the program would run on its own malloc."""
        library = find_library(None, None)
        part, pipe = self.folder / "part.so", self.folder / "pipe.so"
        part.write_bytes(library.read_bytes()[:400_000])
        os.mkfifo(pipe)
        for file, why in (
            ("/bin/ls", "no library of HAKMEM (it has no malloc and no hak_owns)"),
            (preloadable("crash"), "no library of HAKMEM (it has no malloc and no hak_owns)"),
            (library.parent / "libhakmem-dl.so", "no library of HAKMEM (it has no malloc)"),
            ("/etc/passwd", "no library of HAKMEM (it is no whole ELF library)"),
            (part, "no library of HAKMEM (it is no whole ELF library)"),
            (pipe, "not a regular file"),
        ):
            with self.subTest(file=file):
                self.refused("true", f"--library {os.path.realpath(file)}: {why}", "--library", str(file))

    def test_a_sanitizer_of_its_own(self) -> None:
        """It would not start, or see nothing. That of undefined behaviour has no malloc."""
        (self.folder / "sane.c").write_text("int main(void) { return 0; }")
        options = {"address": "AddressSanitizer", "address -static-libasan": "a sanitizer", "thread": "ThreadSanitizer",
                   "leak -s": "LeakSanitizer", "undefined": ""}
        for given, who in options.items():
            with self.subTest(given=given):
                subprocess.run(["cc", "-o", "sane", "sane.c", *f"-fsanitize={given}".split()], check=True, cwd=self.folder)
                sane = str(self.folder / "sane")
                if who:
                    self.refused(sane, f"sane is built with {who}, which has a malloc of its own; HAKMEM cannot serve it")
                else:
                    self.assertEqual(executed(sane).returncode, 0)

    @unittest.skipIf(os.geteuid() != 0, "only root gives files to others")
    def test_setuid_and_setgid(self) -> None:
        for user, group, mode in ((65534, 0, 0o4755), (0, 65534, 0o2755)):
            copy = self.changed(0, b"\x7fELF")
            os.chown(copy, user, group)
            os.chmod(copy, mode)
            self.refused(copy, "other privileges than yours")

    def test_no_such_command(self) -> None:
        for command, status in (("no-such-command-at-all", 127), ("/etc/passwd", 126)):
            ended = executed(command)
            self.assert_one_line(ended.stderr)
            self.assertEqual(ended.returncode, status)


class Summary(Scratch):
    def summary(self, *command: str, options: tuple[str, ...] = (), **more: str) -> subprocess.CompletedProcess[str]:
        return executed(*command, options=("--stats", *options), TMPDIR=str(self.folder), **more)

    def test_where_there_is_no_folder_it_is_said(self) -> None:
        ended = executed("true", options=("--stats",), TMPDIR=str(self.folder / "none"))
        self.assertEqual(ended.returncode, 0)
        self.assertIn("\n  served       not known: there is no folder", ended.stderr)

    def test_what_it_says(self) -> None:
        ended = self.summary("sh", "-c", "ls / >/dev/null; echo out; exit 3", options=("--set", "count_calls=on"))
        self.assertEqual((ended.stdout, ended.returncode), ("out\n", 3))
        first, *rest = ended.stderr.splitlines()
        self.assertEqual(first, "hakmem exec: sh exited with 3")
        labels = [line[2:15].strip() for line in rest]
        self.assertEqual(labels, ["time", "peak memory", "served", "at the end", "", "calls", "HAKMEM", ""])
        self.assertRegex(ended.stderr, r"served       by HAKMEM: malloc and free are HAKMEM's, in 2 programs\n")
        self.assertRegex(ended.stderr, r"calls        [1-9][\d,]* allocations, [1-9][\d,]* frees\n")

    def test_a_name_is_printed_without_its_control_bytes(self) -> None:
        script = self.folder / "ß\x1b[31m\n\x9b\udcff"
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
        first = self.summary(str(script)).stderr.splitlines()[0]
        self.assertEqual(first, f"hakmem exec: {self.folder}/ß\\x1b[31m\\x0a\\xc2\\x9b\\xff exited with 0")

    def test_nothing_is_left(self) -> None:
        self.summary("true")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_peak_memory_is_the_programs(self) -> None:
        """The parent is too small to be counted into it."""
        small = re.search(r"peak memory  ([\d.]+) (\w+)", self.summary("true").stderr)
        assert small is not None
        self.assertTrue(small[2] == "KiB" or float(small[1]) < 4, small[0])
        large = re.search(r"peak memory  ([\d.]+) MiB", self.summary("perl", "-e", "$x = 'x' x (64 << 20)").stderr)
        assert large is not None
        self.assertGreater(float(large[1]), 64)

    def test_what_is_there_at_the_end(self) -> None:
        """Of a burst that is over: what is live, resident and kept."""
        code = ("import ctypes, time; x = bytearray(b'y') * (60 << 20); del x; x = bytearray(b'x') * (20 << 20); time.sleep(0.5); "
                "ctypes.CDLL(None).exit(0)")
        said = self.summary("/usr/bin/python3", "-I", "-c", code, options=("--set", "price=lean")).stderr
        found = re.search(r"peak memory  ([\d.]+) MiB[^\0]*\n  at the end   [\d.]+ MiB live \(([\d,]+) B\); ([\d.]+) MiB resident 0\.\d+ s before\n"
                          r" {15}HAKMEM keeps [\d.]+ \w+ free: caches \S+ \w+, dirty \S+ \w+, holes \S+ \w+; and metadata \S+ \w+\n", said)
        assert found is not None, said
        peak, live, resident = (float(text.replace(",", "")) for text in found.groups())
        self.assertTrue(20 << 20 <= live < 21 << 20, said)
        self.assertTrue(20 < resident < 50, said)
        self.assertGreater(peak, 60, said)

    def test_live_bytes_are_exact(self) -> None:
        """Beside what the library says to the program itself, before and after a block more."""
        code = "import ctypes, os, sys; libc = ctypes.CDLL(None); libc.malloc.restype = ctypes.c_void_p; libc.malloc({}); libc.exit(0)"
        none, more = (
            int(re.findall(r"live \(([\d,]+) B\)", self.summary("/usr/bin/python3", "-I", "-c", code.format(size)).stderr)[0]
                .replace(",", "")) for size in (10 << 20, 20 << 20))
        self.assertLess(abs(more - none - (10 << 20)), 1 << 16)

    def test_an_end_that_is_not_told(self) -> None:
        for end in ("os._exit(0)", "os.kill(os.getpid(), 9)"):
            said = self.summary("/usr/bin/python3", "-c", f"import os, time; time.sleep(0.3); {end}").stderr
            self.assertRegex(said, r"at the end   live not known: .* did not end by exit; [\d.]+ MiB resident 0\.\d+ s before\n")

    def test_an_exit_inside_malloc(self) -> None:
        """A handler's: the end is not told, and the program ends as it would."""
        for _ in range(3):
            ended = self.summary(program("exits_in_malloc"))
            self.assertEqual(ended.returncode, 7, ended.stderr)
            self.assertRegex(ended.stderr, "at the end   (live not known|.* live)")

    def test_the_end_of_a_sandbox(self) -> None:
        """It may end the process for opening a file."""
        openat, kill = 257 if os.uname().machine == "x86_64" else 56, 0x80000000
        code = (
            "import ctypes, struct; libc = ctypes.CDLL(None)\n"
            f"rows = (0x20, 0, 0, 0), (0x15, 0, 1, {openat}), (6, 0, 0, {kill}), (6, 0, 0, 0x7FFF0000)\n"
            "lines = ctypes.create_string_buffer(b''.join(struct.pack('=HBBI', *row) for row in rows))\n"
            "libc.prctl(38, 1, 0, 0, 0); libc.prctl(22, 2, struct.pack('@HP', 4, ctypes.addressof(lines))); libc.exit(7)"
        )
        ended = self.summary("/usr/bin/python3", "-c", code)
        self.assertEqual(ended.returncode, 7, ended.stderr)
        self.assertRegex(ended.stderr, r"at the end   [\d.]+ \w+ live")

    def test_the_end_of_a_strict_sandbox(self) -> None:
        """It ends the process for each call but exit_group and write."""
        ended = self.summary(program("strict"))
        self.assertEqual(ended.returncode, 7, ended.stderr)
        self.assertRegex(ended.stderr, r"at the end   [\d.]+ \w+ live")

    def test_a_childs_end_is_not_its_parents(self) -> None:
        code = (
            "import ctypes, os; libc = ctypes.CDLL(None)\n"
            "if {}() == 0: x = bytearray(40 << 20); libc.exit(0)\n"
            "os.wait(); libc.exit(0) if {} else os._exit(0)"
        )
        for fork, tells, found in (("os.fork", True, r"[\d.]+ KiB live"), ("libc._Fork", False, "live not known")):
            said = self.summary("/usr/bin/python3", "-c", code.format(fork, tells)).stderr
            self.assertRegex(said, f"at the end   {found}")

    def test_it_is_watched_by_a_thread_that_is_left(self) -> None:
        code = (
            "import ctypes, threading, time\n"
            "def stay(): x = bytearray(40 << 20); time.sleep(0.6); ctypes.CDLL(None).exit(0)\n"
            "threading.Thread(target=stay).start(); ctypes.CDLL(None).pthread_exit(None)"
        )
        said = self.summary("/usr/bin/python3", "-c", code).stderr
        self.assertRegex(said, r"[45]\d\.\d MiB resident 0\.\d+ s before")

    def test_what_is_seen_is_the_program(self) -> None:
        """Not the child before it executed the program: that is a small part of it. On a crowded machine the loader takes a
        part of 20 ms, and has little resident as well."""
        for _ in range(10):
            found = re.search(r"([\d.]+) (\w+) resident 0", self.summary("sleep", "0.1").stderr)
            assert found is not None
            self.assertTrue(found[2] == "MiB" or float(found[1]) > 500, found[0])

    def test_of_some_programs_the_largest_is_told(self) -> None:
        script = "perl -e '$x = q(x) x (40 << 20)'; /usr/bin/python3 -c 1"
        said = self.summary("sh", "-c", script).stderr
        self.assertRegex(said, r"at the end   4\d\.\d MiB live \([\d,]+ B\) in perl\n")

    def test_who_else_serves_is_named(self) -> None:
        said = self.summary(program("own_malloc")).stderr
        self.assertIn("not by HAKMEM: malloc or free of tools_own_malloc is in", said)

    def test_killed(self) -> None:
        ended = self.summary("sh", "-c", "kill -KILL $$")
        self.assertEqual(ended.returncode, -signal.SIGKILL)
        self.assertIn("sh was killed by SIGKILL\n", ended.stderr)
        self.assertIn("served       by HAKMEM", ended.stderr)

    def test_signals_are_passed_on(self) -> None:
        for number, name in ((signal.SIGTERM, "TERM"), (signal.SIGINT, "INT"), (signal.SIGUSR1, "USR1")):
            with self.subTest(name=name):
                script = f"trap 'echo got {name}; exit 9' {name}; echo ready; for n in $(seq 2000); do sleep 0.05; done"
                process = started("sh", "-c", script, options=("--stats",), start_new_session=True)
                self.addCleanup(end_groups, process, [process.pid])
                assert process.stdout is not None
                self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(number)
                output, _ = process.communicate(timeout=PATIENCE_SECONDS)
                self.assertEqual((output, process.returncode), (f"got {name}\n", 9))

    def test_a_caller_that_ignores_the_ends_of_children(self) -> None:
        """As bash passes it on; dash does not."""
        grep = ["/bin/grep", "grep", "-hs", "^SigIgn", "/proc/self/status", "/none"]
        command = [str(BUILD / "hak_attend"), "-s", str(BUILD / "libhakmem.so"), *grep]
        ended = subprocess.run(
            command, env=clean_environment(TMPDIR=str(self.folder)), capture_output=True, text=True, check=False,
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        )
        self.assertEqual(ended.returncode, 2)
        self.assertTrue(int(ended.stdout.split()[1], 16) >> (signal.SIGCHLD - 1) & 1, ended.stdout)

    def test_before_linux_5_9_no_process_stays(self) -> None:
        """It would have the output open, too, whose end is waited for here."""
        command = [str(BUILD / "hak_attend"), "-s", str(BUILD / "libhakmem.so"), "/bin/true", "true"]
        ended = subprocess.run(
            command, env=clean_environment(TMPDIR=str(self.folder)), capture_output=True, check=False,
            preexec_fn=without_close_range, timeout=PATIENCE_SECONDS,
        )
        self.assertEqual(ended.returncode, 0)

    def test_the_program_ends_with_its_parent(self) -> None:
        process = started("sh", "-c", "echo $$; exec sleep 60", options=("--stats",))
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
        process.communicate()
        for _ in range(PATIENCE_SECONDS * 100):
            if not Path(f"/proc/{child}").exists():
                return
            time.sleep(0.01)
        self.fail("it still runs")


class Shells(Scratch):
    def test_path(self) -> None:
        self.assertEqual(hakmem("path", *AT_BUILD).stdout, f"{self.places.so_file}\n")
        others = {"secure": "libhakmem-secure.so", "static": "libhakmem.a", "override": "libhakmem-override.a", "dl": "libhakmem-dl.so"}
        for flavour, name in others.items():
            found = hakmem("path", *AT_BUILD, "--flavour", flavour)
            self.assertEqual(Path(found.stdout.strip()).name, name, found.stderr)

    def test_wrong_use(self) -> None:
        flavours = (("path", "--flavour", "x"), ("path", "x"), ("path", "--build", "/no"))
        for wrong in (*flavours, ("env", "--shell", "csh"), ("env", "x")):
            ended = hakmem(*wrong)
            self.assert_one_line(ended.stderr)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))

    def test_lines_are_evaluated_as_they_are_meant(self) -> None:
        """The odd name is nothing that can be preloaded: only the words are looked at."""
        odd = "it's/\"a\"/$HOME/\\b/`c`.so"
        for shell in ("sh", "bash", "zsh", "fish"):
            if shutil.which(shell) is None:
                continue
            with self.subTest(shell=shell):
                lines = hakmem(
                    "env", *AT_BUILD, "--shell", shell, "--set", "counters_file=/nowhere/a b'c\\", LD_PRELOAD=odd
                ).stdout
                show = "command env | grep -E '^(LD_PRELOAD|HAKMEM_COUNTERS_FILE)='"
                ended = subprocess.run(
                    [shell, "-c", f"{lines}{show}"], env=clean_environment(), capture_output=True, text=True, check=False
                )
                wanted = {f"LD_PRELOAD={self.places.so_file} {odd}", "HAKMEM_COUNTERS_FILE=/nowhere/a b'c\\"}
                self.assertEqual(set(ended.stdout.splitlines()), wanted)

    def test_the_default_is_the_users_shell(self) -> None:
        self.assertTrue(hakmem("env", *AT_BUILD, SHELL="/usr/bin/fish").stdout.startswith("set -gx LD_PRELOAD "))
        self.assertTrue(hakmem("env", *AT_BUILD, SHELL="/bin/tcsh").stdout.startswith("export LD_PRELOAD="))

    def test_evaluated_twice_it_comes_once(self) -> None:
        once = hakmem("env", *AT_BUILD).stdout
        self.assertEqual(hakmem("env", *AT_BUILD, LD_PRELOAD=str(self.places.so_file)).stdout, once)

    def test_forwarding_libraries_are_no_business_of_it(self) -> None:
        other = str(preloadable("forward"))
        self.assertIn(other, hakmem("env", *AT_BUILD, LD_PRELOAD=other).stdout)


if __name__ == "__main__":
    unittest.main()
