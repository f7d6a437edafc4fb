# SPDX-License-Identifier: MIT OR Apache-2.0
"""The crates as they would be published: packed by cargo, unpacked in a folder that knows nothing of the tree, tested
there, and used by a project as a user would write it; then for other targets, by cross compilers and under an emulator.
`make crates` sets HAK_TEST_CRATES; skipped, in a line, without it, and where there is no cargo that can pack them. HAK_ZIG
is an interpreter with ziglang, for musl on AArch64.

HAKMEM is compiled twice, and once more for each target, some ten seconds of CPU time each; three small crates are
downloaded once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUST = ROOT / "bindings/rust"
CONSUMER = Path(__file__).resolve().parent / "consumer"
NEEDED = (1, 90)  # packs crates that depend on each other
WORKSPACE = """[workspace]
members = ["hakmem-sys", "hakmem-alloc", "consumer"]
resolver = "2"

[patch.crates-io]
hakmem-sys = { path = "hakmem-sys" }
hakmem-alloc = { path = "hakmem-alloc" }
"""
EMULATOR = "qemu-aarch64"
GLIBC_OF_AARCH64 = "/usr/aarch64-linux-gnu"
# target: what it needs besides its rust-std, and the variables that name it. CC_ is found by the cc crate where there is none.
TARGETS = {
    "x86_64-unknown-linux-musl": (["musl-gcc"], {}),
    "aarch64-unknown-linux-gnu": (
        ["aarch64-linux-gnu-gcc", EMULATOR],
        {"LINKER": "aarch64-linux-gnu-gcc", "RUNNER": f"{EMULATOR} -L {GLIBC_OF_AARCH64}"},
    ),
    "aarch64-unknown-linux-musl": ([EMULATOR], {"LINKER": "rust-lld", "RUNNER": EMULATOR}),
}
# cargo's name for a target is not ziglang's, which -target gives
ZIG_CC = """#!/bin/bash
words=()
for word; do [[ $word == --target=* ]] || words+=("$word"); done
exec '{zig}' -m ziglang cc -target aarch64-linux-musl -fno-sanitize=undefined "${{words[@]}}"
"""
ZIG_AR = "#!/bin/sh\nexec '{zig}' -m ziglang ar \"$@\"\n"
OTHERS = ("i686-unknown-linux-gnu", "armv7-unknown-linux-musleabihf", "s390x-unknown-linux-gnu", "riscv64gc-unknown-linux-gnu",
          "x86_64-unknown-freebsd")
LOAD = ("import ctypes, sys; p = ctypes.CDLL(sys.argv[1]); p.boxes_served.restype = ctypes.c_size_t; "
        "p.counts.restype = ctypes.c_bool; print(p.boxes_served(ctypes.c_size_t(1000)), p.counts())")


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], cwd=cwd, env={**os.environ, **variables},
                          capture_output=True, text=True, check=False)


def why_not() -> str:
    """Why there is nothing to test with; empty when there is."""
    if not os.environ.get("HAK_TEST_CRATES"):
        return "rust_crates: skipped; `make crates` runs it: it downloads, and takes a minute and more"
    if not shutil.which("cargo"):
        return "rust_crates: skipped, cargo is not installed"
    said = run("cargo", "--version").stdout
    version = re.match(r"cargo (\d+)\.(\d+)", said)
    if not version or (int(version[1]), int(version[2])) < NEEDED:
        return f"rust_crates: skipped, cargo {NEEDED[0]}.{NEEDED[1]} or newer is needed to pack them; here is {said.strip()}"
    return ""


def unpack(archive: Path, folder: Path) -> None:
    """hakmem-sys-0.1.0.crate becomes folder/hakmem-sys."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder)
    top = folder / archive.name.removesuffix(".crate")
    top.rename(folder / re.sub(r"-[\d.]+$", "", top.name))


class Crates(unittest.TestCase):
    """Tests run in the order of their names; the second and the third leave what they built to the next."""

    @classmethod
    def setUpClass(cls) -> None:
        reason = why_not()
        if reason:
            print(reason)
            raise unittest.SkipTest(reason)
        cls.folder = Path(tempfile.mkdtemp(prefix="hakmem-crates-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.tree = cls.folder / "tree"
        cls.target = cls.tree / "target/debug"
        os.environ["CARGO_TARGET_DIR"] = str(cls.tree / "target")

    def succeeds(self, *command: str | Path, cwd: Path | None = None, **variables: str) -> str:
        done = run(*command, cwd=cwd or self.tree, **variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_1_they_are_packed_with_the_sources(self) -> None:
        self.succeeds("cargo", "package", "--quiet", "--workspace", "--locked", "--no-verify", "--allow-dirty",
                      "--target-dir", self.folder / "packed", cwd=RUST)
        archives = sorted((self.folder / "packed/package").glob("*.crate"))
        self.assertEqual(len(archives), 2)
        for archive in archives:
            unpack(archive, self.tree)
            self.assertLess(archive.stat().st_size, 1 << 20)
        for crate in ("hakmem-sys", "hakmem-alloc"):
            for name in ("README.md", "LICENSE-MIT", "LICENSE-APACHE"):
                self.assertTrue((self.tree / crate / name).is_file(), f"{crate}: {name}")

    def test_2_their_tests_pass(self) -> None:
        shutil.copytree(CONSUMER, self.tree / "consumer")
        shutil.copy(RUST / "Cargo.lock", self.tree)
        (self.tree / "Cargo.toml").write_text(WORKSPACE, encoding="utf-8")
        said = self.succeeds("cargo", "test", "--workspace")
        passed = sum(map(int, re.findall(r"test result: ok\. (\d+) passed", said)))
        self.assertGreater(passed, 25)
        print(f"cargo test: {passed} passed")

    def test_3_a_program_runs_on_it(self) -> None:
        self.succeeds("cargo", "build", "--package", "consumer")
        words = "words 100000, in HAKMEM true, count off\n"
        self.assertEqual(self.succeeds(self.target / "consumer", HAKMEM_COUNT_CALLS="on"), words)
        preloaded = os.environ["HAK_TEST_LIBRARY"]  # two HAKMEMs, one for C and one for Rust
        self.assertEqual(self.succeeds(self.target / "consumer", LD_PRELOAD=preloaded), words)

    def test_4_it_is_fit_for_where_there_is_no_std(self) -> None:
        self.succeeds("cargo", "check", "--package", "hakmem-alloc", "--no-default-features")

    def test_5_a_shared_library_is_loaded_and_reads_the_environment(self) -> None:
        self.succeeds("cargo", "build", "--package", "consumer", "--features", "environment,dlopen,debug-checks")
        said = self.succeeds("/usr/bin/python3", "-c", LOAD, self.target / "libplugin.so", HAKMEM_COUNT_CALLS="on")
        self.assertEqual(said, "1000 True\n")
        self.assertEqual(self.succeeds(self.target / "consumer", HAKMEM_COUNT_CALLS="on"),
                         "words 100000, in HAKMEM true, count on\n")

    def test_6_another_system_is_refused_in_a_line(self) -> None:
        for target in OTHERS:
            done = run("cargo", "check", "--package", "hakmem-sys", "--target", target, cwd=self.tree)
            line = f"hakmem-sys: HAKMEM runs on Linux on x86-64 and AArch64, with glibc or musl, not on {target}\n"
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(line, done.stderr)

    # ---- other targets ----

    def zig(self) -> dict[str, str]:
        """cc and ar for musl on AArch64."""
        variables = {}
        for name, text in (("CC", ZIG_CC), ("AR", ZIG_AR)):
            file = self.folder / f"zig-{name}"
            file.write_text(text.format(zig=os.environ["HAK_ZIG"]), encoding="utf-8")
            file.chmod(0o755)
            variables[f"{name}_aarch64_unknown_linux_musl"] = str(file)
        return variables

    def why_no_target(self, target: str) -> str:
        there = run("rustup", "target", "list", "--installed").stdout.split() if shutil.which("rustup") else []
        missing = [name for name in TARGETS[target][0] if not shutil.which(name)]
        if target not in there:
            return f"its rust-std is not installed: rustup target add {target}"
        if target.startswith("aarch64") and target.endswith("musl") and not os.environ.get("HAK_ZIG"):
            missing.append("ziglang (HAK_ZIG)")
        return f"not installed: {', '.join(missing)}" if missing else ""

    def test_7_other_targets_compiled_and_run(self) -> None:
        for target, (_, named) in TARGETS.items():
            reason = self.why_no_target(target)
            if reason:
                print(f"{target}: skipped, {reason}")
                continue
            cargos = target.upper().replace("-", "_")
            variables = {f"CARGO_TARGET_{cargos}_{name}": value for name, value in named.items()}
            if target == "aarch64-unknown-linux-musl":
                variables |= self.zig()
            with self.subTest(target=target):
                said = self.succeeds("cargo", "test", "--workspace", "--tests", "--target", target, **variables)
                passed = sum(map(int, re.findall(r"test result: ok\. (\d+) passed", said)))
                self.assertGreaterEqual(passed, 12)
                self.assertEqual(self.succeeds("cargo", "run", "--quiet", "--package", "consumer", "--target", target, **variables),
                                 "words 100000, in HAKMEM true, count off\n")
                print(f"{target}: {passed} passed, and a program")


if __name__ == "__main__":
    unittest.main()
