"""Options that several verbs of the command line share; loads nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.catalog.records import Catalog

Catalogs = Annotated[
    list[Path] | None, typer.Option("--catalog", metavar="DIR", help="Lay a folder of own facts over the catalogs.")
]
Sets = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change one value of the scenario; logged.")
]
Overrides = Annotated[
    list[str] | None, typer.Option("--override", metavar="NAME", help="Apply one of the scenario's named overrides.")
]
Period = Annotated[str | None, typer.Option("--period", metavar="YYYY-MM", help="Report on another month.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but problems.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, problems included.")]

GOOD, SOME_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def opened(overlays: Sequence[Path] | None) -> Catalog:
    """The shipped catalog under the overlays."""
    from reports.catalog.read import read_catalog

    return read_catalog(tuple(overlays or ()))


def evaluated(
    scenario: Path,
    period: str | None,
    sets: Sequence[str] | None,
    overrides: Sequence[str] | None,
    catalog: Sequence[Path] | None,
    quiet: bool,
) -> Any:
    """The run of a scenario, as far as a report is made of; says on a terminal how far it is."""
    from reports import pipeline
    from reports.scenario.read import read_scenario
    from reports.terminal import progress_bar

    with progress_bar(scenario.stem, quiet) as progress:
        progress("catalogs")
        book = opened(catalog)
        progress("scenario")
        read = read_scenario(scenario, book, sets=sets or (), overrides=overrides or (), period=period)
        progress("matrix")
        return pipeline.evaluate(read, book)
