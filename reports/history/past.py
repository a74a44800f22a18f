"""An earlier run as its folder has it: what it decided, what that costs, and the inputs that it kept."""

from __future__ import annotations

import csv
import json
import math
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.errors import InputError, Problem
from reports.history import store
from reports.manifest import NAME as MANIFEST
from reports.manifest import file_digest
from reports.paths import catalogs_folder
from reports.run import Run
from reports.scenario.read import read_scenario
from reports.scenario.schema import Scenario

SUMMARY = "summary.json"
MOST_INPUT_BYTES = 256 * 2**20
"""Unpacked inputs that are larger are not those of a run."""

Inputs = tuple[Scenario, Catalog]


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


NO_INPUTS = N_("its folder has no inputs.zip: it is from an older version")
CHANGED = N_("its inputs.zip is not the one of its manifest")
UNREADABLE = N_("this version cannot read its inputs: {problem}")


@dataclass(frozen=True)
class Choice:
    """The decision for one service: an option, how it is got, and what it comes to."""

    service: str
    candidate_id: str
    option_id: str
    model: str
    quantization: str
    gpu: str
    interconnect: str
    way: str
    cards: float
    """Cards that are paid for: rented in whole instances, or bought in whole servers."""
    amount: float
    """Money a month, in the currency of the run: the equivalent monthly cost that ranks the options."""
    capex: float = 0.0

    @property
    def combination(self) -> tuple[str, str, str, str]:
        """Service, quantization, gpu, interconnect."""
        return self.service, self.quantization, self.gpu, self.interconnect

    def same_as(self, other: Choice | None) -> bool:
        """Whether both mean the same cards, unit and way; how many, and the money, may differ."""
        return other is not None and (self.candidate_id, self.way) == (other.candidate_id, other.way)


@dataclass(frozen=True)
class Past:
    """One run, from its folder or just evaluated."""

    scenario: str
    period: str
    as_of: str
    currency: str
    choices: Mapping[str, Choice]
    inputs: Inputs | None
    reason: str = ""
    """Why there are no inputs: a message with ``{problem}``."""
    problem: str = ""
    code: str = ""
    """Digest of the code that made it; blank where it is not known."""
    place: str = ""
    demands: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Service -> requests at once and requests per second at the peak that were asked for; NaN where not known."""


def choice_of(row: Mapping[str, Any]) -> Choice:
    """The choice that a row of the short list, or of a stored recommendation, stands for."""
    rented = row["way"] == "rent"
    cards = row.get("rented_cards" if rented else "bought_cards")
    texts = {name: str(row[name]) for name in ("service", "candidate_id", "option_id", "model", "quantization", "gpu",
                                               "interconnect", "way")}  # fmt: skip
    return Choice(
        **texts,
        cards=float(row["cards_needed"] if cards is None else cards),
        amount=float(row["monthly_cost_amount"]),
        capex=0.0 if rented else float(row.get("capex_amount") or 0.0),
    )


def of_run(run: Run, code: str = "") -> Past:
    """A run that was just evaluated."""
    scenario = run.scenario
    chosen = [choice_of({str(key): value for key, value in row.items()}) for row in run.winners().to_dict("records")]
    return Past(scenario.name, scenario.period, scenario.as_of.isoformat(), scenario.currency,
                {each.service: each for each in chosen}, (scenario, run.catalog), code=code)  # fmt: skip


def read_past(folder: str | Path) -> Past:
    """The run in a folder. InputError when it is no run, or its summary cannot be used; missing inputs are a reason."""
    folder = Path(folder)
    expected = "a folder that `gpubook build` wrote, such as out/2026-11/NAME"
    if not folder.is_dir():
        raise InputError(Problem(str(folder), "no such folder", expected=expected))
    if not (folder / SUMMARY).is_file():
        below = sorted(each.parent.relative_to(folder).as_posix() for each in folder.glob(f"*/{SUMMARY}"))
        hint = f"did you mean {folder / below[0]}?" if below else ""
        raise InputError(Problem(str(folder), f"is no run: it has no {SUMMARY}", expected=expected, hint=hint))
    summary = _json(folder / SUMMARY)
    try:
        rows = [choice_of(row) for row in summary["recommendation"]]
        known = {name: str(summary[name]) for name in ("scenario", "period", "as_of", "currency")}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            Problem(str(folder / SUMMARY), "is not the summary of a run, or of a version that is too old",
                    read=f"nothing usable at {error}", hint="build that month again")
        ) from None
    names = ("demand_concurrency", "demand_requests_per_s")
    demands = {str(row["service"]): (_positive(row.get(names[0])), _positive(row.get(names[1])))
               for row in summary["recommendation"]}  # fmt: skip
    manifest = _json(folder / MANIFEST) if (folder / MANIFEST).is_file() else {}
    inputs, reason, problem = _inputs(folder, known["scenario"], manifest)
    code = str((manifest.get("program") or {}).get("code", ""))
    return Past(**known, choices={each.service: each for each in rows}, inputs=inputs, reason=reason, problem=problem,
                code=code, place=str(folder), demands=demands)  # fmt: skip


def _positive(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and value > 0 else math.nan


def _json(path: Path) -> Any:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(Problem(str(path), f"cannot be read: {error}", hint="build that month again")) from None
    if not isinstance(found, dict):
        raise InputError(Problem(str(path), "holds no object", hint="build that month again"))
    return found


def _inputs(folder: Path, name: str, manifest: Mapping[str, Any]) -> tuple[Inputs | None, str, str]:
    """Scenario and catalog that a run kept, or why they cannot be had."""
    path = folder / store.NAME
    if not path.is_file():
        return None, NO_INPUTS, ""
    digests = {each.get("file"): each.get("sha256") for each in manifest.get("outputs", ()) if isinstance(each, dict)}
    if digests.get(store.NAME, "") != file_digest(path):
        return None, CHANGED, ""
    try:
        with tempfile.TemporaryDirectory(prefix="gpubook-") as unpacked:
            return unpack(path, Path(unpacked), name), "", ""
    except InputError as error:
        first = error.problems[0]
        return None, UNREADABLE, f"{first.where}: {first.message}" if first.where else first.message
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        return None, UNREADABLE, str(error)


def unpack(path: Path, folder: Path, name: str) -> Inputs:
    """Scenario ``name`` and catalog of an archive, unpacked into an empty folder."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > MOST_INPUT_BYTES:
            raise ValueError("it is too large")
        for entry in entries:
            place = PurePosixPath(entry.filename)
            if place.is_absolute() or ".." in place.parts or "\\" in entry.filename:
                raise ValueError(f"{entry.filename} leaves its folder")
        archive.extractall(folder)
    _complete(folder / store.CATALOGS)
    catalog = read_catalog(_overlays(folder), folder=folder / store.CATALOGS)
    return read_scenario(folder / store.SCENARIO / f"{name}.yaml", catalog), catalog


def _overlays(folder: Path) -> Iterator[Path]:
    numbered = folder / store.OVERLAYS
    for each in sorted(numbered.iterdir(), key=lambda found: int(found.name)) if numbered.is_dir() else ():
        yield from each.iterdir()


def _complete(catalogs: Path) -> None:
    """Give an earlier catalog the assumptions, with their sources, that only the present program reads.

    What they change is the difference that the program makes.
    """
    for name, key in (("assumptions.csv", 2), ("sources.csv", 1)):
        own, present = _rows(catalogs / name), _rows(catalogs_folder() / name)
        if own[:1] == present[:1]:
            known = {tuple(row[:key]) for row in own}
            own += [row for row in present if tuple(row[:key]) not in known]
            with (catalogs / name).open("w", encoding="utf-8", newline="") as stream:
                csv.writer(stream, lineterminator="\n").writerows(own)


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.reader(stream))
