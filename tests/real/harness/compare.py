# SPDX-License-Identifier: MIT OR Apache-2.0
"""compare: what differs between two runs of a case.

what      Compares the filtered transcripts line by line and the result files byte by byte; every difference is one
          text, made to be read in a test log.
failure   No failure of its own: it reports, runner.py decides.
not here  Filter rules (filters.py).
"""

from __future__ import annotations

import difflib

DIFF_LINES = 20


def text_difference(reference: str, candidate: str, names: tuple[str, str]) -> list[str]:
    """The first lines of a unified diff, or nothing when the texts are equal."""
    if reference == candidate:
        return []
    diff = list(difflib.unified_diff(
        reference.splitlines(), candidate.splitlines(), names[0], names[1], lineterm="", n=2))
    if not diff:
        diff = ["(the texts differ only in the ends of lines)"]
    more = len(diff) - DIFF_LINES
    return diff[:DIFF_LINES] + ([f"... and {more} more lines"] if more > 0 else [])


def first_difference(reference: bytes, candidate: bytes) -> int:
    """Offset of the first byte that differs (or of the shorter one's end)."""
    for offset, (left, right) in enumerate(zip(reference, candidate)):
        if left != right:
            return offset
    return min(len(reference), len(candidate))


def file_difference(name: str, reference: bytes | None, candidate: bytes | None) -> list[str]:
    """One line when a result file differs or is missing on one side."""
    if reference == candidate:
        return []
    if reference is None:
        return [f"file {name}: only in the candidate's run"]
    if candidate is None:
        return [f"file {name}: missing in the candidate's run"]
    offset = first_difference(reference, candidate)
    return [f"file {name}: differs from byte {offset} on ({len(reference)} and {len(candidate)} bytes)"]


def files_difference(reference: dict[str, bytes], candidate: dict[str, bytes]) -> list[str]:
    """All result files that differ."""
    names = sorted(reference.keys() | candidate.keys())
    return [line for name in names for line in file_difference(name, reference.get(name), candidate.get(name))]
