"""The options that the measuring commands share, each told once."""

from pathlib import Path
from typing import Annotated, Optional

import typer

Allocators = Annotated[Optional[str], typer.Option(metavar="NAMES", help="Only these, with commas: hakmem,glibc,...")]
Peers = Annotated[Optional[list[str]], typer.Option(metavar="NAME=FILE", help="A further library to measure.")]
Output = Annotated[
    Optional[Path], typer.Option(metavar="FILE", help="Also write a table (.md) or every sample (.csv).")
]
Library = Annotated[Optional[Path], typer.Option(metavar="FILE", help="Another build of libhakmem.so to measure.")]
Build = Annotated[
    Optional[Path], typer.Option(metavar="FOLDER", help="Where libhakmem.so and the programs were built.")
]
