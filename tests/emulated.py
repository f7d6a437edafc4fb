# SPDX-License-Identifier: MIT OR Apache-2.0
"""emulated.py: runs a Python test without the cases that cannot run under qemu-user: emulated.py TEST.py ARGUMENT ...

tests/emulated.txt names them, `Class.test_name` and a reason; they are reported as skipped.
"""

import re
import runpy
import subprocess
import sys
import unittest
from pathlib import Path

QEMU_LINE = re.compile(r"^qemu: uncaught target signal .*\n", re.MULTILINE)
QEMU_LINE_BYTES = re.compile(QEMU_LINE.pattern.encode(), re.MULTILINE)
TABLE = Path(__file__).with_name("emulated.txt")


def rows(text: str) -> list[tuple[re.Pattern[str], str]]:
    """The table: a pattern of whole names, and the reason."""
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(re.compile(pattern), reason) for pattern, reason in lines]


def reason_of(name: str, table: list[tuple[re.Pattern[str], str]]) -> str:
    return next((reason for pattern, reason in table if pattern.fullmatch(name)), "")


def skip_cases(table: list[tuple[re.Pattern[str], str]]) -> None:
    usual = unittest.TestCase.run

    def run(self: unittest.TestCase, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        reason = reason_of(f"{type(self).__name__}.{self._testMethodName}", table)
        if not reason or result is None:
            return usual(self, result)
        result.startTest(self)
        result.addSkip(self, reason)
        result.stopTest(self)
        return result

    unittest.TestCase.run = run  # type: ignore[method-assign]


def without_qemu_line(text: str | bytes | None) -> str | bytes | None:
    """qemu says of a program that a signal ended: so much, on stderr."""
    if isinstance(text, bytes):
        return QEMU_LINE_BYTES.sub(b"", text)
    return QEMU_LINE.sub("", text) if text is not None else None


def hide_qemu_lines() -> None:
    usual = subprocess.Popen.communicate

    def communicate(self, *arguments, **named):  # type: ignore[no-untyped-def]
        out, err = usual(self, *arguments, **named)
        return without_qemu_line(out), without_qemu_line(err)

    subprocess.Popen.communicate = communicate  # type: ignore[method-assign]


def main() -> None:
    hide_qemu_lines()
    skip_cases(rows(TABLE.read_text(encoding="utf-8")))
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
