# SPDX-License-Identifier: MIT OR Apache-2.0
"""perl: strings, hashes, regular expressions, sorting, closures and a forked child."""

from harness.session import Session


def run(session: Session) -> None:
    """The script; hash order is fixed by the seed."""
    env = {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}
    session.run("perl", "-w", str(session.inputs / "work.pl"), env=env)
    session.result("words.txt")
