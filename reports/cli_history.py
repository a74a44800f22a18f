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


def actuals(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or XLSX: month, service, load, cards, amount.",
                                         show_default=False)],
    scenario: Annotated[
        list[str] | None, typer.Option("--scenario", metavar="NAME", help="Only this; default: all with a run.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder that the runs are under.")] = Path("out"),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Set what happened beside the forecasts of earlier runs: demand, cards, money, and the error of each."""
    import pandas as pd

    from reports.history.actuals import beside_forecasts, read_actuals
    from reports.history.past import SUMMARY
    from reports.terminal import print_records

    rows = read_actuals(file)
    there = {path.parent.name for path in out.glob(f"20??-??/*/{SUMMARY}")}
    named = set(rows["scenario"]) - {""}
    wanted = scenario or sorted(name for name in there if name in named or "" in set(rows["scenario"]))
    if not wanted:
        raise InputError(Problem(str(file), f"no run under {out} is of its months and scenarios",
                                 expected="runs that `gpubook build` wrote", hint="name the folder with --out"))
    if len(wanted) > 1 and "" in set(rows["scenario"]):
        raise InputError(Problem(str(file), "does not say which scenario its rows are about",
                                 expected="a column scenario, or --scenario NAME", read=", ".join(wanted)))
    parts = [beside_forecasts(rows, name, out, str(file)).assign(scenario=name) for name in wanted]
    found = pd.concat(parts, ignore_index=True)
    if found.empty:
        raise InputError(Problem(str(file), f"no run under {out} is of its months",
                                 read=", ".join(sorted(set(rows["month"]))), hint="build those months first"))
    records = found[["scenario", *found.columns.drop("scenario")]].to_dict("records")
    if as_json:
        print(as_json_text({"actuals": records}))
    elif not quiet:
        print_records(records, quiet, as_json)
