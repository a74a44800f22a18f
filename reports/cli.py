"""The command line: one thin verb each, which parses, calls and prints; nothing is decided here."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from reports import cli_history, cli_machine, cli_measured, cli_prices
from reports.cli_options import (
    BAD_INPUT,
    GOOD,
    INTERRUPTED,
    SOME_FAILED,
    Catalogs,
    Json,
    Overrides,
    Period,
    Quiet,
    Sets,
    evaluated,
    opened,
)
from reports.errors import GpubookError, InputError, Problem
from reports.terminal import (
    as_json_text,
    complain,
    entry_record,
    find_entry,
    foreign_package,
    known_name,
    print_frame,
    print_problems,
    print_records,
    print_result,
    problem_records,
    progress_bar,
)

if TYPE_CHECKING:
    from reports.scenario.schema import Scenario

DEBUG = "--debug"

app = typer.Typer(
    name="gpubook",
    help="Which GPU cards to run language models on, how many, how connected, rent or buy: with the evidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Everywhere: --debug shows the traceback of an error. NO_COLOR is honoured.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
catalog_app = typer.Typer(no_args_is_help=True, help="Look into the catalogs.", rich_markup_mode=None)
app.add_typer(catalog_app, name="catalog")

One = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file.", show_default=False)]


@app.command()
def build(
    context: typer.Context,
    scenarios: Annotated[list[Path], typer.Argument(metavar="SCENARIO...", help="Scenario files.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder that reports are written under.")] = Path(
        "out"
    ),
    period: Period = None,
    sets: Sets = None,
    overrides: Overrides = None,
    catalog: Catalogs = None,
    previous: Annotated[
        str | None, typer.Option("--previous", metavar="DIR|auto", help="Compare with an earlier run, or the latest.")
    ] = None,
    actuals: Annotated[
        Path | None, typer.Option("--actuals", metavar="FILE", help="Show forecasts beside what happened.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Evaluate scenarios and write their workbooks, PDFs, results and manifests."""
    from reports import pipeline
    from reports.scenario.check import refuse_doubles

    refuse_doubles(scenarios)

    options: dict[str, Any] = {
        "sets": sets or (), "overrides": overrides or (), "catalog": catalog or (), "period": period,
        "previous": previous, "actuals": actuals,
    }  # fmt: skip
    done: list[dict[str, Any]] = []
    problems: list[Problem] = []
    failed = 0
    for path in scenarios:
        try:
            with progress_bar(path.stem, quiet or as_json, files=True) as progress:
                result = pipeline.build(path, out=out, progress=progress, **options)
        except InputError as error:
            problems += error.problems
        except Exception as error:  # the other scenarios of the batch are still written
            failed += 1
            _unexpected(error, context.obj == DEBUG, str(path))
        else:
            answer = pipeline.answer(result.run, result.run.scenario.languages[0])
            files = [{"path": str(file), "bytes": file.stat().st_size} for file in result.files]
            done.append({"scenario": str(path), "files": files, "answer": answer})
            if not (quiet or as_json):
                print_result(result.files, answer)
                if pin := result.run.scenario.prices.pin:
                    print(f"prices: pinned to the price book of {pin.as_of} ({pin.sha256[:12]})")
    if as_json:
        print(as_json_text({"built": done, "problems": problem_records(problems)}))
    elif problems:
        print_problems(problems)
    if len(done) < len(scenarios):
        raise typer.Exit(SOME_FAILED if done or failed else BAD_INPUT)


@app.command()
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH...]", help="Scenario files, or folders of them (default: scenarios/)."),
    ] = None,
    sets: Sets = None,
    overrides: Overrides = None,
    catalog: Catalogs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Validate catalogs and scenarios; list every problem with file and line."""
    from reports.catalog.read import read_catalog
    from reports.pricebook.pin import broken_pins
    from reports.scenario.check import check_scenarios, names_read, scenario_files
    from reports.scenario.read import read_scenario

    given = list(paths) if paths else [folder for folder in (Path("scenarios"),) if folder.is_dir()]
    book = read_catalog(tuple(catalog or ()))
    files = scenario_files(given)
    problems = check_scenarios(files, book, sets=sets or (), overrides=overrides or ())

    def read(file: Path) -> Scenario:
        return read_scenario(file, book, sets=sets or (), overrides=overrides or ())

    problems = problems or broken_pins(files, book, read)
    if problems:
        _fail(problems, as_json)
    if as_json:
        print(as_json_text({"scenarios": [str(file) for file in files], "problems": []}))
    elif not quiet:
        for file in files:
            print(f"{file}: good")
            for written, found in names_read(file, book):
                print(f"    {written} read as {found}")
        print(f"catalogs: good ({len(book.gpus)} cards, {len(book.models)} models, {len(book.rental)} rental offers)")


@app.command()
def explain(
    scenario: One,
    candidate: Annotated[str, typer.Argument(metavar="CANDIDATE", help="Id that `gpubook matrix` lists.")],
    period: Period = None,
    sets: Sets = None,
    overrides: Overrides = None,
    catalog: Catalogs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show the evidence of one candidate: capacity, cards and money, each formula with numbers, units and sources."""
    from reports import explain as evidence_of
    from reports.strict_yaml import did_you_mean

    run = evaluated(scenario, period, sets, overrides, catalog, quiet or as_json)
    found = evidence_of.evidence(run, candidate)
    if not found:
        ids = run.candidates["candidate_id"].astype(str)
        raise InputError(
            Problem(
                str(scenario),
                "no such candidate",
                read=f'"{candidate}"',
                expected=f"one of the {len(ids)} ids that `gpubook matrix` lists, such as {ids.iloc[0]}",
                hint=did_you_mean(candidate, ids),
            )
        )
    if as_json:
        print(as_json_text([one.plain() for one in found]))
    elif not quiet:
        print("\n\n".join(evidence_of.as_text(one) for one in found))


@app.command()
def matrix(
    scenario: One,
    form: Annotated[str, typer.Option("--format", metavar="csv|json|parquet", help="What is written.")] = "csv",
    period: Period = None,
    sets: Sets = None,
    overrides: Overrides = None,
    catalog: Catalogs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write every evaluated candidate to standard output, for other tools."""
    from reports.strict_yaml import did_you_mean

    form = "json" if as_json else form
    forms = ("csv", "json", "parquet")
    if form not in forms:
        raise InputError(
            Problem(
                "--format",
                "unknown format",
                read=f'"{form}"',
                expected=", ".join(forms),
                hint=did_you_mean(form, forms),
            )
        )
    if form == "parquet" and sys.stdout.isatty():
        raise InputError(Problem("--format", "parquet is not for a terminal", hint="add > FILE.parquet"))
    from reports.outputs import results_frame

    frame = results_frame(evaluated(scenario, period, sets, overrides, catalog, quiet))
    print_frame(frame, form)


app.command()(cli_measured.calibrate)
app.command()(cli_measured.validate)
app.command()(cli_machine.probe)
app.command()(cli_history.diff)
app.command()(cli_history.actuals)
catalog_app.command("add-prices")(cli_prices.add_prices)
catalog_app.command("pin")(cli_prices.pin)
app.command()(cli_machine.loadtest)


@catalog_app.command("list")
def catalog_list(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help="Such as gpu, model, rental.")] = None,
    catalog: Catalogs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """List the entries or rows of one kind; without a kind, the kinds and how many there are."""
    from reports.catalog.browse import KINDS, list_frame

    book = opened(catalog)
    if kind is None:
        counts = {word: len(getattr(book, table)) for word, table in KINDS.items()}
        print_records([{"kind": word, "entries": count} for word, count in counts.items()], quiet, as_json)
    else:
        with known_name("catalog list"):
            frame = list_frame(book, kind)
        print_records(frame.to_dict("records"), quiet, as_json)


@catalog_app.command("show")
def catalog_show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Id or alias of an entry.", show_default=False)],
    kind: Annotated[str | None, typer.Option("--kind", metavar="KIND", help="If a name is several things.")] = None,
    catalog: Catalogs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show one entry: every fact with its unit, source, date and basis."""
    with known_name("catalog show"):
        entry, facts = find_entry(opened(catalog), name, kind)
    record = entry_record(entry)
    if as_json:
        print(as_json_text({**record, "facts": facts.to_dict("records")}))
    elif not quiet:
        for key, value in record.items():
            print(f"{key}: {value}")
        print()
        print_records(facts.to_dict("records"), quiet, as_json)


def _fail(problems: Sequence[Problem], as_json: bool) -> NoReturn:
    if as_json:
        print(as_json_text({"problems": problem_records(problems)}))
    else:
        print_problems(problems)
    raise typer.Exit(BAD_INPUT)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code and never raises what a user can cause."""
    debug = DEBUG in arguments
    arguments = [argument for argument in arguments if argument != DEBUG]
    foreign = foreign_package()
    if foreign:
        complain(foreign)
        return BAD_INPUT
    try:
        code = app(args=arguments, prog_name="gpubook", standalone_mode=False, obj=DEBUG if debug else None)
        sys.stdout.flush()
        if code == INTERRUPTED:  # typer turns a KeyboardInterrupt into this
            raise KeyboardInterrupt
        return int(code or GOOD)
    except InputError as error:
        try:
            _fail(error.problems, "--json" in arguments)
        except typer.Exit as leave:
            return leave.exit_code
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted; what was written before stands")
        return INTERRUPTED
    except SystemExit as leave:  # typer ends with 1 when the reader of the pipe left; that is no failure
        if type(sys.stdout).__name__ != "PacifyFlushWrapper":
            raise
        return GOOD if leave.code == SOME_FAILED else int(leave.code or GOOD)
    except BrokenPipeError:
        # the reader of the pipe left: what is still buffered goes nowhere, or the interpreter would end with 120
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
    except Exception as error:
        return _unexpected(error, debug)


def _unexpected(error: Exception, debug: bool, about: str = "") -> int:
    show = getattr(error, "show", None)
    if callable(show):  # a usage error: it words itself
        show()
        return int(getattr(error, "exit_code", BAD_INPUT))
    if debug:
        raise error
    where = f"{about}: " if about else ""
    if isinstance(error, GpubookError | OSError):
        complain(f"{where}{error}")
    else:
        complain(f"{where}unexpected {type(error).__name__}: {error} (run again with {DEBUG} for the traceback)")
    return SOME_FAILED


def _end(number: int, frame: object) -> NoReturn:
    complain("ended from outside; what was written before stands")
    sys.exit(128 + number)


def main() -> NoReturn:
    """Entry point of the ``gpubook`` command; a polite end (SIGTERM, SIGHUP) clears drafts like an interruption."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    sys.exit(run_command(sys.argv[1:]))


if __name__ == "__main__":
    main()
