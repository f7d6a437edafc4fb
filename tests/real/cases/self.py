# SPDX-License-Identifier: MIT OR Apache-2.0
"""HAKMEM builds libhakmem.so, not optimised, while preloaded: cmake, ninja, compiler, linker; outputs compared."""

from harness.session import Session

OPTIONS = ("-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_CXX_COMPILER=g++", "-DHAK_BUILD_TESTS=OFF")


def run(session: Session) -> None:
    """Configure, build the library, build again with nothing to do."""
    source = str(session.inputs.parents[2])
    session.run("cmake", "-S", source, "-B", "build", "-G", "Ninja", *OPTIONS)
    session.run("cmake", "--build", "build", "--target", "hakmem", "--", "--quiet", "-j2")
    session.run("cmake", "--build", "build", "--target", "hakmem")
    session.result("build/**/*.o", "build/*.so*")
