# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a file or a process calls itself reaches a terminal without what would harm it, from every command that prints it."""

from __future__ import annotations

import io
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from unittest import mock

from rich.console import Group
from rich.table import Table
from rich.text import Text
from support import BUILD, COMMAND, ROOT, Scratch, clean_environment, hakmem, hakmem_run, program
from test_learn import ring
from test_policy import LINES, sealed

from hakmem.base.console import stdout_console
from hakmem.base.exit import printable

sys.path.insert(0, str(ROOT / "tests" / "trace"))
from writer import Trace  # noqa: E402

HARM = "\x1b[31m\x07\x9b2J\u202e"
HARMS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
NAME = f"a{HARM}z"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Harmless(Scratch):
    command = staticmethod(hakmem)

    def harmless(self, *arguments: str, **variables: str) -> str:
        ended = self.command(*arguments, **{"COLUMNS": "200", **variables})
        told = ended.stdout + ended.stderr
        self.assertIsNone(HARMS.search(told), (arguments, told))
        return told

    def file(self, name: str, data: bytes) -> str:
        path = self.folder / name
        path.write_bytes(data)
        return str(path)

    def trace(self, torn: bool = False) -> str:
        trace = Trace()
        process = trace.process(7, [f"/bin/{NAME}", HARM])
        process.modules(f"400000-500000 r-xp 00000000 08:01 77   /nowhere/{NAME}\n")
        thread = process.thread(0)
        for n in range(4):
            thread.allocate(10 * n, block=0x10000, size=70000, site=(0x400010, 2))
            thread.free(10 * n + 5, block=0x10000)
        packed = trace.packed()
        return self.file(f"{NAME}.hakt", packed[:-9] if torn else packed)


class Harm(Harmless):
    def test_traces(self) -> None:
        build = ("--build", str(BUILD))
        for torn in (False, True):
            file = self.trace(torn)
            self.assertIn(r"\x1b[31m", self.harmless("sites", *build, "--trace", file))
            self.harmless("sites", *build, "--by-depth", "--trace", file)
            self.assertIn(r"\x1b[31m", self.harmless("replay", *build, "--rounds", "1", file))

    def test_what_was_learnt(self) -> None:
        maps = f"400000-500000 r-xp 00001000 08:01 77 /nowhere/{NAME}\n\0\0".encode()
        file = self.file("ring.1", ring(7, maps=maps))
        self.assertIn(r"\x1b[31m", self.harmless("decisions", file))
        self.assertIn(r"\x1b[31m", self.harmless("decisions", "--csv", file))
        text = sealed([line.replace("a name", NAME) for line in LINES])
        self.assertIn(r"\x1b[31m", self.harmless("policy", self.file("a.policy", text.encode())))

    def test_names_in_errors(self) -> None:
        missing = str(self.folder / NAME)
        for command in ("sites", "replay", "decisions", "policy", "profile", "report", "exec", "run"):
            with self.subTest(command):
                self.assertIn(r"\x1b[31m", self.harmless(command, missing))
        self.harmless(NAME)

    def test_what_doctor_looks_at(self) -> None:
        """Its argument, a file's name, one of a library that is missing, and what a text asks for on its first line."""
        copy = self.folder / NAME
        copy.write_bytes(Path(program("calls")).read_bytes().replace(b"libc.so.6\0", b"li\x1b[m.so6\0"))
        text = self.folder / f"text{HARM}"
        text.write_text(f"#!/usr/bin/env {NAME}\n")
        for file in (copy, text):
            file.chmod(0o755)
        for words in ((str(self.folder / f"no{HARM}"),), (str(copy),), (str(text),), ("--json", str(copy))):
            told = self.harmless("doctor", "--build", str(BUILD), *words)
            self.assertRegex(told, r"\\x1b|\\u001b", words)
        self.assertIn("li\\x1b[m.so6", self.harmless("doctor", "--build", str(BUILD), str(copy)))

    def test_one_style_of_escapes(self) -> None:
        self.assertEqual(printable("a\n\x1b\x9b\u202e\U000e0001\udcffé\t"), r"a\x0a\x1b\x9b\u202e\U000e0001\xffé\x09")

    def test_what_a_terminal_shows(self) -> None:
        """From commands that draw: everything that a console prints is looked at."""
        for stream in (io.StringIO(), Terminal()):
            with mock.patch.object(sys, "stdout", stream):
                console = stdout_console()
                table = Table(title=Text(NAME))
                table.add_row(Text(NAME))
                for each in (NAME, Text(NAME), table, Group(Text(NAME), table)):
                    console.print(each, markup=False, highlight=False)
            told = re.sub(r"\x1b\[[0-9;]*m(?!\x07)", "", stream.getvalue()) if stream.isatty() else stream.getvalue()
            self.assertIsNone(HARMS.search(told), told)
            self.assertIn(r"\x1b[31m", told)

    def test_programs_that_are_run(self) -> None:
        """Also one that cannot be served, which the proof names."""
        copy = self.folder / NAME
        copy.write_bytes(Path(program("calls_static")).read_bytes())
        copy.chmod(0o755)
        ended = hakmem_run("sh", "-c", f"'{copy}'; ls / >/dev/null")
        self.assertIn(r"\x1b[31m", ended.stderr)
        self.assertIsNone(HARMS.search(ended.stderr), ended.stderr)
        self.harmless("trace", "--build", str(BUILD), "-o", str(self.folder / f"{NAME}.hakt"), "--", "env", f"X={HARM}", "true")


class Endless(Scratch):
    def test_what_is_no_file_is_refused_at_once(self) -> None:
        pipe, bound = self.folder / "pipe", self.folder / "socket"
        socket.socket(socket.AF_UNIX).bind(str(bound))
        os.mkfifo(pipe)
        odd = (pipe, self.folder, bound, Path("/dev/zero"))
        for command, files in (
            (("decisions", "--replay"), (pipe,)), (("profile",), odd), (("report",), odd), (("sites", "--trace"), odd), (("decisions",), odd),
        ):
            for file in files:
                with self.subTest(command=command, file=file):
                    ended = subprocess.run([COMMAND, *command, file], env=clean_environment(), capture_output=True, text=True,
                                           timeout=60, check=False)
                    self.assertIn(ended.returncode, (1, 2))
                    self.assert_one_line(ended.stderr)
