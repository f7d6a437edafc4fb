# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run of a program, in a folder of its own: what it used, by the launcher, and the proofs of its processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process import launch
from hakmem.process.launch import Figures, OpenStreams
from hakmem.process.proof import read_records
from hakmem_lab.bench.cell import last_line
from hakmem_lab.pareto.configurations import Configuration
from hakmem_lab.pareto.perform import (
    ERRORS,
    OUTPUT,
    PROOF,
    REPORT,
    Context,
    preloads,
    refuse_unless_served,
    run_folder,
    variables_of,
)
from hakmem_lab.pareto.programs import Real, settled
from hakmem_lab.judge.regimes import REGIMES


def measure(context: Context, row: Real, configuration: Configuration, regime: str) -> tuple[Figures, str]:
    """The figures, and a digest of what it wrote. Raises Refusal when it fails, is not served, or takes too long."""
    with run_folder(context, row, 0) as folder:
        environ = variables_of(row, folder, preloads(context, configuration.allocator), configuration.variables)
        REGIMES[regime]()
        figures = run(context, row, folder, environ)
        if figures.status != 0:
            raise Refusal(f"{figures.end}: {last_line(folder / ERRORS)}")
        refuse_unless_served(row, configuration.allocator, read_records(folder / PROOF))
        return figures, sha256((folder / OUTPUT).read_bytes()).hexdigest()


def run(context: Context, row: Real, folder: Path, environ: Mapping[str, str]) -> Figures:
    command = [str(context.places.launcher), str(folder / REPORT), *settled(row, 0, folder).words]
    stdin = folder / row.stdin if row.stdin else Path(os.devnull)
    with stdin.open("rb") as source, (folder / OUTPUT).open("wb") as output, (folder / ERRORS).open("wb") as errors:
        process = launch.start(command, environ, OpenStreams(source, output, errors), folder)
        launch.wait_or_stop(process, context.timeout)
    return launch.checked(row.words[0], launch.parse_figures((folder / REPORT).read_text()))
