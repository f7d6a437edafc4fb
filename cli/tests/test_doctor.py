# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem doctor`: real programs and the real system, and fakes only where there is no real thing to be had."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import pty
import resource
import shutil
import struct
import subprocess
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from support import BUILD, COMMAND, Scratch, clean_environment, hakmem, preloadable, program

from hakmem.doctor.groups import limits

AT_BUILD = ("--build", str(BUILD))
FOR_GLIBC = ("--library", str(BUILD / "libhakmem.so"))  # also where a library for musl was built
SERVED, CHANGES, UNSERVED = 0, 1, 2


class Doctored(Scratch):
    status: int

    def findings(
        self, *command: str, before: Optional[Callable[[], object]] = None, **more: str
    ) -> dict[str, dict[str, str]]:
        """By what they are about; the last of several."""
        ended = subprocess.run(
            [COMMAND, "doctor", *AT_BUILD, "--json", *command], env=clean_environment(**more), preexec_fn=before,
            capture_output=True, text=True, check=False,
        )
        self.assertEqual(ended.stderr, "")
        self.status = ended.returncode
        told: dict[str, Any] = json.loads(ended.stdout)
        self.assertEqual(told["status"], ended.returncode)
        return {each["about"]: each for each in told["findings"]}

    def compiled(self, name: str, text: str, *options: str) -> str:
        file = self.folder / f"{name}.c"
        file.write_text(text)
        subprocess.run(["cc", "-o", str(self.folder / name), str(file), *options], check=True)
        return str(self.folder / name)

    def unserved(self, command: str, about: str, text: str, *options: str) -> None:
        found = self.findings(*options, command)[about]
        self.assertEqual((found["state"], self.status), ("not served", UNSERVED))
        self.assertIn(text, found["found"])


class Programs(Doctored):
    def test_python(self) -> None:
        found = self.findings("/usr/bin/python3")
        self.assertEqual({each["state"] for each in found.values()} & {"not served"}, set())
        self.assertIn("CPython's own pools", found["PYTHONMALLOC"]["found"])
        self.assertNotIn("PYTHONMALLOC", self.findings("/usr/bin/python3", PYTHONMALLOC="malloc"))
        self.assertEqual(found["dynamic linker"]["state"], "ok")

    @unittest.skipIf(shutil.which("redis-server") is None, "no redis-server")
    def test_redis_asks_jemalloc_of_memory_that_it_does_not_have(self) -> None:
        found = self.findings("redis-server", "--port", "0")
        self.assertEqual((found["stray mallctl"]["state"], self.status), ("change", CHANGES))
        self.assertIn("redis-server calls mallctl", found["stray mallctl"]["found"])
        self.assertIn("jemalloc", found["other allocators"]["found"])

    def test_scripts(self) -> None:
        for first, loaded in (("#!/bin/sh", "/"), ("#!/usr/bin/env perl", "perl"), ("#!/usr/bin/env -S perl -w", "perl")):
            script = self.folder / "script"
            script.write_text(f"{first}\n")
            script.chmod(0o755)
            with self.subTest(first=first):
                found = self.findings(str(script))
                self.assertIn(loaded, found["program"]["found"])
                self.assertIn(f"{script} is run by ", found["script"]["found"])

    def test_static(self) -> None:
        static = self.compiled("static", "int main(void) { return 0; }", "-static")
        self.unserved(static, "program", "linked statically")

    def test_own_malloc(self) -> None:
        self.unserved(program("own_malloc"), "own malloc", "defines malloc, free")

    def test_an_allocator_under_another_name(self) -> None:
        text = "#include <stdlib.h>\n{} void *je_malloc(size_t n) {{ return malloc(n); }}\n"
        text += "int main(void) {{ return !je_malloc(1); }}"
        for kind, options in (("", ()), ("static", ("-O0",)), ("", ("-rdynamic",))):
            with self.subTest(kind=kind, options=options):
                command = self.compiled("renamed", text.format(kind), *options)
                self.unserved(command, "built-in allocator", "jemalloc (je_malloc)")

    def test_one_that_has_only_its_messages_left(self) -> None:
        text = '#include <stdio.h>\nint main(void) { return puts("<jemalloc>: out of it") < 0; }'
        self.unserved(self.compiled("stripped", text, "-s"), "built-in allocator", "jemalloc (<jemalloc>)")

    def test_sanitizers(self) -> None:
        text = "#include <stdlib.h>\nint main(void) { void *volatile p = malloc(9); free(p); return 0; }"
        for kind, who in (("address", "AddressSanitizer"), ("thread", "ThreadSanitizer"), ("leak", "LeakSanitizer")):
            with self.subTest(kind=kind):
                self.unserved(self.compiled("sane", text, f"-fsanitize={kind}"), "sanitizer", f"is built with {who}")
        self.unserved(self.compiled("sane", text, "-fsanitize=address", "-static-libasan"), "sanitizer", "AddressSanitizer")
        self.assertNotIn("sanitizer", self.findings(self.compiled("sane", text, "-fsanitize=undefined")))
        library = self.compiled("libsane.so", text.replace("main", "sane"), "-shared", "-fPIC", "-fsanitize=address")
        needs = self.compiled("needs", "int main(void) { return 0; }", f"-Wl,--no-as-needed,-rpath,{self.folder}", library)
        self.unserved(needs, "sanitizer", "a library of needs is built with AddressSanitizer")

    def test_musl_under_any_name(self) -> None:
        """By the name of its dynamic linker, else by what that says."""
        linker = self.program_of(b"... musl libc (x86_64) ...")
        found = self.compiled("musl", "int main(void) { return 0; }", f"-Wl,--dynamic-linker={linker}")
        self.unserved(found, "program", "is linked with musl", *FOR_GLIBC)
        self.assertNotIn("missing", json.dumps(self.findings(*FOR_GLIBC, found)))

    def test_go(self) -> None:
        text = 'const char mark[] = "\\xff Go buildinf:"; int main(void) { return mark[1] == 0; }'
        for options, about in ((("-static",), "program"), ((), "built-in allocator")):
            with self.subTest(options=options):
                command = self.compiled("gone", text, *options)
                self.unserved(command, about, "is a Go program")
                self.assertNotIn("override", json.dumps(self.findings(command)))

    def test_hakmem_of_its_own(self) -> None:
        by_name = "void *hak_malloc(unsigned long); int main(void) { return hak_malloc(9) == 0; }"
        by_malloc = "#include <stdlib.h>\nint main(void) { void *volatile p = malloc(9); return p == 0; }"
        for text, flavour, means in ((by_name, "libhakmem.a", "by a libhakmem.so"), (by_malloc, "libhakmem-override.a", "also without")):
            for options in ((), ("-s",), *((("-static",),) if text is by_malloc else ())):
                with self.subTest(flavour=flavour, options=options):
                    found = self.findings(self.compiled("own", text, *options, str(BUILD / flavour), "-lpthread"))
                    self.assertEqual((found["own HAKMEM"]["state"], self.status), ("ok", SERVED))
                    self.assertIn(means, found["own HAKMEM"]["means"])

    def test_static_without_a_malloc(self) -> None:
        text = "void _start(void) { __asm__ volatile(\"mov $60, %eax; xor %edi, %edi; syscall\"); }"
        for options, said in (((), "has no malloc"), (("-s",), "has no malloc of glibc's")):
            self.unserved(self.compiled("bare", text, "-static", "-nostdlib", *options), "program", said)

    def test_by_a_relative_path(self) -> None:
        self.compiled("here", "int main(void) { return 0; }")
        before = lambda: os.chdir(self.folder)  # noqa: E731
        self.assertEqual(self.findings("./here", before=before)["dynamic linker"]["state"], "ok")
        (self.folder / "text").write_text("echo it\n")
        (self.folder / "text").chmod(0o755)
        found = self.findings("./text", before=before)
        self.assertEqual((found["script"]["state"], found["dynamic linker"]["state"]), ("note", "ok"))

    def test_another_machine_and_libc(self) -> None:
        data = bytearray(Path(program("calls")).read_bytes())
        data[18:20] = struct.pack("=H", 183)
        self.unserved(self.program_of(data), "program", "another kind of machine (AArch64, 64-bit)")
        self.unserved(program("calls"), "program", "libhakmem.so for AArch64", "--library", self.library_of(data))
        linker, musl = b"/lib64/ld-linux-x86-64.so.2", b"/lib/ld-musl-x86_64.so.1"
        data = Path(program("calls")).read_bytes().replace(linker, musl.ljust(len(linker), b"\0"))
        self.unserved(self.program_of(data), "program", "linked with musl", *FOR_GLIBC)

    def test_this_machine(self) -> None:
        found = self.findings()["machine"]
        libc = os.confstr("CS_GNU_LIBC_VERSION")
        self.assertEqual(found["found"].split("; ")[1:3], [libc, f"pages of {mmap.PAGESIZE >> 10} KiB"])
        self.assertRegex(found["found"], r"^(x86-64|AArch64), 64-bit; ")

    def library_of(self, data: bytes) -> str:
        file = self.folder / "libhakmem.so"
        file.write_bytes(data)
        return str(file)

    def program_of(self, data: bytes) -> str:
        file = self.folder / "fake"
        file.write_bytes(data)
        file.chmod(0o755)
        return str(file)

    @unittest.skipIf(os.geteuid() != 0, "only root gives files to others")
    def test_setuid(self) -> None:
        copy = self.program_of(Path(program("calls")).read_bytes())
        os.chown(copy, 65534, 65534)
        os.chmod(copy, 0o4755)
        self.unserved(copy, "program", "other privileges")

    def test_what_cannot_be_run(self) -> None:
        for command in ("no-such-command-at-all", "/etc/passwd", "/"):
            self.findings(command)
            self.assertEqual(self.status, UNSERVED)

    def test_a_library_that_is_missing(self) -> None:
        self.compiled("libgone.so", "int gone(void) { return 0; }", "-shared")
        link = f"-Wl,--no-as-needed,-rpath,{self.folder}"
        needs = self.compiled("needs", "int main(void) { return 0; }", link, str(self.folder / "libgone.so"))
        (self.folder / "libgone.so").unlink()
        self.unserved(needs, "dynamic linker", "libgone.so")
        self.assertTrue(self.findings(needs)["dynamic linker"]["change"].startswith(f"install {self.folder}/libgone.so"))

    @unittest.skipIf(shutil.which("redis-server") is None, "no redis-server")
    def test_deepbind(self) -> None:
        self.assertEqual(self.findings("redis-server")["RTLD_DEEPBIND"]["state"], "ok")
        self.assertEqual(self.findings("redis-server", HAKMEM_DEEPBIND="on")["RTLD_DEEPBIND"]["state"], "change")


class Systems(Doctored):
    def test_what_is_asked(self) -> None:
        asked = {"library", "huge pages", "overcommit", "vm.max_map_count", "ulimit -v", "ulimit -d", "ulimit -l",
                 "control group", "/proc", "seccomp"}
        self.assertEqual(asked - set(self.findings()), set())

    def test_huge_pages(self) -> None:
        file = Path("/sys/kernel/mm/transparent_hugepage/enabled")
        if file.exists():
            self.assertIn(f"[{self.findings()['huge pages']['found']}]", file.read_text())

    def test_middle_pages(self) -> None:
        modes = [path.read_text() for path in Path("/sys/kernel/mm/transparent_hugepage").glob("hugepages-*kB/enabled")
                 if "2048" not in path.parent.name]
        found = self.findings()
        self.assertEqual("middle pages" in found, bool(modes))
        if modes and not any("[always]" in mode or "[inherit]" in mode for mode in modes):
            self.assertEqual(found["middle pages"]["state"], "note")

    def test_limits_of_the_user(self) -> None:
        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
            resource.setrlimit(resource.RLIMIT_DATA, (1 << 29, 1 << 29))

        found = self.findings(before=limited)
        self.assertEqual(self.status, CHANGES)
        self.assertIn("1.0 GiB", found["ulimit -v"]["found"])
        self.assertIn("512.0 MiB", found["ulimit -d"]["found"])

    def test_settings_that_have_no_effect(self) -> None:
        found = self.findings(HAKMEM_NONSENSE="1")["settings"]
        self.assertEqual((found["state"], self.status), ("change", CHANGES))
        self.assertIn("HAKMEM_NONSENSE=1", found["found"])

    def test_preloads(self) -> None:
        found = self.findings(LD_PRELOAD="/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")["LD_PRELOAD"]
        self.assertIn("two allocators", found["means"])
        self.assertNotIn("LD_PRELOAD", self.findings(LD_PRELOAD=str(self.places.so_file)))

    def test_a_filter(self) -> None:
        self.assertEqual(self.findings(before=allow_everything_by_a_filter)["seccomp"]["state"], "note")

    def test_a_library_that_is_none(self) -> None:
        found = self.findings("--library", str(preloadable("forward")))["library"]
        self.assertEqual((found["state"], self.status), ("not served", UNSERVED))


def allow_everything_by_a_filter() -> None:
    """SECCOMP_RET_ALLOW for every call."""
    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    program_ = Filter(1, struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program_), 0, 0) == 0


class Groups(Scratch):
    """Both versions, of which a machine has one: made of folders. A real group: lab/tests/bench/test_memory.py."""

    def group(self, name: str, **files: str) -> None:
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (self.folder / name / file.replace("__", ".")).write_text(f"{text}\n")

    def limits(self, own: str, root: str, kind: str) -> list[tuple[str, int, int]]:
        mount = f"31 23 0:28 {root} {self.folder} rw shared:1 - {kind} {kind} rw,memory"
        return [(str(each.file.relative_to(self.folder)), each.bytes, each.used) for each in limits(own, mount)]

    def test_version_2(self) -> None:
        self.group("a/b", memory__max="max", memory__high="1000", memory__current="10")
        self.group("a", memory__max="5000", memory__current="30")
        found = self.limits("0::/a/b", "/", "cgroup2")
        self.assertEqual(found, [("a/b/memory.high", 1000, 10), ("a/memory.max", 5000, 30)])

    def test_version_1_and_a_mount_that_begins_inside(self) -> None:
        names = {"memory__limit_in_bytes": "7000", "memory__usage_in_bytes": "70"}
        self.group("c", **names)
        self.group(".", memory__limit_in_bytes=str((1 << 63) - 4096))
        found = self.limits("4:memory:/docker/ab/c\n1:cpu:/x", "/docker/ab", "cgroup")
        self.assertEqual(found, [("c/memory.limit_in_bytes", 7000, 70)])

    def test_nothing_and_nonsense(self) -> None:
        self.assertEqual(self.limits("", "/", "cgroup2"), [])
        self.assertEqual(list(limits("0::/../x\nnonsense", "nonsense - x\n")), [])
        self.group("a", memory__max="a lot")
        self.assertEqual(self.limits("0::/a", "/", "cgroup2"), [])


class Shown(Doctored):
    def test_plain_lines(self) -> None:
        ended = hakmem("doctor", *AT_BUILD, program("own_malloc"))
        self.assertEqual((ended.returncode, ended.stderr), (UNSERVED, ""))
        *lines, last = ended.stdout.splitlines()
        for line in lines:
            self.assertRegex(line, r"^(ok|note|change|not served): +[^:]+: .+ - .+")
        self.assertEqual(last, f"HAKMEM would not serve {program('own_malloc')}")
        self.assertNotIn("\x1b", ended.stdout)

    def test_a_table_on_a_terminal(self) -> None:
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            environment = clean_environment(TERM="xterm-256color", COLUMNS="100")
            process = subprocess.Popen([COMMAND, "doctor", *AT_BUILD], env=environment, stdout=theirs, stderr=theirs)
            os.close(theirs)
            seen = b""
            while True:
                try:
                    some = terminal.read(4096)
                except OSError:
                    break
                seen += some
            process.wait()
        self.assertIn("─", seen.decode())
        self.assertIn(b"\x1b[32mok", seen)

    def test_wrong_use(self) -> None:
        for wrong in (("--frobnicate",), ("--build", "/no/such"), ("--library", "/no/such")):
            ended = hakmem("doctor", *wrong)
            self.assert_one_line(ended.stderr)
            self.assertEqual(ended.returncode, 2)


if __name__ == "__main__":
    unittest.main()
