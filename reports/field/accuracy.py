"""How wrong the roofline was on measured servers: computed here, with groups left out as documented, beside others."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reports.catalog.records import Catalog
from reports.errors import InputError, Problem
from reports.field.predict import predict
from reports.field.reading import load
from reports.field.score import prepare, table
from reports.paths import catalogs_folder

ERRORS = "errors.csv"
ERRORS_COLUMNS = ("metric", "start", "left_out", "n", "median_error_share", "p90_error_share", "fitted_on")
COMPARISON = "comparison.csv"
COMPARISON_COLUMNS = (
    "method", "metric", "row_set", "answered", "asked", "median_error_share", "source", "as_of",
)  # fmt: skip

LEFT_OUT = ("", "model", "gpu", "engine")
"""What a refit did not know: nothing, or one model, card or engine at a time."""

COMPARED = {"tpot_ms": "steady", "ttft_ms": "steady", "output_tok_s": "offline"}
"""Metrics that others were compared on -> how the requests started."""


def measured_errors(catalog: Catalog) -> pd.DataFrame:
    """One line a metric over the shipped rows: n, median_ape, mean_ape, p90_ape, bias, band_80_coverage."""
    return table(prepare(predict(load([], catalog), catalog)), "metric")


def left_out_errors(folder: Path | None = None) -> pd.DataFrame:
    """One line a metric and start: n, fitted_on, and median and 90th percentile with nothing and with a group left
    out (``median_model``, ``p90_model``, …; ``median_`` with nothing). A refit takes minutes, so these are on file."""
    rows = _read(ERRORS, ERRORS_COLUMNS, folder)
    keys = ["metric", "start", "n", "fitted_on"]
    wide = rows.pivot_table(
        index=keys, columns="left_out", values=["median_error_share", "p90_error_share"], sort=False, observed=True
    )
    wide.columns = pd.Index([f"{name.removesuffix('_error_share')}_{out}" for name, out in wide.columns])
    return wide.reset_index()


def comparison(folder: Path | None = None) -> pd.DataFrame:
    """What other methods and public tools reached on the same kind of rows, our own unseen-model figures first."""
    others = _read(COMPARISON, COMPARISON_COLUMNS, folder)
    errors = _read(ERRORS, ERRORS_COLUMNS, folder)
    own = errors[(errors["left_out"] == "model") & (errors["start"] == errors["metric"].map(COMPARED))]
    own = own.rename(columns={"n": "answered", "fitted_on": "as_of"}).assign(
        method="roofline", row_set="shipped", source="measured-fit"
    )
    own = own.assign(asked=own["answered"])
    both = pd.concat([own, others], ignore_index=True)[list(COMPARISON_COLUMNS)]
    order = {metric: index for index, metric in enumerate(COMPARED)}
    return both.sort_values("metric", key=lambda names: names.map(order), kind="stable").reset_index(drop=True)


def _read(name: str, columns: tuple[str, ...], folder: Path | None) -> pd.DataFrame:
    path = (folder or catalogs_folder()) / "measured" / name
    rows = pd.read_csv(path, keep_default_na=False, na_values={each: [""] for each in ("n", "answered", "asked")})
    if tuple(rows.columns) != columns:
        raise InputError(Problem(f"measured/{name}", "has other columns", read=", ".join(map(str, rows.columns)),
                                 expected=", ".join(columns)))  # fmt: skip
    return rows
