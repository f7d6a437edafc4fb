# SPDX-License-Identifier: MIT OR Apache-2.0
"""python3: a slice of CPython's own test suite, every object from malloc (PYTHONMALLOC=malloc)."""

from harness.session import Session

SUITES = ("test.test_json", "test.test_dict", "test.test_threading")


def run(session: Session) -> None:
    """The suites in one interpreter, each test's verdict on a line of its own."""
    script = str(session.inputs / "python_suites.py")
    env = {"PYTHONMALLOC": "malloc", "PYTHONDONTWRITEBYTECODE": "1"}
    session.run("/usr/bin/python3", script, *SUITES, env=env)
