"""Options that several verbs of the command line share; loads nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.catalog.records import Catalog

Catalogs = Annotated[
    list[Path] | None, typer.Option("--catalog", metavar="DIR", help="Lay a folder of own facts over the catalogs.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but problems.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, problems included.")]

GOOD, SOME_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def opened(overlays: Sequence[Path] | None) -> Catalog:
    """The shipped catalog under the overlays."""
    from reports.catalog.read import read_catalog

    return read_catalog(tuple(overlays or ()))
