# SPDX-License-Identifier: MIT OR Apache-2.0
"""ruby: gems of the standard library, threads with queues, fibers, the collector with compaction, a forked child."""

from harness.session import Session


def run(session: Session) -> None:
    """The script, its warnings on, and Ruby's gem list."""
    session.run("ruby", "-W", str(session.inputs / "work.rb"))
    session.run("gem", "list", "--local")
