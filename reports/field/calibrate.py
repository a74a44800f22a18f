"""Moves few coefficients towards what a user measured: matched rows, physics first, the error before and after."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.catalog.records import Assumption, Catalog, as_date
from reports.errors import InputError, Problem
from reports.field.canonical import MEMORIES, RATES
from reports.field.fit import COEFFICIENTS
from reports.field.match import Given
from reports.field.misread import read_units
from reports.field.physics import contradictions
from reports.field.predict import predict
from reports.field.reading import Say, distinct, once, read_all
from reports.field.rules import rule
from reports.field.shrink import QUANTILE_90, Movable, Shrunk, shrink
from reports.field.traps import meaning

MOVED = (
    "eta_weights", "eta_experts", "kernel_floor_us", "eta_kv", "mfu_prefill", "mfu_decode", "host_us_per_sequence",
)  # fmt: skip
"""Coefficients that belong to a machine and its set-up; the others describe models and methods and stay."""

OFFSET = "engine_ttft_offset_ms"
OVERHEAD = "overhead_base_gib"
"""What the runtime and its graphs take on this machine beyond the formula: seen in server logs."""

CONTRADICTS, SPOILT, TOO_SLOW = "contradicts-physics", "spoilt-run", "too-slow"

SLOWER = "slower than predicted: another card, format or engine, or other work beside it"
LESS_ROOM = "less room than predicted: another card, format or --tp"

STEP = 1.1
"""How far a coefficient is moved to see its influence."""

COMPARED = "compared: no coefficient changes the weights"
SAME_START = "same start as its KV tokens"
SAME_RUN = "same run as its TPOT"

EARLIEST = datetime.date(2020, 1, 1)
"""No engine that is read here is older."""


@dataclass(frozen=True)
class Moved:
    """One coefficient of one card under one engine: before, fitted, its 90 % interval, how strongly the data see it."""

    name: str
    shipped: float
    value: float
    low: float
    high: float
    influence: float
    seen: bool
    engine: str
    gpu: str
    rows: int
    """Rows that its fit learned from."""


@dataclass(frozen=True)
class Calibration:
    """Everything a calibration found."""

    rows: pd.DataFrame
    """Matched rows with predicted_before, predicted_after and ``left_out`` ('' for the rows of the fit)."""
    coefficients: tuple[Moved, ...]
    date: str
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    """What was done with the files: one that was given twice is read once."""

    @property
    def fitted_rows(self) -> int:
        """Rows that the fit learned from."""
        return int((self.rows["left_out"] == "").sum())

    def measured_on(self) -> list[dict[str, Any]]:
        """For each engine and card: models, formats, numbers of cards, and how many rows the fit learned from."""
        learned = self.rows[self.rows["left_out"].isin(("", COMPARED, SAME_START, SAME_RUN))]
        return [
            {
                "engine": engine,
                "gpu": gpu,
                "models": sorted(set(part["model"])),
                "formats": sorted(set(part["quantization"])),
                "tensor_parallel": sorted({int(each) for each in part["tensor_parallel"]}),
                "rows": int((part["left_out"] == "").sum()),
            }
            for (engine, gpu), part in learned.groupby(["engine", "gpu"])
        ]


def calibrate(
    paths: Sequence[Path], catalog: Catalog, given: Given | None = None, *, date: str = "",
    say: Say = lambda step: None,
) -> Calibration:  # fmt: skip
    """Read, match, test against physics, fit. InputError when nothing can be fitted, with what would help."""
    day = _given_date(date, catalog) if date else ""
    kept, notes = distinct([Path(path) for path in paths])
    rows = read_units(once(read_all(kept, catalog, given, say)), catalog)
    say("fit")
    result = calibrate_rows(rows, catalog)
    return replace(result, date=day or _stated_date(rows), files=kept, notes=notes)


def calibrate_rows(rows: pd.DataFrame, catalog: Catalog) -> Calibration:
    """Fit the coefficients that the rows can see, for each card and engine apart."""
    with np.errstate(all="ignore"):  # rows without a figure divide by nothing
        return _calibrated(rows.reset_index(drop=True), catalog)


def _calibrated(rows: pd.DataFrame, catalog: Catalog) -> Calibration:
    before = predict(rows, catalog)
    rows["predicted_before"] = rows["predicted_after"] = before["predicted"]
    rows["left_out"] = _left_out(rows, catalog, before["reason"])
    learn = rows[rows["left_out"] == ""]
    if rows["predicted_before"].isna().all() or not rows["left_out"].isin(("", COMPARED)).any():
        raise InputError(_nothing_to_fit(rows))
    found: list[Moved] = []
    for (engine, gpu), part in learn.groupby(["engine", "gpu"]):
        moved = _fit_pair(part, catalog, str(engine), str(gpu))
        found += moved
        of_pair = rows[(rows["engine"] == engine) & (rows["gpu"] == gpu)]
        values = {_qualified(each): each.value for each in moved if each.seen}
        rows.loc[of_pair.index, "predicted_after"] = predict(of_pair, catalog, values)["predicted"]
    return Calibration(rows, tuple(found), "", ())


def _fit_pair(learn: pd.DataFrame, catalog: Catalog, engine: str, gpu: str) -> list[Moved]:
    """The coefficients of one card under one engine."""
    memory = learn["metric"].isin(MEMORIES)
    first = learn["metric"] == "ttft_ms"
    pair = (engine, gpu)
    step = learn[~first & ~memory]
    moved, values = _fit(step, catalog, step_candidates(catalog, *pair), rule("noise_step"), {}, pair)
    offsets, _ = _fit(learn[first], catalog, offset_candidates(catalog, *pair), rule("noise_ttft"), values, pair)
    room, _ = _fit(learn[memory], catalog, overhead_candidates(catalog, *pair), rule("noise_memory"), {}, pair)
    return [*moved, *offsets, *room]


def _qualified(each: Moved) -> str:
    """The name of a coefficient as a prediction takes it: facts of engines with their engine."""
    return f"{each.name}:{each.engine}" if each.name == OFFSET else each.name


def _start(catalog: Catalog, name: str, engine: str, gpu: str) -> Assumption | None:
    """Where a coefficient stands before: an earlier calibration of the pair, else the value for all."""
    return catalog.calibrated.get((name, engine, gpu)) or catalog.assumptions.get((name, "global"))


def step_candidates(catalog: Catalog, engine: str, gpu: str) -> list[Movable]:
    """The coefficients of a step that a calibration may move; the prior is the interval before, widened."""
    bounds = {each.name: each for each in COEFFICIENTS}
    reach, least_spread, most_spread = (
        rule(name) for name in ("coefficient_reach", "machine_spread_least", "machine_spread_most")
    )
    found = []
    for name in MOVED:
        row = _start(catalog, name, engine, gpu)
        if row is None or not row.mid > 0:
            continue
        width = math.log(row.high / row.low) / (2 * QUANTILE_90) if row.low > 0 else most_spread
        spread = min(max(rule("prior_widening") * width, least_spread), most_spread)
        most = 1.0 if row.unit == "ratio" else reach * row.mid
        least = bounds[name].low if name in bounds else row.mid / reach
        low, high = min(least, row.mid), max(bounds[name].high if name in bounds else most, row.mid)
        found.append(Movable(name, row.mid, low, high, spread))
    return found


def offset_candidates(catalog: Catalog, engine: str, gpu: str) -> list[Movable]:
    """The offset of the first token of the engine; it adds, so it may be anything from zero on."""
    own = catalog.calibrated.get((OFFSET, engine, gpu))
    before = own.mid if own else catalog.engines[engine].value(OFFSET)
    spread = max(rule("offset_spread"), rule("offset_spread_share") * before)
    return [Movable(f"{OFFSET}:{engine}", before, 0.0, math.inf, spread, additive=True)]


def overhead_candidates(catalog: Catalog, engine: str, gpu: str) -> list[Movable]:
    """The memory that the runtime takes beside weights, activations and KV cache."""
    row = _start(catalog, OVERHEAD, engine, gpu)
    if row is None:
        return []
    return [Movable(OVERHEAD, row.mid, 0.0, rule("overhead_most"), rule("overhead_spread"), additive=True)]


def _fit(
    rows: pd.DataFrame, catalog: Catalog, moving: Sequence[Movable], noise: float, fixed: Mapping[str, float],
    pair: tuple[str, str],
) -> tuple[list[Moved], dict[str, float]]:  # fmt: skip
    influence = _influence(rows, catalog, moving, fixed)
    seen = [each for each in moving if influence[each.name] >= rule("influence_seen")]
    fitted = shrink(rows, catalog, seen, noise, fixed) if seen else Shrunk({}, {}, {})
    made = []
    for each in moving:
        name, shipped = each.name, each.shipped
        value = fitted.values.get(name, shipped)
        low, high = fitted.low.get(name, shipped), fitted.high.get(name, shipped)
        plain = name.partition(":")[0]
        made.append(
            Moved(plain, shipped, value, min(low, value), max(high, value), influence[name], each in seen, *pair,
                  len(rows))
        )  # fmt: skip
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
    """For each row '' or why the fit does not learn from it; what misleads is also marked in ``trap``."""
    reason = rows["problem"].copy()
    trap = (reason == "") & (rows["trap"] != "")
    reason[trap] = rows["trap"][trap].map(meaning)
    impossible = contradictions(rows, catalog)
    found = (reason == "") & (impossible != "")
    reason[found] = "contradicts physics: " + impossible[found]
    rows.loc[found, "trap"] = CONTRADICTS
    reason[(reason == "") & (rows["use"] != "fit")] = "context only"
    silent = (reason == "") & rows["predicted_before"].isna()
    reason[silent] = "not predicted: " + unanswered[silent]
    ratio = rows["predicted_before"] / rows["value"]
    room = rows["metric"].isin(MEMORIES)
    slower = ratio.where(rows["metric"].isin(RATES) | room, 1 / ratio)
    far = (reason == "") & (slower > rule("too_slow_factor")) & (rows["metric"] != "ttft_ms")
    much = slower.map("{:.3g} times ".format)
    reason[far] = much[far] + np.where(room[far], LESS_ROOM, SLOWER)
    rows.loc[far, "trap"] = TOO_SLOW
    # a contradiction spoils its whole run: the same server answered all of it
    run = rows["file"].astype(str) + (":" + rows["line"].astype(str)).where(rows["start"] != "log", "")
    spoilt = (reason == "") & run.isin(set(run[found | far]))
    reason[spoilt] = meaning(SPOILT)
    rows.loc[spoilt, "trap"] = SPOILT
    reason[(reason == "") & (rows["metric"] == "weights_gib")] = COMPARED
    sized = set(rows["file"][(reason == "") & (rows["metric"] == "kv_cache_tokens")])
    reason[(reason == "") & (rows["metric"] == "available_kv_gib") & rows["file"].isin(sized)] = SAME_START
    timed = set(run[(reason == "") & (rows["metric"] == "tpot_ms")])
    reason[(reason == "") & rows["metric"].isin(RATES) & run.isin(timed)] = SAME_RUN
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


def _given_date(text: str, catalog: Catalog) -> str:
    """The day of the measurement as the user says; InputError when it is none, or far from those of the catalog."""
    try:
        day = as_date(text)
    except ValueError:
        raise InputError(
            Problem("--date", "is not a date", read=text, expected="such as 2026-11-30")
        ) from None  # fmt: skip
    known = max(as_date(each.checked_on) for each in catalog.sources.values())
    latest = known.replace(year=known.year + 1, day=1)
    if not EARLIEST <= day <= latest:
        raise InputError(
            Problem("--date", "is out of range", read=text, expected=f"from {EARLIEST} to {latest}",
                    hint=f"the newest source of the catalog is of {known}")
        )  # fmt: skip
    return day.isoformat()


def _stated_date(rows: pd.DataFrame) -> str:
    """The latest day that the files state."""
    for text in sorted((str(day)[:10] for day in rows["date"] if day), reverse=True):
        try:
            return as_date(text).isoformat()
        except ValueError:
            continue
    raise InputError(Problem("--date", "the files do not say when they were measured", hint="give --date 2026-11-30"))


def errors(result: Calibration) -> pd.DataFrame:
    """Of the relative error by metric, before and after: median and 90th percentile of its size, median with its sign
    (``bias``); over rows without a trap."""
    rows = result.rows
    good = rows[(rows["problem"] == "") & (rows["trap"] == "")]
    made: list[dict[str, Any]] = []
    for metric, part in good.groupby("metric", sort=False):
        record: dict[str, Any] = {"metric": metric, "rows": len(part)}
        for when in ("before", "after"):
            error = (part[f"predicted_{when}"] / part["value"] - 1).dropna()
            record[f"median_ape_{when}"] = float(error.abs().median()) if len(error) else math.nan
            record[f"p90_ape_{when}"] = float(error.abs().quantile(0.9)) if len(error) else math.nan
            record[f"bias_{when}"] = float(error.median()) if len(error) else math.nan
        made.append(record)
    return pd.DataFrame(made)
