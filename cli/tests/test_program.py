# SPDX-License-Identifier: MIT OR Apache-2.0
"""The program to run, and why one cannot be preloaded."""

from __future__ import annotations

import os
import shutil
import unittest
from pathlib import Path

from support import Scratch, program

from hakmem.base.errors import Refusal
from hakmem.process.preloadable import gains_privileges, why_not_preloadable
from hakmem.process.program import Program, default_program, refuse_unless_preloadable


class Commands(Scratch):
    def test_text(self) -> None:
        self.assertEqual(str(Program(["/bin/echo", "a b"], {"X": "1"})), "X=1 /bin/echo 'a b'")

    def test_default_is_there(self) -> None:
        for path in default_program().argv:
            self.assertTrue(Path(path).is_file(), path)


class Reasons(Scratch):
    def test_dynamic(self) -> None:
        self.assertIsNone(why_not_preloadable(Path(program("calls"))))

    def test_static(self) -> None:
        with self.assertRaisesRegex(Refusal, "linked statically"):
            refuse_unless_preloadable(Program([program("calls_static")]))

    def test_script_of_a_static_interpreter(self) -> None:
        path = self.folder / "script"
        path.write_text(f"#!{program('calls_static')}\n")
        path.chmod(0o755)
        with self.assertRaisesRegex(Refusal, "tools_calls_static is linked statically"):
            refuse_unless_preloadable(Program([str(path)]))

    def test_other_machine(self) -> None:
        for at, value in ((4, 1), (18, 243)):
            with self.subTest(at=at):
                changed = bytearray(Path(program("calls")).read_bytes())
                changed[at] = value
                (self.folder / "other").write_bytes(changed)
                self.assertIn("another kind of machine", why_not_preloadable(self.folder / "other") or "")

    def test_setuid(self) -> None:
        """Of another user, it gains privileges; one's own it does not."""
        own = Path(shutil.copy(program("calls"), self.folder / "own"))
        own.chmod(0o4755)
        self.assertFalse(gains_privileges(own))
        self.assertTrue(gains_privileges(self.foreign_setuid(own)))

    def foreign_setuid(self, own: Path) -> Path:
        if os.geteuid() != 0:
            return Path("/usr/bin/passwd")
        os.chown(own, 65534, 65534)
        own.chmod(0o4755)
        return own


if __name__ == "__main__":
    unittest.main()
