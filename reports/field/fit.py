"""Fits few coefficients to measured rows: least squares on the logarithm of the error, bounded, held near the start."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares

from reports.catalog.records import Catalog
from reports.catalog.select import assumption
from reports.errors import InputError, Problem
from reports.evaluate import run_program
from reports.field.leaves import Columns, gather
from reports.field.predict import BEFORE, outcome, predict, program, run_tests
from reports.field.traps import duplicates
from reports.paths import catalogs_folder

Values = NDArray[np.float64]

INTERVAL_QUANTILE = 1.645
"""Standard deviations either side of a 90 % interval."""

LOSS_SCALE = 0.15
"""Relative error from which on a row counts less than quadratically: traps nobody marked must not pull the fit."""

ROUNDS = 2
"""How often the stages are gone through: the second time each knows what the later ones found."""

RATE_LIKE = ("output_tok_s", "per_gpu_output_tok_s", "total_tok_s", "req_s")


@dataclass(frozen=True)
class Coefficient:
    """One number a fit may move, how far, and how reluctantly (``spread``: log-standard deviation of the prior)."""

    name: str
    low: float
    high: float
    spread: float = 0.25
    stage: str = "step"


COEFFICIENTS: tuple[Coefficient, ...] = (
    Coefficient("eta_weights", 0.5, 1.0, 0.10),
    Coefficient("eta_experts", 0.5, 1.0, 0.05),
    Coefficient("eta_kv", 0.3, 1.0, 0.15),
    Coefficient("kernel_floor_us", 2.0, 12.0, 0.15),
    Coefficient("mfu_prefill", 0.3, 0.9, 0.15),
    Coefficient("mfu_decode", 0.2, 0.9, 0.20, "offline"),
    Coefficient("mfu_moe", 0.3, 1.0, 0.20, "offline"),
    Coefficient("activation_passes", 5.0, 60.0, 0.3),
    Coefficient("host_us_per_sequence", 1.0, 60.0, 0.5),
    Coefficient("engine_time_factor:sglang", 0.4, 2.0, 0.15),
    Coefficient("engine_time_factor:tensorrt-llm", 0.3, 2.0, 0.15),
    Coefficient("engine_time_factor:tensorrt-llm-cpp", 0.2, 1.3, 0.25, "offline"),  # at most what light loads show
    Coefficient("engine_host_factor:tensorrt-llm-cpp", 0.02, 2.0, 0.8, "offline"),
    Coefficient("offline_prefill_factor", 0.3, 1.5, 0.3, "offline"),
    Coefficient("engine_ttft_offset_ms:vllm", 0.5, 300.0, 1.0, "ttft"),
    Coefficient("engine_ttft_offset_ms:sglang", 0.5, 600.0, 0.5, "ttft"),
    Coefficient("engine_ttft_offset_ms:tensorrt-llm", 0.5, 300.0, 1.0, "ttft"),
    Coefficient("ttft_launches", 0.5, 20.0, 0.5, "ttft"),
    Coefficient("ttft_steps", 0.2, 12.0, 0.5, "ttft"),
    Coefficient("ttft_queue_factor", 0.01, 1.0, 0.5, "ttft"),
    Coefficient("run_tail_factor", 0.1, 8.0, 0.7, "run"),
)
"""What may move; everything else is counted, published or stated."""

STAGES: dict[str, tuple[str, ...]] = {
    "step": ("tpot_ms",), "offline": RATE_LIKE, "ttft": ("ttft_ms",), "run": RATE_LIKE,
}  # fmt: skip
"""Which metrics each stage's coefficients are fitted on, one stage after the other."""


@dataclass(frozen=True)
class Fitted:
    """Coefficients with a 90 % interval, and what they were fitted on."""

    values: Mapping[str, float]
    low: Mapping[str, float]
    high: Mapping[str, float]
    start: Mapping[str, float]
    rows: int
    before: float
    after: float
    """Median absolute error with the start's and with the fitted coefficients, over the rows of the fit."""


def start_value(name: str, catalog: Catalog) -> float:
    """The shipped value of a coefficient."""
    fact, _, engine = name.partition(":")
    return catalog.engines[engine].value(fact) if engine else assumption(catalog, fact, "global").mid


@functools.cache
def first_fit() -> Mapping[str, float]:
    """The values a fit to the shipped rows is held near: those of an earlier fit, not its own result."""
    with (catalogs_folder() / "measured" / "prior.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: float(row["value"]) for row in csv.DictReader(file)}


def usable(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows a fit may learn from: complete, for fitting, without a trap."""
    return rows[(rows["problem"] == "") & (rows["use"] == "fit") & (rows["trap"] == "") & rows["value"].gt(0)]


class _Model:
    """Rows gathered once: a trial only replaces the numbers that move and runs the formulas again."""

    def __init__(self, rows: pd.DataFrame, catalog: Catalog) -> None:
        self.rows = rows
        self.engine = rows["engine"].to_numpy()
        self.columns: Columns = gather(rows, catalog)
        self.log_value = np.log(rows["value"].to_numpy(dtype=float))

    def residuals(self, coefficients: Mapping[str, float]) -> Values:
        columns = dict(self.columns)
        for name, value in coefficients.items():
            fact, _, engine = name.partition(":")
            columns[fact] = np.where(self.engine == engine, value, columns[fact]) if engine else value
        with np.errstate(all="ignore"):
            run_program(program(frozenset(columns), BEFORE), columns)
            predicted = outcome(run_tests(columns, self.rows), self.rows)
            found = np.log(predicted) - self.log_value
        return np.nan_to_num(found, nan=0.0, posinf=3.0, neginf=-3.0)


def fit(
    rows: pd.DataFrame,
    catalog: Catalog,
    coefficients: Sequence[Coefficient] = COEFFICIENTS,
    prior: Mapping[str, float] | None = None,
) -> Fitted:
    """Coefficients that predict the rows best, stage by stage, each held near ``prior`` (without: its shipped value).

    ``spread`` of a coefficient is compared with the errors of the rows: two rows hardly move it, two hundred do.
    """
    rows = usable(rows)
    if rows.empty:
        raise InputError(Problem("measured rows", "none can be fitted", expected="complete rows without a trap"))
    shipped = {each.name: start_value(each.name, catalog) for each in coefficients} | {
        name: value for name, value in (prior or {}).items() if name in {each.name for each in coefficients}
    }
    values = dict(shipped)
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    before = _median(rows, catalog, shipped)
    for stage, metrics in [*STAGES.items()] * ROUNDS:
        moving = [each for each in coefficients if each.stage == stage]
        part = rows[rows["metric"].isin(metrics)]
        if stage == "run":
            part = part[part["requests"].notna()]
        if moving and len(part):
            _fit_stage(part, catalog, moving, shipped, values, low, high)
    for name, value in values.items():
        low.setdefault(name, value)
        high.setdefault(name, value)
    return Fitted(values, low, high, shipped, len(rows), before, _median(rows, catalog, values))


def _fit_stage(
    rows: pd.DataFrame, catalog: Catalog, moving: Sequence[Coefficient], shipped: Mapping[str, float],
    values: dict[str, float], low: dict[str, float], high: dict[str, float],
) -> None:  # fmt: skip
    model = _Model(rows, catalog)
    names = [each.name for each in moving]
    centre = np.log([shipped[name] for name in names])
    spread = np.array([each.spread for each in moving])
    floor = np.log([min(each.low, shipped[each.name]) for each in moving])
    ceiling = np.log([max(each.high, shipped[each.name]) for each in moving])
    # rows of one run repeat its circumstances: the prior counts like a few independent runs
    scale = _scale(model.residuals(values))

    def residuals(point: Values) -> Values:
        trial = values | dict(zip(names, np.exp(point), strict=True))
        errors = model.residuals(trial) / scale
        robust = np.sign(errors) * np.sqrt(2 * (np.sqrt(1 + errors**2) - 1))
        return np.concatenate([robust, (point - centre) / spread])

    begin = np.clip(np.log([values[name] for name in names]), floor + 1e-9, ceiling - 1e-9)
    found = least_squares(
        residuals, begin, bounds=(floor - 1e-6, ceiling + 1e-6), max_nfev=25, xtol=1e-4, ftol=1e-4, gtol=1e-4,
        diff_step=1e-3,
    )  # fmt: skip
    values.update(dict(zip(names, (float(value) for value in np.exp(np.clip(found.x, floor, ceiling))), strict=True)))
    deviation = _deviation(found.jac)
    for name, centre_value, width in zip(names, found.x, deviation, strict=True):
        low[name] = float(np.exp(centre_value - INTERVAL_QUANTILE * width))
        high[name] = float(np.exp(centre_value + INTERVAL_QUANTILE * width))


def _scale(residuals: Values) -> float:
    return max(float(np.median(np.abs(residuals))) * 1.4826, LOSS_SCALE / 2)


def _deviation(jacobian: Values) -> Values:
    """Standard deviations of the logarithms, from the curvature at the solution (prior included)."""
    return np.sqrt(np.diag(np.linalg.pinv(jacobian.T @ jacobian)))


def _median(rows: pd.DataFrame, catalog: Catalog, values: Mapping[str, float]) -> float:
    found = predict(rows, catalog, values)
    return float((found["predicted"] / found["value"] - 1).abs().median())


GROUPS = {"model": "model", "gpu": "gpu", "engine": "engine"}

LEFT_OUT_LABEL = {"model": "interpolated", "gpu": "extrapolated", "engine": "extrapolated"}
"""What a row is to a fit that has not seen its group."""

SAME_SHAPE = {"deepseek-r1": "deepseek-v3", "llama-3.3-70b-instruct": "llama-3.1-70b-instruct",
              "meta-llama-3-70b-instruct": "llama-3.1-70b-instruct"}  # fmt: skip
"""Models of one shape are left out together: predicting one from the other would be no test."""


def leave_one_out(
    rows: pd.DataFrame, catalog: Catalog, by: str, coefficients: Sequence[Coefficient] = COEFFICIENTS,
    others: pd.DataFrame | None = None,
) -> pd.DataFrame:  # fmt: skip
    """The rows predicted with coefficients fitted without their own model, card or engine.

    ``others``: more rows to learn from (the shipped table beside own files); those that repeat one of ``rows`` count
    once.
    """
    if by not in GROUPS:
        raise InputError(Problem("--leave-out", f'cannot leave out "{by}"', expected=", ".join(GROUPS)))
    learn = usable(rows)
    if others is not None:
        both = pd.concat([learn, usable(others)], ignore_index=True)
        learn = both[~duplicates(both)]
    shape = SAME_SHAPE if by == "model" else {}
    group, known = (each[GROUPS[by]].replace(shape) for each in (rows, learn))
    parts = [_left_out(rows, learn[known != name], group == name, catalog, coefficients) for name in _names(group)]
    result = pd.concat([predict(rows[group == ""], catalog), *parts]).loc[rows.index]
    result["label"] = LEFT_OUT_LABEL[by]
    return result


def _names(group: pd.Series) -> Iterable[str]:
    return sorted(name for name in group.unique() if name)


def _left_out(
    rows: pd.DataFrame, others: pd.DataFrame, out: pd.Series, catalog: Catalog, coefficients: Sequence[Coefficient]
) -> pd.DataFrame:
    values = fit(others, catalog, coefficients, first_fit()).values if len(others) else None
    return predict(rows[out], catalog, values)
