# SPDX-License-Identifier: MIT OR Apache-2.0
"""bindings/rust says what include/hakmem/*.h and CMake say: names, types, structs, versions, files, flags.

No cargo is needed. Functions are compared as text: hak_free(p: *mut c_void) against void hak_free(void *p).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUST = ROOT / "bindings/rust"
HEADERS = (ROOT / "include/hakmem" / name for name in ("hakmem.h", "experimental.h"))
HEADER = re.sub(r"/\*.*?\*/", "", "".join(path.read_text(encoding="utf-8") for path in HEADERS), flags=re.DOTALL)
SYS = (RUST / "hakmem-sys/src/lib.rs").read_text(encoding="utf-8")
BUILD_RS = (RUST / "hakmem-sys/build.rs").read_text(encoding="utf-8")
TYPES = {
    "void": "", "bool": "bool", "int": "c_int", "unsigned": "c_uint", "size_t": "usize", "uint32_t": "u32",
    "uint64_t": "u64", "char": "c_char", "struct hak_stats": "hak_stats", "struct hak_site_stats": "hak_site_stats",
    "struct hak_utilization": "hak_utilization", "hak_oom_handler": "hak_oom_handler",
}
OF_CMAKE_ONLY = re.compile(r"-ffile-prefix-map=|-fsanitize|-fdiagnostics")


def rust_type(c: str) -> str:
    """As `*mut *const c_char` for `const char **`."""
    base = c.partition("*")[0]
    const = base.startswith("const ")
    name = TYPES[base.removeprefix("const ").strip()] or ("c_void" if "*" in c else "")
    for depth in range(c.count("*")):
        name = f"*{'const' if const and depth == 0 else 'mut'} {name}"
    return name


def c_functions() -> dict[str, str]:
    found = {}
    for result, name, arguments in re.findall(r"^((?:const )?\w+ \**)(hak_\w+)\(([^)]*)\);", HEADER, re.MULTILINE):
        types = [re.fullmatch(r"(.*?[ *])(\w+)", argument.strip()) for argument in arguments.split(",") if argument != "void"]
        listed = ", ".join(f"{match[2]}: {rust_type(match[1].strip())}" for match in types if match)
        found[name] = f"({listed}) {rust_type(result.strip())}".strip()
    return found


def rust_functions() -> dict[str, str]:
    found = re.findall(r"^    pub fn (hak_\w+)(\([^)]*\))(?: -> ([^;]+))?;", SYS, re.MULTILINE)
    return {name: f"{arguments} {result}".strip() for name, arguments, result in found}


def c_fields(struct: str) -> list[tuple[str, str]]:
    body = re.search(rf"struct {struct} \{{(.*?)\}};", HEADER, re.DOTALL)
    declared = re.findall(r"(uint\d+_t) ([\w, ]+);", body[1] if body else "")
    return [(name.strip(), TYPES[kind]) for kind, names in declared for name in names.split(",")]


def rust_fields(struct: str) -> list[tuple[str, str]]:
    body = re.search(rf"pub struct {struct} \{{(.*?)\n\}}", SYS, re.DOTALL)
    return re.findall(r"pub (\w+): (\w+),", body[1] if body else "")


def strings(constant: str) -> list[str]:
    """The strings of an array in build.rs."""
    body = re.search(rf"const {constant}: [^=]*=\s*\[(.*?)\];", BUILD_RS, re.DOTALL)
    return re.findall(r'"([^"]*)"', body[1] if body else "")


def compiled() -> dict[str, list[str]]:
    """What CMake compiles for libhakmem.a: the source below src/, and the words of its command."""
    build = Path(os.environ["HAK_TEST_BUILD"])
    said = subprocess.run(["ninja", "-C", str(build), "-t", "compdb"], capture_output=True, text=True, check=True).stdout
    entries = [entry for entry in json.loads(said) if "/hak_plain_" in entry["output"]]
    return {os.path.relpath(entry["file"], ROOT / "src"): entry["command"].split() for entry in entries}


class Bindings(unittest.TestCase):
    maxDiff = None

    def test_versions(self) -> None:
        version = ".".join(re.findall(r"^#define HAK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", HEADER, re.MULTILINE))
        for crate in ("hakmem-sys", "hakmem"):
            said = re.findall(r'version = "(\d+\.\d+\.\d+)"', (RUST / crate / "Cargo.toml").read_text(encoding="utf-8"))
            self.assertEqual({*said} - {"1.0.83"}, {version}, crate)

    def test_every_function(self) -> None:
        self.assertGreater(len(c_functions()), 20)
        self.assertEqual(rust_functions(), c_functions())

    def test_structs_and_constants(self) -> None:
        for struct in ("hak_stats", "hak_site_stats", "hak_utilization"):
            self.assertEqual(rust_fields(struct), c_fields(struct), struct)
        for name in ("HAK_STATS_VERSION", "HAK_SITE_VERSION", "HAK_SITE_NAME_BYTES"):
            value = re.search(rf"#define {name} (\d+)", HEADER)
            self.assertRegex(SYS, rf"pub const {name}: \w+ = {value[1] if value else None};")

    def test_what_goes_beyond_malloc_has_a_safe_function(self) -> None:
        safe = "".join(path.read_text(encoding="utf-8") for path in (RUST / "hakmem/src").glob("*.rs"))
        missing = [name for name in c_functions() if not re.search(rf"sys::{name}\b", safe)]
        self.assertEqual(missing, ["hak_reallocarray", "hak_memalign", "hak_posix_memalign", "hak_free"])

    def test_the_same_files_are_compiled(self) -> None:
        left_out = {*strings("OVERRIDING"), *strings("MUSL_ONLY"), *strings("SECURE_ONLY")}
        here = {os.path.relpath(path, ROOT / "src") for layer in strings("LAYERS")
                for path in (ROOT / "src" / layer).glob("*.c")}
        self.assertLess(left_out, here)
        self.assertEqual(here - left_out, set(compiled()))

    def test_each_libc_has_its_files(self) -> None:
        names = {os.path.relpath(path, ROOT / "src") for path in (ROOT / "src/os").glob("libc_*.c")}
        self.assertEqual({*strings("MUSL_ONLY"), *strings("GLIBC_ONLY")}, names)

    def test_with_the_flags_that_matter(self) -> None:
        command = compiled()["api/hakmem.c"]
        flags = {word for word in command if word.startswith("-f") and not OF_CMAKE_ONLY.match(word)}
        here = {f"-fno-builtin-{name}" for name in strings("NOT_BUILTIN")} | {*strings("FLAGS"), "-ftls-model=initial-exec",
                "-fno-plt"}  # of x86-64
        self.assertEqual(here, flags)
        for word in ("-std=gnu11", "-O2", "-DHAK_READ_ENVIRONMENT=0", "-DHAK_DEBUG_CHECKS=0", "-DHAK_ELIDE_LOCKS=1",
                     "-DHAK_STATIC_TLS=1"):
            self.assertIn(word, command)


if __name__ == "__main__":
    unittest.main()
