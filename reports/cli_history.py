"""The verbs on earlier runs: what changed between two, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reports.cli_options import Json, Quiet
from reports.errors import InputError, Problem
from reports.terminal import as_json_text, progress_bar

Folder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, such as out/2026-11/NAME.",
                                        show_default=False)]  # fmt: skip


def diff(
    run_a: Folder,
    run_b: Folder,
    xlsx: Annotated[Path | None, typer.Option("--xlsx", metavar="FILE", help="Write it as a sheet too.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """What changed from run A to run B: decision, cards, money, and causes that add up exactly."""
    from reports.history import text
    from reports.history.attribute import difference
    from reports.history.past import read_past

    if xlsx is not None and (xlsx.suffix != ".xlsx" or xlsx.is_dir() or not xlsx.absolute().parent.is_dir()):
        raise InputError(Problem("--xlsx", "cannot be written", read=str(xlsx),
                                 expected="a file that ends in .xlsx, in a folder that exists"))  # fmt: skip
    with progress_bar("diff", quiet or as_json) as progress:
        progress("runs")
        problems: list[Problem] = []
        runs = []
        for folder in (run_a, run_b):
            try:
                runs.append(read_past(folder))
            except InputError as error:
                problems += error.problems
        if problems:
            raise InputError(problems)
        found = difference(runs[0], runs[1], progress)
    if xlsx is not None:
        from reports.render.difference_book import write

        write(found, xlsx)
    if as_json:
        print(as_json_text(text.record(found)))
    elif not quiet:
        print("\n".join(text.lines(found)))
