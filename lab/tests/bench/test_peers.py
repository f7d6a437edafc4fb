# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which allocators are found, with which version and hash, and what is refused."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
import unittest
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

from hakmem.base.errors import Refusal
from hakmem.process import peers
from hakmem.process.peers import Allocator, find_allocators, who_served_instead

BUILD = Path(os.environ["HAK_BUILD"])
LIBRARY = BUILD / "libhakmem.so"
ALWAYS_THERE = {"hakmem", "glibc", "mimalloc", "jemalloc", "tcmalloc", "tbbmalloc"}
NO_MALLOC = peers.installed_library("libm.so.6") or Path("libm.so.6")


def sixteen_digits(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def proof_of(allocator: Allocator) -> dict[str, str]:
    """What a benchmark program prints about who served it."""
    command = [BUILD / "bench" / "hak_micro", "pair", "--seconds", "0", "--proof"]
    variables = dict(os.environ) | {"LD_PRELOAD": allocator.preload}
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=True)
    return dict(line.split("=", 1) for line in done.stdout.splitlines()[1:])


def by_name(allocators: Iterable[Allocator]) -> dict[str, Allocator]:
    return {allocator.name: allocator for allocator in allocators}


class Finding(unittest.TestCase):
    def test_what_is_installed_has_a_version_and_the_hash_of_its_file(self) -> None:
        found, _ = find_allocators(LIBRARY, [])
        self.assertLessEqual(ALWAYS_THERE, set(by_name(found)))
        for allocator in found:
            with self.subTest(allocator=allocator.name):
                self.assertRegex(allocator.version, r"\d")
                self.assertRegex(allocator.sha256, "^[0-9a-f]{16}$")
                if allocator.so_file:
                    self.assertEqual(allocator.sha256, sixteen_digits(allocator.so_file))

    def test_a_given_library_stays_among_the_chosen(self) -> None:
        given = [f"copy={LIBRARY}"]
        found, _ = find_allocators(LIBRARY, given)
        for names, rest in (("glibc", ["glibc"]), ("hakmem, glibc", ["hakmem", "glibc"]), ("copy", [])):
            self.assertEqual([one.name for one in peers.chosen(found, names, given)], [*rest, "copy"])
        with self.assertRaisesRegex(Refusal, "glibd: not among those found"):
            peers.chosen(found, "glibd", given)

    def test_the_hash_of_glibc_is_that_of_the_libc_in_use(self) -> None:
        mapped = re.search(r"\S+/libc\.so\.6$", Path("/proc/self/maps").read_text(), re.MULTILINE)
        self.assertIsNotNone(mapped)
        self.assertEqual(peers.glibc().sha256, sixteen_digits(Path(mapped[0])))

    def test_all_that_is_found_serves_the_programs_it_is_preloaded_into(self) -> None:
        for allocator in find_allocators(LIBRARY, [])[0]:
            with self.subTest(allocator=allocator.name):
                self.assertIsNone(who_served_instead(allocator, proof_of(allocator)))

    def test_a_built_peer_is_found_with_the_version_noted_beside_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder, self.only_root(folder):
            library = Path(folder) / "build" / "peers" / "librpmalloc.so"
            library.parent.mkdir(parents=True)
            library.write_bytes(b"a library")
            library.with_suffix(".version").write_text("crate 1.2.3\n")
            found, missing = find_allocators(None, [])
            rpmalloc = by_name(found)["rpmalloc"]
            self.assertEqual((str(rpmalloc), rpmalloc.sha256), ("rpmalloc crate 1.2.3", sixteen_digits(library)))
            self.assertIn("snmalloc (make peers)", missing)

    def test_what_is_missing_says_how_to_get_it(self) -> None:
        with (
            tempfile.TemporaryDirectory() as folder, self.only_root(folder),
            patch.object(peers, "installed_library", return_value=None),
            patch.object(peers, "distribution_file", return_value=None),
        ):
            found, missing = find_allocators(None, [])
        self.assertEqual(set(by_name(found)), {"glibc"})
        self.assertEqual(missing, [
            "hakmem (build it with `make`)",
            "mimalloc (pip install cmeel-mimalloc)",
            "jemalloc (apt-get install libjemalloc2)",
            "tcmalloc (apt-get install libtcmalloc-minimal4)",
            "tbbmalloc (apt-get install libtbbmalloc2)",
            "snmalloc (make peers)",
            "rpmalloc (make peers)",
            "google-tcmalloc (make peers)",
        ])

    def only_root(self, folder: str) -> AbstractContextManager[object]:
        return patch.object(peers, "candidate_roots", return_value=[Path(folder)])


class Named(unittest.TestCase):
    def test_a_library_goes_by_its_hash(self) -> None:
        other = by_name(find_allocators(None, [f"other={NO_MALLOC}"])[0])["other"]
        self.assertEqual(other.sha256, sixteen_digits(NO_MALLOC))
        self.assertEqual(other.version, other.sha256[:8])

    def test_no_library_and_a_name_that_no_option_takes_are_refused(self) -> None:
        for text in ("other=/nonsense.so", "other=", "=/nonsense.so", "other", "", "other=/etc/passwd", f"a,b={NO_MALLOC}",
                     f"../x={NO_MALLOC}"):
            with self.subTest(text=text), self.assertRaisesRegex(Refusal, "^--peer .*NAME=FILE"):
                find_allocators(None, [text])

    def test_one_that_is_no_malloc_is_found_out(self) -> None:
        other = peers.named_peer(f"other={NO_MALLOC}")
        self.assertRegex(who_served_instead(other, proof_of(other)) or "", r"/libc\.so\.6$")

    def test_one_that_changes_or_goes_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "other.so"
            library.write_bytes(b"\x7fELF one")
            other = peers.named_peer(f"other={library}")
            self.assertEqual(peers.rebuilt_meanwhile([other, peers.glibc()]), [])
            library.write_bytes(b"two")
            self.assertEqual(peers.rebuilt_meanwhile([other]), ["other"])
            library.unlink()
            self.assertEqual(peers.rebuilt_meanwhile([other]), ["other"])


if __name__ == "__main__":
    unittest.main()
