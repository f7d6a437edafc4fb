# SPDX-License-Identifier: MIT OR Apache-2.0
"""node: JSON, buffers, typed arrays, compression, hashes, streams, worker threads and a child process."""

from harness.session import Session


def run(session: Session) -> None:
    """The script; it prints checksums."""
    session.run("node", str(session.inputs / "work.js"))
