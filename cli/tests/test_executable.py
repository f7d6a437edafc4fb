# SPDX-License-Identifier: MIT OR Apache-2.0
"""The executable file of a command: found as a shell finds it, or refused with the reason and a shell's status."""

from __future__ import annotations

import os
import random
import shutil
import socket
import unittest
from pathlib import Path
from unittest import mock

from support import Scratch, hakmem_run, program

from hakmem.base.errors import Refusal
from hakmem.process.executable import dynamic_linker, executable_file, first_bytes, further_formats, loaded_file

FOUND, CANNOT, ABSENT = 0, 126, 127
LINKER = b"/lib64/ld-linux-x86-64.so.2"


class Refused(Scratch):
    def refused(self, command: str) -> tuple[str, int]:
        with self.assertRaises(Refusal) as refusal:
            executable_file(command)
        return str(refusal.exception), refusal.exception.status

    def file(self, name: str, content: bytes, mode: int = 0o755) -> str:
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(mode)
        return str(path)

    def check(self, command: str, text: str, status: int) -> None:
        self.assertEqual(self.refused(command), (f"{command}: {text}", status))

    def test_what_is_not_there(self) -> None:
        self.check("no-such-command-at-all", "no such command", ABSENT)
        self.assertEqual(self.refused(""), ("'': no such command", ABSENT))
        self.check(f"{self.folder}/x", "no such file", ABSENT)
        self.check(f"{self.folder}/a/b/x", f"no such file: there is no folder {self.folder}/a", ABSENT)
        plain = self.file("plain", b"x")
        self.check(f"{plain}/x", f"no such file: {plain} is not a folder", ABSENT)

    def test_links(self) -> None:
        link, circle = self.folder / "link", self.folder / "circle"
        link.symlink_to("nowhere")
        circle.symlink_to("circle")
        self.check(str(link), "a link to nowhere, which does not exist", ABSENT)
        self.check(str(circle), "cannot be executed: too many levels of symbolic links", CANNOT)

    def test_what_may_not_be_executed(self) -> None:
        plain = self.file("plain", b"x", 0o644)
        self.check(plain, "cannot be executed: no permission (-rw-r--r--)", CANNOT)
        self.check(str(self.folder), "cannot be executed: it is a folder", CANNOT)
        os.mkfifo(self.folder / "pipe", 0o755)
        self.check(f"{self.folder}/pipe", "cannot be executed: it is not a regular file", CANNOT)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{self.folder}/socket")
            self.check(f"{self.folder}/socket", "cannot be executed: it is not a regular file", CANNOT)
        with mock.patch.dict(os.environ, PATH=str(self.folder)):
            self.check("plain", f"{plain} cannot be executed: no permission (-rw-r--r--)", CANNOT)

    def test_one_in_the_working_folder_is_pointed_at(self) -> None:
        self.file("tool", b"")
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        self.check("tool", "no such command (the one in this folder is ./tool)", ABSENT)

    def test_interpreters_of_scripts(self) -> None:
        cannot = "cannot be executed: its interpreter"
        script = self.file("script", b"#!/no/such/x -e\n")
        self.check(script, f"{cannot} '/no/such/x': no such file: there is no folder /no", ABSENT)
        script = self.file("script", b"#! /bin/sh\r\necho\r\n")
        self.check(script, rf"{cannot} '/bin/sh\r': no such file, as its lines end as on Windows", ABSENT)
        plain = self.file("plain", b"", 0o644)
        script = self.file("script", b"#!" + os.fsencode(plain) + b"\n")
        self.check(script, f"{cannot} '{plain}': no permission (-rw-r--r--)", CANNOT)
        behind = self.file("behind", b"#!" + os.fsencode(self.file("middle", b"#!/no/x\n")) + b"\n")
        self.check(behind, f"{cannot} '/no/x': no such file: there is no folder /no", ABSENT)

    def test_a_dynamic_linker_that_is_missing(self) -> None:
        content = Path(program("calls")).read_bytes()
        self.assertEqual(content.count(LINKER + b"\0"), 1)
        elf = self.file("elf", content.replace(LINKER, LINKER[:-1] + b"9"))
        text = "cannot be executed: its dynamic linker '/lib64/ld-linux-x86-64.so.9': no such file"
        self.check(elf, text, ABSENT)

    def test_wrong_formats(self) -> None:
        """A shell would read them as commands, and so would execvp."""
        if further_formats():
            self.skipTest("the system runs further formats")
        whole = Path(program("calls")).read_bytes()
        of_a_compiler = bytearray(whole)
        of_a_compiler[16] = 1
        for content in (b"\x7fELF", whole[:100], bytes(of_a_compiler), b"\0\1\2", b"MZ\0\0"):
            with self.subTest(content=content[:20]):
                text = "cannot be executed: neither a program nor a script (Exec format error)"
                self.check(self.file("wrong", content), text, CANNOT)

    def test_as_a_user_sees_it(self) -> None:
        ended = hakmem_run(self.file("wrong", b"\x7fELF"))
        self.assert_one_line(ended.stderr)
        self.assertIn(": cannot be executed: neither a program nor a script", ended.stderr)
        self.assertEqual(ended.returncode, CANNOT)

    def test_damaged_programs_never_raise_anything_else(self) -> None:
        whole = Path(program("calls")).read_bytes()[:4096]
        draw = random.Random(9)
        for _ in range(3000):
            damaged = bytearray(whole)
            for _ in range(draw.randint(1, 12)):
                damaged[draw.randrange(16, 800)] = draw.choice((0, 1, 0x7F, 0xFF, draw.randrange(256)))
            length = draw.choice((len(damaged), draw.randrange(16, len(damaged))))
            path = self.file("damaged", bytes(damaged[:length]))
            try:
                executable_file(path)
            except Refusal:
                pass


class Found(Scratch):
    def script(self, first_line: str) -> Path:
        path = self.folder / "script"
        path.write_text(first_line + "\n")
        path.chmod(0o755)
        return path

    def test_as_a_shell_does(self) -> None:
        self.assertEqual(executable_file("sh"), Path(shutil.which("sh") or "").resolve())
        for line in ("echo no first line", "#!/bin/sh -e", "#!\t/bin/sh", "#!", ""):
            with self.subTest(line=line):
                self.assertEqual(executable_file(str(self.script(line))), (self.folder / "script").resolve())

    def test_a_script_is_its_interpreter(self) -> None:
        self.assertEqual(loaded_file(self.script("#! /bin/sh -e")), Path("/bin/sh").resolve())
        self.assertEqual(loaded_file(self.script("#!")), self.folder / "script")

    def test_the_dynamic_linker(self) -> None:
        for name, linker in (("calls", os.fsdecode(LINKER)), ("calls_static", None)):
            path = Path(program(name))
            self.assertEqual(dynamic_linker(path, first_bytes(path, 64)), linker)


if __name__ == "__main__":
    unittest.main()
