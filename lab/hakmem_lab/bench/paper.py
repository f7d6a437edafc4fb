# SPDX-License-Identifier: MIT OR Apache-2.0
"""lab/docs/report, made from its raw figures: every table and figure, by one command, the same bytes every time.

The prose is written by hand in report.md.jinja, which says where they go:

    {{ section("memory") }}             all that report.html has there: tables and figures
    {{ table("Targets") }}              one table, by its title
    {{ figure("overview", "caption") }} one figure, by its name
    {{ table("row @ threads", data="sixteen-cores") }}   from data/sixteen-cores, a further folder of results
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, StrictUndefined, TemplateError

from hakmem.base.atomic_write import write_whole
from hakmem.base.errors import Refusal
from hakmem_lab.bench.plots import Plots, all_plots, save
from hakmem_lab.bench.record import Run
from hakmem_lab.bench.results import Results
from hakmem_lab.bench.sheets import Section, Sheet, markdown
from hakmem_lab.bench.tables import headline, sections

TEMPLATE = "report.md.jinja"
REPORT = "report.md"
DATA, FIGURES = "data", "figures"

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Source:
    """One folder of results; `name` is empty for the main one."""

    name: str
    results: Results

    @cached_property
    def sections(self) -> dict[str, Section]:
        return {section.key: section for section in sections(self.results)}

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        return {sheet.title: sheet for section in self.sections.values() for sheet in section.sheets}

    @cached_property
    def plots(self) -> Plots:
        prefix = f"{self.name}-" if self.name else ""
        return {prefix + name: figure for name, figure in all_plots(self.results).items()}

    def plot_name(self, name: str) -> str:
        return f"{self.name}-{name}" if self.name else name


def write_paper(folder: Path) -> None:
    """Reads FOLDER/data, writes FOLDER/report.md and what it shows of FOLDER/figures/*.svg."""
    template = folder / TEMPLATE
    if not template.is_file():
        raise Refusal(f"{template}: no such file")
    sources = sources_of(folder / DATA)
    text = filled(template, sources)
    write_whole(folder / REPORT, text)
    plots = {name: figure for source in sources.values() for name, figure in source.plots.items()
             if f"]({FIGURES}/{name}.svg)" in text}
    remove_figures(folder / FIGURES, plots)
    save(plots, folder / FIGURES, ["svg"])


def sources_of(data: Path) -> dict[str, Source]:
    further = sorted(path.parent for path in data.glob(f"*/{Run.FILE}"))
    return {"": Source("", Results(data))} | {path.name: Source(path.name, Results(path)) for path in further}


def remove_figures(folder: Path, kept: Mapping[str, Any]) -> None:
    """Those that the report no longer shows."""
    for path in folder.glob("*.svg"):
        if path.stem not in kept:
            path.unlink()


# ---- filling the template ----

def filled(template: Path, sources: dict[str, Source]) -> str:
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    try:
        text = environment.from_string(template.read_text(encoding="utf-8")).render(**words(sources))
    except TemplateError as error:
        raise Refusal(f"{template}: {error}") from None
    return text


def words(sources: dict[str, Source]) -> dict[str, Callable[..., str] | Any]:
    """What a template may say."""
    def source(data: str) -> Source:
        return known(sources, data, "folder of data")

    def table(title: str, data: str = "") -> str:
        return table_text(known(source(data).sheets, title, "table"))

    def figure(name: str, caption: str, data: str = "") -> str:
        return figure_text(source(data), name, caption)

    def section(key: str, data: str = "") -> str:
        return section_text(source(data), known(source(data).sections, key, "section"))

    return {"table": table, "figure": figure, "section": section, "headline": headline(sources[""].results)}


def known(among: Mapping[str, Kind], name: str, what: str) -> Kind:
    if name not in among:
        raise Refusal(f"{TEMPLATE}: no {what} {name!r}, only {', '.join(map(repr, among))}")
    return among[name]


def table_text(sheet: Sheet) -> str:
    return markdown(sheet) + (f"\n{sheet.note}\n" if sheet.note else "")


def figure_text(source: Source, name: str, caption: str) -> str:
    known(source.plots, source.plot_name(name), "figure")
    return f"![{caption}]({FIGURES}/{source.plot_name(name)}.svg)\n"


def section_text(source: Source, section: Section) -> str:
    parts = [section.intro + "\n"] if section.intro else []
    parts += [table_text(sheet) for sheet in section.sheets if not sheet.folded]
    parts += [figure_text(source, name, name.replace("-", ": ", 1)) for name in section.plots
              if source.plot_name(name) in source.plots]
    return "\n".join(parts)
