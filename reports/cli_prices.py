"""The verbs on prices: import a vendor's quote into an overlay of one's own, and pin a scenario to one state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reports.cli_options import Catalogs, Json, Quiet, opened
from reports.terminal import as_json_text, table


def add_prices(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A quote: .csv or .xlsx.", show_default=False)],
    mapping: Annotated[
        Path | None, typer.Option("--mapping", metavar="FILE.yaml", help="What foreign headers and names mean.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Overlay that the prices are appended to.")] = Path(
        "my-prices"
    ),
    write: Annotated[bool, typer.Option("--write", help="Write; without, only the preview.")] = False,
    as_of: Annotated[str, typer.Option("--as-of", metavar="YYYY-MM-DD", help="Refuse a quote that ended before.")] = "",
    catalog: Catalogs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Import a vendor's quote into an overlay for --catalog; shows first what each line was read as."""
    from reports.pricebook import overlay, preview

    rows = overlay.import_quote(file, mapping, opened(catalog), as_of)
    written = overlay.write(rows, out, catalog or ()) if write else []
    if as_json:
        print(as_json_text(preview.as_data(rows, [str(path) for path in written])))
    elif not quiet:
        print("\n".join([*preview.head(rows), "", table(preview.records(rows)), "", *preview.tail(rows)]).rstrip())
        print(f"\nwritten into {out}; use it with --catalog {out}" if write else "\nnothing is written; add --write")


def pin(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file.", show_default=False)],
    catalog: Catalogs = None,
    as_json: Json = False,
) -> None:
    """Print the lines that pin a scenario to today's price book, up to the scenario's day."""
    from reports.pricebook.pin import state
    from reports.scenario.read import read_scenario

    book = opened(catalog)
    found = state(book, read_scenario(scenario, book).as_of)
    if as_json:
        print(as_json_text({"as_of": found.as_of.isoformat(), "sha256": found.sha256, "rows": found.rows}))
        return
    rows = ", ".join(f"{name}: {count}" for name, count in found.rows.items())
    print(f"prices:\n  pin:\n    as_of: {found.as_of}\n    sha256: {found.sha256}\n    rows: {{{rows}}}")
