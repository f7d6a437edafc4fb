# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem exec --watch`: a process that keeps what cannot be had afterwards; and those that lack it name this very line."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import unittest

from asked import LIBRARY, PYTHON
from support import BUILD, COMMAND, Scratch, clean_environment, end, hakmem, line_of

from test_streams import can_mount

from hakmem.reading.start_line import start_line
from hakmem.watching.top_sites import last_profile, sites_section

HELD = "kept = [bytes(30000) for _ in range(500)]; gone = [bytes(30000) for _ in range(900)]; del gone; print('ready', flush=True); input()"
FEW_WORDS = ("sh", "-c", "echo ready; read line")


class Begun(Scratch):
    def begun(self, *words: str, **more: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            words, cwd=self.folder, env=clean_environment(**more), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(end, process)
        self.assertEqual(line_of(process), "ready")
        return process

    def watched(self, *options: str, code: str = HELD) -> subprocess.Popen[str]:
        return self.begun(str(COMMAND), "exec", "--build", str(BUILD), *options, "--", PYTHON, "-c", code, PYTHONMALLOC="malloc")


class Watched(Begun):
    def test_blocks_from_before_and_the_peak(self) -> None:
        """Of a number, without a signal; it is the program itself, and prints nothing."""
        process = self.watched("--watch")
        pid = str(process.pid)
        self.assertEqual(os.readlink(f"/proc/{pid}/exe"), os.path.realpath(PYTHON))
        self.assertEqual([file.name for file in self.folder.iterdir()], [f"python3.watch.{pid}"])
        said = hakmem("profile", pid)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertRegex(said.stdout, r"^≈ 1[2-9]\.\d MiB \([\d.]+ to [\d.]+ MiB\) in use in ")
        self.assertRegex(hakmem("profile", "--peak", pid).stdout, r"^[≈ ]*4\d\.\d MiB.* at the peak in ")
        page = self.folder / "page.html"
        self.assertEqual(hakmem("report", pid, "--seconds", "0.1", "-o", str(page)).stderr, "")
        self.assertRegex(page.read_text(), r'"peak_space":4\d{7}')
        last = last_profile(process.pid)
        last.look()
        assert last.thread is not None
        last.thread.join()
        section = sites_section(last, process.pid)
        assert section is not None
        self.assertRegex(str(section.rows[0][0]), r"^≈ 1\d\.\d$")
        process.kill()
        self.assertEqual(process.communicate(), ("", ""))
        self.assertRegex(hakmem("profile", str(self.folder / f"python3.watch.{pid}")).stdout, "of a process that was killed")

    def test_a_file_that_is_told(self) -> None:
        process = self.watched(f"--watch={self.folder / 'here'}", code=f"import os; os.chdir('/'); {HELD}")
        self.assertTrue((self.folder / f"here.{process.pid}").is_file())
        self.assertEqual(hakmem("profile", str(process.pid)).returncode, 0)

    @unittest.skipUnless(can_mount(), "no root of its own may be made here")
    def test_one_in_a_chroot(self) -> None:
        """The kernel says its files from the root outside; its table is found, and its functions are named."""
        jail = self.folder / "jail"
        jail.mkdir()
        line = ('mount -t tmpfs none "$0" && cd "$0" && mkdir usr tmp proc && mount -t proc proc proc && mount --bind /usr usr && ln -s usr/lib lib && '
                'ln -s usr/lib64 lib64 && cp "$1" lib.so && cp -L /usr/bin/python3 program && shift && exec chroot . /usr/bin/env "$@"')
        words = ("unshare", "-m", "sh", "-c", line, str(jail), str(BUILD / "libhakmem.so"), "LD_PRELOAD=/lib.so", "PYTHONMALLOC=malloc",
                 "HAKMEM_PROFILE_TABLE=/tmp/t", "HAKMEM_PROFILE_BYTES=64K", "/program", "-c", HELD)
        process = self.begun(*words)
        said = hakmem("profile", "--peak", str(process.pid), "--rows", "0")
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertRegex(said.stdout, r"^[≈ ]*4\d\.\d MiB.* at the peak in ")
        self.assertRegex(said.stdout, r" _?Py[A-Z]\w+ *\n|Py_BytesMain")
        self.assertEqual(start_line(process.pid).split()[:5], ["hakmem", "exec", "--watch", "--", "/program"])

    def test_wrong_use(self) -> None:
        for options, said in (
            (("--watch", "--profile"), "--watch or --profile, one of them"),
            ((f"--watch={self.folder}",), "a folder; name a file"),
            (("--watch=/proc/none/x",), "/proc/none: a profile cannot be written there"),
            ((f"--watch={self.folder / ('x' * 250)}",), "longer than the 255 bytes that a setting's path may have"),
        ):
            self.assertIn(said, self.refused("exec", "--build", str(BUILD), *options, "--", "true"))

    def test_what_lacks_it_names_the_line_that_brings_it(self) -> None:
        """The line is run as it is told."""
        process = self.begun(*FEW_WORDS, LD_PRELOAD=LIBRARY)
        pid, line = str(process.pid), start_line(process.pid)
        self.assertEqual(shlex.split(line), ["hakmem", "exec", "--watch", "--", *FEW_WORDS])
        self.assertEqual(self.refused("profile", "--peak", pid), f"hakmem: process {pid} was started without a profile, so its peak_space is not known: {line}\n")
        self.assertIn(f"(what it has: {line})", self.refused("profile", pid, "--seconds", "0.1"))
        page = self.folder / "page.html"
        self.assertIn(f"(what it has: {line})", hakmem("report", pid, "--seconds", "0.1", "-o", str(page)).stdout)
        self.assertIn("hakmem exec --set profile_file=FILE -- sh -c", page.read_text())
        words = shlex.split(line)
        again = self.begun(str(COMMAND), words[1], "--build", str(BUILD), *words[2:])
        self.assertRegex(hakmem("profile", "--peak", str(again.pid)).stdout, "at the peak")

    def test_the_help_has_it(self) -> None:
        said = hakmem("exec", "--help").stdout
        self.assertRegex(re.sub(r"\s+", " ", said), r"--watch\[=FILE\] It keeps what cannot be had afterwards")


if __name__ == "__main__":
    unittest.main()
