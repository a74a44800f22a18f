"""The verbs on measurements: compare predictions with measured rows, and move coefficients towards own benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reports.cli_options import SOME_FAILED, Catalogs, Json, Quiet, opened
from reports.errors import InputError, Problem
from reports.terminal import as_json_text, print_frame, print_result, progress_bar

if TYPE_CHECKING:
    import pandas as pd

STANDARD_OUTPUT = Path("-")
FORMS = ("text", "csv", "json")

Model = Annotated[str, typer.Option(metavar="NAME", help="Model, where the files do not say.")]
Gpu = Annotated[str, typer.Option(metavar="NAME", help="Card.")]
Cards = Annotated[float | None, typer.Option(metavar="CARDS", help="Cards that share the model.")]
Quantization = Annotated[str, typer.Option(metavar="NAME", help="Weight format.")]
Engine = Annotated[str, typer.Option(metavar="NAME", help="Serving engine.")]
KvCache = Annotated[str, typer.Option(metavar="16bit|fp8", help="Type of the KV cache.")]
Interconnect = Annotated[str, typer.Option(metavar="nvlink|pcie", help="Link between the cards.")]
Concurrency = Annotated[float | None, typer.Option(metavar="REQUESTS", help="Requests of one replica.")]
InputTokens = Annotated[float | None, typer.Option(metavar="TOKENS", help="Mean prompt.")]
OutputTokens = Annotated[float | None, typer.Option(metavar="TOKENS", help="Mean answer.")]


def calibrate(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Benchmark results, logs, our CSV.", show_default=False)
    ],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Overlay to write; without: none.")] = None,
    model: Model = "",
    gpu: Gpu = "",
    tp: Cards = None,
    quantization: Quantization = "",
    engine: Engine = "",
    kv_cache: KvCache = "",
    interconnect: Interconnect = "",
    concurrency: Concurrency = None,
    input_tokens: InputTokens = None,
    output_tokens: OutputTokens = None,
    date: Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="Day of the measurement.")] = "",
    catalog: Catalogs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fit few coefficients to own measurements; write them as an overlay for --catalog."""
    from reports.field import calibration_text, overlay
    from reports.field.calibrate import calibrate as fit_to_files
    from reports.field.match import Given

    given = Given(
        model=model, gpu=gpu, quantization=quantization, engine=engine, tp=tp, concurrency=concurrency,
        input_tokens=input_tokens, output_tokens=output_tokens, kv_cache=kv_cache, interconnect=interconnect,
    )  # fmt: skip
    with progress_bar("calibrate", quiet or as_json) as progress:
        result = fit_to_files(files, opened(catalog), given, date=date, say=progress)
    if not (quiet or as_json):
        print("\n".join(calibration_text.lines(result)))
    written = overlay.write(result, out) if out else ()
    if as_json:
        print(as_json_text(calibration_text.record(result, written)))
    elif written and not quiet:
        print_result(written, ())


def validate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE...]", help="Measured rows, benchmark results, logs; without: the shipped table."),
    ] = None,
    leave_out: Annotated[
        str,
        typer.Option("--leave-out", metavar="model|gpu|engine",
                     help="Refit on the shipped rows and the files without each group, then predict it."),
    ] = "",
    drift: Annotated[
        list[Path] | None,
        typer.Option("--drift", metavar="OVERLAY",
                     help="Compare calibrations, older first; ends with 1 when answers move by more than 10 %."),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option("--rows", metavar="FILE.csv", help="Write every row with its prediction and band; - for stdout."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="text|csv|json", help="csv: every row; json: as --json.")
    ] = "text",
    model: Model = "",
    gpu: Gpu = "",
    tp: Cards = None,
    quantization: Quantization = "",
    engine: Engine = "",
    kv_cache: KvCache = "",
    interconnect: Interconnect = "",
    concurrency: Concurrency = None,
    input_tokens: InputTokens = None,
    output_tokens: OutputTokens = None,
    catalog: Catalogs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Compare predictions with measured rows: errors by metric, source, model, card, engine, precision, batch."""
    form = _form(form, as_json)
    if drift:
        _drift([*drift, *(files or [])], form, quiet)
        return
    from reports.field import own, reading, score
    from reports.field.match import Given

    given = Given(
        model=model, gpu=gpu, quantization=quantization, engine=engine, tp=tp, concurrency=concurrency,
        input_tokens=input_tokens, output_tokens=output_tokens, kv_cache=kv_cache, interconnect=interconnect,
    )  # fmt: skip
    if rows not in (None, STANDARD_OUTPUT) and (rows.is_dir() or not rows.parent.is_dir()):
        expected = "a file in a folder that exists"
        raise InputError(Problem("--rows", "cannot be written", read=str(rows), expected=expected))
    book = opened(catalog)
    with progress_bar("validate", quiet or form != "text") as progress:
        kept, notes = reading.distinct(files or [])
        read = reading.load(kept, book, given, progress)
        progress("predictions")
        found = score.prepare(_predicted(read, bool(kept), book, leave_out), own.known(book))
    _print(found, notes, rows, form, quiet)


def _form(form: str, as_json: bool) -> str:
    from reports.strict_yaml import did_you_mean

    if form not in FORMS:
        raise InputError(Problem("--format", "unknown format", read=f'"{form}"', expected=", ".join(FORMS),
                                 hint=did_you_mean(form, FORMS)))  # fmt: skip
    return "json" if as_json else form


def _predicted(read: pd.DataFrame, own_files: bool, book: Any, leave_out: str) -> pd.DataFrame:
    """Rows with predictions; a group left out is predicted by a fit to all that is known without it."""
    from reports.field import fit, predict, reading

    if leave_out:
        shipped = reading.load([], book) if own_files else None
        return fit.leave_one_out(read, book, leave_out, others=shipped)
    return predict.predict(read, book)


def _print(found: pd.DataFrame, notes: tuple[str, ...], rows: Path | None, form: str, quiet: bool) -> None:
    from reports.field import score
    from reports.writing import write_atomically

    if not found["predicted"].gt(0).any():
        raise InputError([Problem(str(place), reason) for place, reason in score.first_reasons(found)])
    each = score.row_by_row(found)
    if rows is not None and rows != STANDARD_OUTPUT:
        write_atomically(rows, each.to_csv(index=False, lineterminator="\n"))
    if form == "json":
        more = {"row_by_row": each.astype(object).to_dict("records")} if rows == STANDARD_OUTPUT else {}
        print(as_json_text(score.to_json(found) | {"notes": list(notes)} | more))
    elif form == "csv" or rows == STANDARD_OUTPUT:
        print_frame(each, "csv")
    elif not quiet:
        print("\n".join([*notes, score.text(found)]))
        if rows is not None:
            print(f"\n{len(each)} rows one by one in {rows}", file=sys.stderr)


def _drift(overlays: list[Path], form: str, quiet: bool) -> None:
    from reports.field import drift

    compared = drift.compare(overlays)
    if form == "json":
        print(as_json_text(drift.record(compared)))
    elif form == "csv":
        print_frame(compared.answers, "csv")
    elif not quiet:
        print("\n".join(drift.lines(compared)))
    if not compared.within:
        raise typer.Exit(SOME_FAILED)
