# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report of a folder of results: table.md, plots/*.png and *.svg, and report.html, one file that needs no other."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from hakmem.base.atomic_write import write_whole
from hakmem_lab.bench.plots import all_plots, save
from hakmem_lab.bench.results import Results
from hakmem_lab.bench.sheets import Section
from hakmem_lab.bench.style import INK, LINES
from hakmem_lab.bench.tables import HOW, as_markdown, headline, sections

TEMPLATE = Path(__file__).with_name("report.html.jinja")
PLOTS = "plots"


def write_report(folder: Path) -> None:
    results = Results(folder)
    told = sections(results)
    remove_plots(folder / PLOTS)
    save(all_plots(results), folder / PLOTS)
    write_whole(folder / "table.md", as_markdown(told))
    write_whole(folder / "report.html", as_html(results, told, folder / PLOTS))


def remove_plots(folder: Path) -> None:
    """Those of an earlier report of the same folder: the page shows what it finds there."""
    for path in [*folder.glob("*.png"), *folder.glob("*.svg")]:
        path.unlink()


def as_html(results: Results, told: list[Section], plots: Path) -> str:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    drawn = {path.stem: inline(path.read_text(encoding="utf-8")) for path in sorted(plots.glob("*.svg"))}
    return template.render(headline=headline(results), sections=told, plots=drawn, how=HOW) + "\n"


def inline(svg: str) -> Markup:
    """Takes the colours of text and lines from the page, and the width from what holds it."""
    body = svg[svg.index("<svg"):]
    body = re.sub(r'\s(width|height)="[\d.]+pt"', "", body, count=2)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'<g id="[^"]*"', "<g", body)  # every plot has its axes_1, and nothing refers to it
    body = body.replace("fill: #ffffff", "fill: none").replace(INK, "currentColor").replace(LINES, "var(--line)")
    return Markup(body)
