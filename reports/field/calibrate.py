"""Moves few coefficients towards what a user measured: matched rows, physics first, the error before and after."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.catalog.records import Catalog
from reports.errors import InputError, Problem
from reports.field.contradictions import contradictions
from reports.field.fit import COEFFICIENTS, start_value
from reports.field.match import Given, match
from reports.field.measured import MEMORIES, RATES
from reports.field.predict import predict
from reports.field.readers import detect
from reports.field.shrink import NOISE, QUANTILE_90, Movable, Shrunk, shrink

MOVED = (
    "eta_weights", "eta_experts", "kernel_floor_us", "eta_kv", "mfu_prefill", "mfu_decode", "host_us_per_sequence",
)  # fmt: skip
"""Coefficients that belong to a machine and its set-up; the others describe models and methods and stay."""

OFFSET = "engine_ttft_offset_ms"
OVERHEAD = "overhead_base_gib"
OVERHEAD_SPREAD_GIB, OVERHEAD_MOST_GIB = 0.5, 8.0
"""What the runtime and its graphs take on this machine beyond the formula: seen in server logs."""

RELUCTANCE = 1.5
"""The prior is this much wider than the shipped interval: that one is of the average over many machines."""

LEAST_SPREAD, MOST_SPREAD = 0.06, 0.10
"""How far machines differ (log-standard deviation): never less, however well their average is known, never more."""

FARTHEST = 3.0
"""No coefficient goes farther than this factor where the method names no bounds of its own."""

OFFSET_SPREAD_MS, OFFSET_SPREAD_SHARE = 5.0, 0.5
"""The offset of the first token adds: gateways and tokenizers differ by milliseconds, or by half of a large offset."""

FAR = 4.0
"""Slower than predicted by more: not this card, format or engine, or not alone on it."""

SEEN = 0.05
"""A coefficient that changes no prediction by a twentieth of its own change is not visible in the data."""

SLOWER = "slower than predicted: another card, format or engine, or other work beside it"
LESS_ROOM = "less room than predicted: another card, format or --tp"

STEP = 1.1
"""How far a coefficient is moved to see its influence."""

COMPARED = "compared: no coefficient changes the weights"

UNFIT = r"^contradicts|^another|^trap|times slower|times less"
"""Reasons that say a row does not describe this server; their errors are not counted."""


@dataclass(frozen=True)
class Moved:
    """One coefficient: shipped, fitted, its 90 % interval, and how strongly the data depend on it."""

    name: str
    shipped: float
    value: float
    low: float
    high: float
    influence: float
    seen: bool


@dataclass(frozen=True)
class Calibration:
    """Everything a calibration found."""

    rows: pd.DataFrame
    """Matched rows with predicted_before, predicted_after and ``left_out`` ('' for the rows of the fit)."""
    coefficients: tuple[Moved, ...]
    date: str
    files: tuple[Path, ...]

    @property
    def fitted_rows(self) -> int:
        """Rows that the fit learned from."""
        return int((self.rows["left_out"] == "").sum())


def read_rows(paths: Sequence[Path], catalog: Catalog, given: Given | None = None) -> pd.DataFrame:
    """Rows of all files, matched to the catalog."""
    return match(detect.read_all(paths, catalog), catalog, given)


def calibrate(paths: Sequence[Path], catalog: Catalog, given: Given | None = None, *, date: str = "") -> Calibration:
    """Read, match, test against physics, fit. InputError when nothing can be fitted, with what would help."""
    rows = read_rows(paths, catalog, given)
    result = calibrate_rows(rows, catalog)
    return replace(result, date=_date(rows, date), files=tuple(paths))


def calibrate_rows(rows: pd.DataFrame, catalog: Catalog) -> Calibration:
    """Fit the coefficients that the rows can see: those of a step first, then the offset of the first token."""
    with np.errstate(all="ignore"):  # rows without a figure divide by nothing
        return _calibrated(rows.reset_index(drop=True), catalog)


def _calibrated(rows: pd.DataFrame, catalog: Catalog) -> Calibration:
    before = predict(rows, catalog)
    rows["predicted_before"] = before["predicted"]
    rows["left_out"] = _left_out(rows, catalog, before["reason"])
    learn = rows[rows["left_out"] == ""]
    if rows["predicted_before"].isna().all() or not rows["left_out"].isin(("", COMPARED)).any():
        raise InputError(_nothing_to_fit(rows))
    memory = learn["metric"].isin(MEMORIES)
    step = learn[(learn["metric"] != "ttft_ms") & ~memory]
    first = learn[learn["metric"] == "ttft_ms"]
    room, _ = _fit(learn[memory], catalog, overhead_candidates(catalog), NOISE["memory"], {})
    moved, values = _fit(step, catalog, step_candidates(catalog), NOISE["step"], {})
    offsets, _ = _fit(first, catalog, offset_candidates(learn, catalog), NOISE["ttft"], values)
    found = (*moved, *offsets, *room)
    rows["predicted_after"] = predict(rows, catalog, {each.name: each.value for each in found if each.seen})[
        "predicted"
    ]
    return Calibration(rows, found, "", ())


def step_candidates(catalog: Catalog) -> list[Movable]:
    """The coefficients of a step that a calibration may move; the prior is the shipped interval, widened."""
    bounds = {each.name: each for each in COEFFICIENTS}
    found = []
    for name in MOVED:
        row = catalog.assumptions.get((name, "global"))
        if row is None or not row.mid > 0:
            continue
        width = math.log(row.high / row.low) / (2 * QUANTILE_90) if row.low > 0 else MOST_SPREAD
        spread = min(max(RELUCTANCE * width, LEAST_SPREAD), MOST_SPREAD)
        most = 1.0 if row.unit == "ratio" else FARTHEST * row.mid
        least = bounds[name].low if name in bounds else row.mid / FARTHEST
        low, high = min(least, row.mid), max(bounds[name].high if name in bounds else most, row.mid)
        found.append(Movable(name, row.mid, low, high, spread))
    return found


def offset_candidates(rows: pd.DataFrame, catalog: Catalog) -> list[Movable]:
    """The offset of the first token of every engine in the rows."""
    found = []
    for engine in sorted(set(rows["engine"]) - {""}):
        shipped = start_value(f"{OFFSET}:{engine}", catalog)
        spread = max(OFFSET_SPREAD_MS, OFFSET_SPREAD_SHARE * shipped)
        found.append(Movable(f"{OFFSET}:{engine}", shipped, 0.0, math.inf, spread, additive=True))
    return found


def overhead_candidates(catalog: Catalog) -> list[Movable]:
    """The memory that the runtime takes beside weights, activations and KV cache."""
    row = catalog.assumptions.get((OVERHEAD, "global"))
    if row is None:
        return []
    return [Movable(OVERHEAD, row.mid, 0.0, OVERHEAD_MOST_GIB, OVERHEAD_SPREAD_GIB, additive=True)]


def _fit(
    rows: pd.DataFrame, catalog: Catalog, moving: Sequence[Movable], noise: float, fixed: Mapping[str, float]
) -> tuple[list[Moved], dict[str, float]]:
    influence = _influence(rows, catalog, moving, fixed)
    seen = [each for each in moving if influence[each.name] >= SEEN]
    fitted = shrink(rows, catalog, seen, noise, fixed) if seen else Shrunk({}, {}, {})
    made = []
    for each in moving:
        name, shipped = each.name, each.shipped
        value = fitted.values.get(name, shipped)
        low, high = fitted.low.get(name, shipped), fitted.high.get(name, shipped)
        made.append(Moved(name, shipped, value, min(low, value), max(high, value), influence[name], each in seen))
    return made, dict(fitted.values)


def _influence(
    rows: pd.DataFrame, catalog: Catalog, moving: Sequence[Movable], fixed: Mapping[str, float]
) -> dict[str, float]:
    """Largest relative change of a prediction over the relative change of each coefficient."""
    if rows.empty:
        return dict.fromkeys((each.name for each in moving), 0.0)
    base = np.log(predict(rows, catalog, fixed)["predicted"])
    found = {}
    for each in moving:
        aside = each.shipped + each.spread if each.additive else each.shipped * STEP
        share = each.spread / 10 if each.additive else math.log(STEP)
        moved = np.log(predict(rows, catalog, {**fixed, each.name: aside})["predicted"])
        found[each.name] = float(((moved - base).abs() / share).max())
    return found


def _left_out(rows: pd.DataFrame, catalog: Catalog, unanswered: pd.Series) -> pd.Series:
    """For each row '' or why the fit does not learn from it."""
    reason = rows["problem"].copy()
    trap = (reason == "") & (rows["trap"] != "")
    reason[trap] = "trap: " + rows["trap"][trap]
    impossible = contradictions(rows, catalog)
    reason = reason.where((reason != "") | (impossible == ""), "contradicts physics: " + impossible)
    reason[(reason == "") & (rows["use"] != "fit")] = "context only"
    silent = (reason == "") & rows["predicted_before"].isna()
    reason[silent] = "not predicted: " + unanswered[silent]
    ratio = rows["predicted_before"] / rows["value"]
    room = rows["metric"].isin(MEMORIES)
    slower = ratio.where(rows["metric"].isin(RATES) | room, 1 / ratio)
    far = (reason == "") & (slower > FAR) & (rows["metric"] != "ttft_ms")
    much = slower.map("{:.3g} times ".format)
    reason[far] = much[far] + np.where(room[far], LESS_ROOM, SLOWER)
    # a contradiction spoils its whole run: the same server answered all of it
    run = rows["file"].astype(str) + (":" + rows["line"].astype(str)).where(rows["start"] != "log", "")
    spoiled = set(run[reason.str.startswith("contradicts") | far])
    reason[(reason == "") & run.isin(spoiled)] = "another figure of the same run cannot be of this server"
    reason[(reason == "") & (rows["metric"] == "weights_gib")] = COMPARED
    sized = set(rows["file"][(reason == "") & (rows["metric"] == "kv_cache_tokens")])
    reason[(reason == "") & (rows["metric"] == "available_kv_gib") & rows["file"].isin(sized)] = (
        "same start as its KV tokens"
    )
    timed = set(run[(reason == "") & (rows["metric"] == "tpot_ms")])
    reason[(reason == "") & rows["metric"].isin(RATES) & run.isin(timed)] = "same run as its TPOT"
    return reason


def _nothing_to_fit(rows: pd.DataFrame) -> list[Problem]:
    """What keeps every row out: one problem a reason, with the file and line of its first row."""
    found = []
    useful = rows[~rows["left_out"].str.contains("is not predicted")]
    for reason, part in (rows if useful.empty else useful).groupby("left_out", sort=False):
        first = part.iloc[0]
        line = None if math.isnan(first["line"]) else int(first["line"])
        more = f" ({len(part)} rows)" if len(part) > 1 else ""
        found.append(Problem(str(first["file"]), f"cannot be used for calibration: {reason}{more}", line))
    return found


def _date(rows: pd.DataFrame, given: str) -> str:
    """The day the data are from: as the user says, else the latest the files state."""
    from reports.catalog.records import as_date

    stated = sorted(str(day)[:10] for day in rows["date"] if day)
    for text in (given,) if given else reversed(stated):
        try:
            return as_date(text).isoformat()
        except ValueError:
            if given:
                raise InputError(
                    Problem("--date", "is not a date", read=given, expected="such as 2026-11-30")
                ) from None
    raise InputError(Problem("--date", "the files do not say when they were measured", hint="give --date 2026-11-30"))


def errors(result: Calibration) -> pd.DataFrame:
    """Median and 90th percentile of the absolute error by metric, before and after, over rows without a trap."""
    rows = result.rows
    good = rows[(rows["problem"] == "") & ~rows["left_out"].str.contains(UNFIT)]
    made: list[dict[str, Any]] = []
    for metric, part in good.groupby("metric", sort=False):
        record: dict[str, Any] = {"metric": metric, "rows": len(part)}
        for when in ("before", "after"):
            error = (part[f"predicted_{when}"] / part["value"] - 1).dropna()
            record[f"median_ape_{when}"] = float(error.abs().median()) if len(error) else math.nan
            record[f"p90_ape_{when}"] = float(error.abs().quantile(0.9)) if len(error) else math.nan
            record[f"bias_{when}"] = float(error.mean()) if len(error) else math.nan
        made.append(record)
    return pd.DataFrame(made)
