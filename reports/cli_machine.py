"""The verbs on real servers: read one, measure its links and models, and load it with requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reports.cli_options import Catalogs, Json, Overrides, Quiet, Sets, evaluated, opened
from reports.errors import InputError, Problem
from reports.terminal import as_json_text, print_result

if TYPE_CHECKING:
    from reports.catalog.records import Catalog

SCENARIO_ENDINGS = (".yaml", ".yml")


def probe(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE...]", show_default=False,
                       help="What tools printed on the server; a .yaml is the scenario it is compared with."),
    ] = None,
    from_files: Annotated[
        bool, typer.Option("--from", help="Read the FILEs, nothing of this server.")
    ] = False,
    bandwidth: Annotated[
        bool, typer.Option("--bandwidth", help="Read bandwidths from the FILEs; without any, measure them here.")
    ] = False,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="PATH", help="Folder or config.json of a model: its exact bytes.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Overlay to write; without: none.")] = None,
    name: Annotated[str, typer.Option("--name", metavar="ID", help="Id of the host entry.")] = "",
    gpu: Annotated[str, typer.Option("--gpu", metavar="NAME", help="Card, where the files do not say.")] = "",
    interconnect: Annotated[
        str, typer.Option("--interconnect", metavar="nvlink|pcie", help="What an all-reduce ran over.")
    ] = "",
    date: Annotated[str, typer.Option("--date", metavar="YYYY-MM-DD", help="Day of the reading.")] = "",
    catalog: Catalogs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Read what a server really is, with its traps, as a host entry; its bandwidths; the exact bytes of a model."""
    given = list(files or [])
    scenarios = [file for file in given if file.suffix.lower() in SCENARIO_ENDINGS]
    outputs = [file for file in given if file not in scenarios]
    _refuse(scenarios, outputs, from_files, interconnect)
    book = opened(catalog)
    if model is not None:
        _model(model, book, quiet, as_json)
        return
    from reports.probe import traps
    from reports.probe.overlay import Probed, gpu_of, write
    from reports.scenario.read import read_scenario

    machine, measured, day, notes = _read(outputs, from_files, bandwidth)
    scenario = read_scenario(scenarios[0], book) if scenarios else None
    known = _gpu(gpu, book) if gpu else gpu_of(machine, measured, book)
    probed = Probed(machine, traps.traps(machine, book, scenario), measured, known, interconnect)
    written: tuple[Path, ...] = ()
    if out is not None:
        written, more = write(probed, book, out, name, date or day)
        notes += more
    _print_probed(probed, notes, written, quiet, as_json)


def _refuse(scenarios: list[Path], outputs: list[Path], from_files: bool, interconnect: str) -> None:
    problems = []
    if len(scenarios) > 1:
        problems.append(Problem("probe", "is compared with one scenario", read=", ".join(map(str, scenarios))))
    if from_files and not outputs:
        problems.append(Problem("--from", "names no file", expected="what nvidia-smi -q -x or another tool printed"))
    if interconnect not in ("", "nvlink", "pcie"):
        problems.append(Problem("--interconnect", "is unknown", read=interconnect, expected="nvlink or pcie"))
    if problems:
        raise InputError(problems)


def _read(outputs: list[Path], from_files: bool, bandwidth: bool) -> tuple[Any, tuple[Any, ...], str, list[str]]:
    """The server, what was measured on its links, the day, and sentences on what could not be done."""
    from reports.probe import bandwidth as measured
    from reports.probe import detect, live, measure, merge
    from reports.probe.records import Machine

    if not outputs and not from_files:
        readings, visible = live.read()
        machine = merge.machine(readings, visible)
        day = machine.day or live.today()
        if not bandwidth:
            return machine, (), day, []
        torch, reason = measure.torch_with_cards()
        if torch is None:
            return machine, (), day, [f"no bandwidth was measured: {reason}; give files of nccl-tests or nvbandwidth"]
        return machine, measure.transfers(torch), day, []
    problems: list[Problem] = []
    texts: list[Any] = []
    found: list[Any] = []
    for path in outputs:
        try:
            if measured.is_known(detect.whole_text(path)):
                found += measured.read(path)
            else:
                texts += detect.read(path)
        except InputError as error:
            problems += error.problems
    if bandwidth and not found and not problems:
        problems.append(Problem("--bandwidth", "no file holds a bandwidth", read=", ".join(map(str, outputs)),
                                expected=measured.KNOWN))  # fmt: skip
    if problems:
        raise InputError(problems)
    machine = merge.machine(texts) if texts else Machine()
    return machine, tuple(found), machine.day, []


def _gpu(name: str, book: Catalog) -> str:
    from reports.catalog.select import find
    from reports.terminal import known_name

    with known_name("--gpu"):
        return find(book.gpus, name, "gpu")


def _print_probed(probed: Any, notes: list[str], written: tuple[Path, ...], quiet: bool, as_json: bool) -> None:
    from reports.probe import said

    if as_json:
        data = {"gpu": probed.gpu, **said.record(probed.machine, probed.traps),
                "bandwidth": [vars(each) for each in probed.measured], "notes": notes,
                "written": [str(path) for path in written]}  # fmt: skip
        print(as_json_text(data))
    elif not quiet:
        text = said.lines(probed.machine, probed.traps) if probed.machine.cards or not probed.measured else []
        text += said.bandwidth_lines(probed.measured)
        print("\n".join([*text, *(f"note: {note}" for note in notes)]))
        if written:
            print()
            print_result(written, ())


def _model(path: Path, book: Catalog, quiet: bool, as_json: bool) -> None:
    from reports.probe import model_files, model_load

    found = model_files.read(path)
    loaded, reason = model_load.load(path, found)
    if as_json:
        print(as_json_text(model_files.record(found, book) | {"loaded": loaded, "not_loaded": reason}))
    elif not quiet:
        print("\n".join([*model_files.lines(found, book), *model_load.lines(loaded, reason)]))


def loadtest(
    what: Annotated[
        list[str],
        typer.Argument(metavar="SCENARIO CANDIDATE | RESULTS...", show_default=False,
                       help="What is tested; with --read, folders or files that a test wrote."),
    ],
    read: Annotated[bool, typer.Option("--read", help="Judge RESULTS of a test.")] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder to write.")] = None,
    units: Annotated[
        int, typer.Option("--units", metavar="COUNT", min=1, help="Deployment units behind the endpoint.")
    ] = 1,
    statistic: Annotated[
        str, typer.Option("--statistic", metavar="mean|p50|p95|p99", help="Judge by this, not as the targets state.")
    ] = "",
    seed: Annotated[int, typer.Option("--seed", metavar="NUMBER", min=0, help="Draws the lengths of requests.")] = 1,
    sets: Sets = None,
    overrides: Overrides = None,
    catalog: Catalogs = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Write a load test that proves or refutes a recommendation; with --read, judge what it measured."""
    from reports.loadtest import folder, plan, results, verdict

    if read:
        made, steps = results.read([Path(each) for each in what], opened(catalog))
        found = verdict.judge(made, steps)
        written = verdict.write(made, found, steps, out) if out else ()
        if as_json:
            print(as_json_text(verdict.record(found) | {"written": [str(path) for path in written]}))
        elif not quiet:
            print("\n".join(verdict.lines(found)))
            if written:
                print()
                print_result(written, ())
        return
    if len(what) != 2 or out is None:
        problems = []
        if len(what) != 2:
            problems.append(Problem("loadtest", "takes a scenario and a candidate", read=" ".join(what),
                                    expected="SCENARIO CANDIDATE, or --read RESULTS"))  # fmt: skip
        if out is None:
            problems.append(Problem("--out", "is missing", expected="the folder to write the test into"))
        raise InputError(problems)
    folder.refuse_used(out)
    run = evaluated(Path(what[0]), None, sets, overrides, catalog, quiet or as_json)
    made, mixes = plan.make(run, what[1], units=units, seed=seed, statistic=statistic)
    files = folder.write(made, mixes, run.scenario.languages, out)
    if as_json:
        print(as_json_text({"written": [str(path) for path in files], "plan": made}))
    elif not quiet:
        print_result(files, (f"recommended: {made['recommended_concurrency']} requests at once; "
                             f"steps: {', '.join(map(str, made['steps']))}",))  # fmt: skip
