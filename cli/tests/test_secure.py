# SPDX-License-Identifier: MIT OR Apache-2.0
"""`--secure` of exec, run, env and doctor: libhakmem-secure.so serves; what it cannot serve is refused in a line."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import unittest
from pathlib import Path

from support import BUILD, Scratch, hakmem, hakmem_run, program

from hakmem.process.proof import read_records

AT_BUILD = ("--build", str(BUILD))
LIBRARY = BUILD / "libhakmem-secure.so"
TWICE = "int main(void) { char *p = malloc(56), *q = malloc(56); free(p), free(q), free(p); }"
TWO = "--secure or --library, one of them: --library names the file itself"


class Served(Scratch):
    def compiled(self, name: str, text: str, *options: str) -> str:
        (self.folder / "source.c").write_text(f"#include <stdlib.h>\n{text}")
        file = self.folder / name
        subprocess.run(["cc", "-w", "-O1", "-fno-builtin", "-o", file, self.folder / "source.c", *options], check=True)
        return str(file)

    def test_exec_is_served_by_it(self) -> None:
        stem, witness = self.folder / "proof", str(self.places.identity_probe)
        ended = hakmem("exec", *AT_BUILD, "--secure", "--", "sh", "-c", "echo $LD_PRELOAD; true",
                       LD_PRELOAD=witness, HAKPROBE_FILE=str(stem))
        self.assertEqual((ended.stdout, ended.stderr), (f"{LIBRARY} {witness}\n", ""))
        served = [record.owned and record.served_by(LIBRARY) for record in read_records(stem) if "sh" in record.exe]
        self.assertIn(True, served)

    def test_a_double_free_ends_the_program_at_the_call(self) -> None:
        """Without --secure it goes on until a magazine goes back, which names no caller."""
        twice = self.compiled("twice", TWICE)
        ended = hakmem("exec", *AT_BUILD, "--secure", "--", twice)
        self.assertEqual(ended.returncode, -signal.SIGABRT, ended.stderr)
        self.assertRegex(ended.stderr, r"\Ahakmem: double free: pointer 0x[0-9a-f]+, class \d+ B, caller 0x[0-9a-f]+\n\Z")
        self.assertNotIn("caller", hakmem("exec", *AT_BUILD, "--", twice).stderr)

    def test_settings_hold(self) -> None:
        ended = hakmem("exec", *AT_BUILD, "--secure", "--set", "verbose_no=1", "--", "true")
        self.assertEqual(ended.returncode, 2)
        self.assert_one_line(ended.stderr)

    def test_stats(self) -> None:
        ended = hakmem("exec", *AT_BUILD, "--secure", "--stats", "--", "true", TMPDIR=str(self.folder))
        self.assertEqual(ended.returncode, 0)
        self.assertIn("by HAKMEM: malloc and free are HAKMEM's", ended.stderr)

    def test_run(self) -> None:
        ended = hakmem_run("ls", "/", options=("--secure",))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("libhakmem-secure.so", ended.stderr)

    def test_env(self) -> None:
        lines = hakmem("env", *AT_BUILD, "--secure", "--shell", "sh").stdout
        self.assertEqual(lines, f"export LD_PRELOAD={LIBRARY}\n")

    def test_path(self) -> None:
        self.assertEqual(Path(hakmem("path", *AT_BUILD, "--flavour", "secure").stdout.strip()), LIBRARY)

    def test_doctor_names_the_library(self) -> None:
        for options, said in ((("--secure",), f"{LIBRARY} served /bin/true - it is loaded, starts and serves here; "
                               "it ends a program at an error of memory"),
                              ((), "hakmem exec --secure takes libhakmem-secure.so beside it")):
            self.assertIn(said, hakmem("doctor", *AT_BUILD, *options).stdout)


    def test_doctor_names_it_to_each_kind_of_program(self) -> None:
        kinds = (
            ("/bin/true", "dynamic linker: loads libhakmem-secure.so before "),
            (self.compiled("static", "int main(void) { return 0; }", "-static"),
             "libhakmem-secure.so never gets into it -> link it dynamically"),
            (program("own_malloc"), "-> build it without its allocator\n"),
            (self.of_another_machine(), "than libhakmem-secure.so ("),
        )
        for command, said in kinds:
            with self.subTest(said):
                told = hakmem("doctor", *AT_BUILD, "--secure", command).stdout
                self.assertIn(said, told)
                self.assertNotRegex(told, r"libhakmem\.so|libhakmem-override")

    def of_another_machine(self) -> str:
        file = self.folder / "alien"
        head = bytearray(Path("/bin/true").read_bytes())
        struct.pack_into("<H", head, 18, 243)  # RISC-V
        file.write_bytes(head)
        file.chmod(0o755)
        return str(file)


class Refused(Scratch):
    def refused(self, text: str, *words: str) -> None:
        ended = hakmem(*words)
        self.assert_one_line(ended.stderr)
        self.assertIn(text, ended.stderr)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))

    def exec_refused(self, text: str, command: str, *options: str) -> None:
        self.refused(text, "exec", *AT_BUILD, "--secure", *options, "--", command)

    def test_two_libraries(self) -> None:
        for command in ("exec", "run", "env", "doctor"):
            with self.subTest(command):
                self.refused(TWO, command, "--secure", "--library", str(LIBRARY), *(["true"] if command != "env" else []))

    def test_another_hakmem_is_preloaded(self) -> None:
        ended = hakmem("exec", *AT_BUILD, "--secure", "--", "true", LD_PRELOAD=str(self.places.so_file))
        self.assert_one_line(ended.stderr)
        self.assertIn("another HAKMEM", ended.stderr)

    def test_a_folder_without_it(self) -> None:
        for file in filter(Path.is_file, BUILD.iterdir()):
            if "secure" not in file.name:
                (self.folder / file.name).symlink_to(file)
        self.refused("libhakmem-secure.so is missing", "exec", "--build", str(self.folder), "--secure", "true")

    @unittest.skipIf(shutil.which("musl-gcc") is None, "no musl-gcc")
    def test_a_program_of_musl(self) -> None:
        for file in filter(Path.is_file, BUILD.iterdir()):
            (self.folder / file.name).symlink_to(file)
        (self.folder / "source.c").write_text("int main(void) { return 0; }")
        subprocess.run(["musl-gcc", "-o", self.folder / "of_musl", self.folder / "source.c"], check=True)
        self.refused("is linked with musl, and there is no musl/libhakmem-secure.so in or beside",
                     "exec", "--build", str(self.folder), "--secure", str(self.folder / "of_musl"))

    def test_another_machine(self) -> None:
        self.exec_refused("is built for another kind of machine (AArch64, 64-bit)", self.changed(18, struct.pack("<H", 183)))

    def test_static(self) -> None:
        self.exec_refused("linked statically", program("calls_static"))

    @unittest.skipIf(os.geteuid() != 0, "only root gives files to others")
    def test_setuid(self) -> None:
        copy = self.changed()
        os.chown(copy, 65534, 0)
        os.chmod(copy, 0o4755)
        self.exec_refused("other privileges than yours", copy)




if __name__ == "__main__":
    unittest.main()
