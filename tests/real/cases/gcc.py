# SPDX-License-Identifier: MIT OR Apache-2.0
"""gcc: a C file compiled at three levels, with debugging information; objects, assembly and program compared."""

from harness.session import Session

LEVELS = {"plain": ("-O0", "-g"), "fast": ("-O2", "-g"), "vector": ("-O3", "-march=x86-64", "-fopenmp-simd")}


def run(session: Session) -> None:
    """Objects, an assembly file, a message of the compiler's, and a linked program that runs."""
    source = str(session.inputs / "tables.c")
    for name, flags in LEVELS.items():
        session.run("gcc", *flags, "-Wall", "-Wextra", "-c", source, "-o", f"{name}.o")
    session.run("gcc", "-O2", "-S", source, "-o", "fast.s")
    session.run("gcc", "-O2", "-fsyntax-only", "-Wall", "-Wextra", "-DWRONG", source, expect=1)
    session.run("gcc", "-g", "plain.o", "-o", "tables")
    session.run("./tables")
    session.result("*.o", "*.s", "tables")
