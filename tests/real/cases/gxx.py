# SPDX-License-Identifier: MIT OR Apache-2.0
"""g++: a template-heavy file; objects with and without optimisation compared, the program linked and run."""

from harness.session import Session


def run(session: Session) -> None:
    """Two objects, one program, one long error message."""
    source = str(session.inputs / "templates.cpp")
    session.run("g++", "-std=c++17", "-O0", "-g", "-c", source, "-o", "plain.o")
    session.run("g++", "-std=c++17", "-O1", "-c", source, "-o", "fast.o")
    session.run("g++", "-std=c++17", "-fsyntax-only", "-DWRONG", source, expect=1)
    session.run("g++", "fast.o", "-o", "templates")
    session.run("./templates")
    session.result("*.o", "templates")
