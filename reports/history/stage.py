"""Finds the earlier run that a build is compared with, and puts the difference into the frames of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd

from reports.errors import InputError, Problem
from reports.history.actuals import beside_forecasts, read_actuals
from reports.history.attribute import Difference, difference
from reports.history.past import SUMMARY, Past, of_run, read_past
from reports.manifest import NAME as MANIFEST
from reports.manifest import code_digest, file_digest
from reports.run import Run
from reports.scenario.schema import Scenario

AUTO = "auto"


def find_earlier(asked: str, out: Path, scenario: Scenario) -> Past | None:
    """The run in a folder (or in the folder of this scenario below it); with ``auto`` the latest earlier month's.

    None when there is no earlier month. InputError when a named folder holds no run of this scenario.
    """
    if asked == AUTO:
        found = sorted(
            each.parent for each in out.glob(f"20??-??/{scenario.name}/{SUMMARY}")
            if each.parent.parent.name < scenario.period
        )
        return read_past(found[-1]) if found else None
    folder = Path(asked)
    below = folder / scenario.name
    past = read_past(below if (below / SUMMARY).is_file() else folder)
    if past.scenario != scenario.name:
        raise InputError(Problem(f"--previous {asked}", "is a run of another scenario", read=f'"{past.scenario}"',
                                 expected=f'"{scenario.name}"'))  # fmt: skip
    return past


def what_happened(file: Path, out: Path, scenario: Scenario) -> pd.DataFrame:
    """What a table says of the months up to the scenario's, beside the forecasts of their runs."""
    rows = read_actuals(file)
    return beside_forecasts(rows[rows["month"] <= scenario.period], scenario.name, out, str(file))


def compared(run: Run, earlier: Past | None, say: Callable[[str], None] = lambda step: None) -> Run:
    """The run with its difference from an earlier one; without one, the frames say that there is none."""
    if earlier is None:
        return replace(run, variance_about=_about({"period": ""}))
    return with_difference(run, difference(earlier, of_run(run, code_digest()), say))


def with_difference(run: Run, found: Difference) -> Run:
    """The run with the frames of a difference."""
    before = found.before
    manifest = Path(before.place) / MANIFEST
    about = {
        "period": before.period, "as_of": before.as_of, "exact": found.exact, "reason": before.reason,
        "problem": before.problem, "same_code": bool(before.code) and before.code == found.after.code,
        "manifest_sha256": file_digest(manifest) if before.place and manifest.is_file() else "",
    }  # fmt: skip
    return replace(run, variance=found.causes, variance_services=found.services, variance_about=_about(about))


def _about(values: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame({"key": list(values), "value": pd.Series(list(values.values()), dtype=object)})
