# SPDX-License-Identifier: MIT OR Apache-2.0
"""java and javac: threads, maps, streams, compression, direct buffers, exceptions; under four garbage collectors."""

from harness.session import Session

COLLECTORS = ("-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC")
LIMITS = ("-Xmx160m", "-Xms32m")


def run(session: Session) -> None:
    """Compiles the program, runs it under each collector, packs it and runs it from the archive."""
    source = str(session.inputs / "Work.java")
    session.run("javac", "-Xlint:all", "-g", "-d", "classes", source)
    session.run("javac", "-d", "wrong", "-", expect=2)
    for collector in COLLECTORS:
        session.run("java", *LIMITS, collector, "-cp", "classes", "Work")
    session.run("java", *LIMITS, "-XX:+UseZGC", "-cp", "classes", "Work", "small")
    session.run("jar", "--create", "--file=work.jar", "--main-class=Work", "-C", "classes", ".")
    session.run("java", *LIMITS, "-Xint", "-Xshare:off", "-jar", "work.jar", "small")
    session.run("javap", "-c", "-p", "-cp", "classes", "Work")
    session.result("classes/*.class")
