"""How far off a prediction may be: its label by what was measured near it, and the 80 % band of that label."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.field.rules import rule, rules
from reports.paths import catalogs_folder

LABELS = ("measured", "interpolated", "extrapolated")
"""The same model, card and format was measured; model and card were, apart; neither or only one was: by metric."""

FAMILY = {
    "tpot_ms": "tpot", "ttft_ms": "ttft", "output_tok_s": "rate", "total_tok_s": "rate", "per_gpu_output_tok_s": "rate",
    "req_s": "rate", "prefill_tok_s": "rate", "kv_cache_tokens": "memory", "available_kv_gib": "memory",
    "weights_gib": "memory",
}  # fmt: skip
"""Metrics that measure the same thing: one of them measured is the others measured."""

_QUANTILES = (0.1, 0.9)

Bands = Mapping[tuple[str, str, str], tuple[float, float]]
Key = tuple[str, str, str, str]
"""Model, card, format and family of a metric that was measured."""


@functools.cache
def shipped_bands(folder: Path | None = None) -> Bands:
    """(metric, start or '', label) -> factors of measured over predicted at the 10th and 90th percentile."""
    path = (folder or catalogs_folder()) / "measured" / "bands.csv"
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["metric"], row["start"], row["label"]): (float(row["low_factor"]), float(row["high_factor"]))
            for row in csv.DictReader(file)
        }


@functools.cache
def shipped_keys(folder: Path | None = None) -> frozenset[Key]:
    """What the shipped tables measured, rows that mislead left out."""
    found: set[Key] = set()
    for table in ("throughput.csv", "memory.csv"):
        path = (folder or catalogs_folder()) / "measured" / table
        if path.is_file():
            with path.open(encoding="utf-8", newline="") as file:
                found |= keys_of(row for row in csv.DictReader(file) if not row["trap"])
    return frozenset(found)


def keys_of(rows: Iterable[Mapping[str, str]]) -> set[Key]:
    """What rows of one figure each measured."""
    return {
        (row["model"], row["gpu"], row["quantization"], FAMILY[row["metric"]])
        for row in rows
        if row["metric"] in FAMILY
    }


@dataclass(frozen=True)
class Known:
    """What was measured, and bands of own rows: those that an overlay brings count beside the shipped ones."""

    keys: frozenset[Key] = field(default_factory=shipped_keys)
    own: Mapping[tuple[str, str, str, str, str], tuple[float, float, int]] = field(default_factory=dict)
    """(model, card, format, engine, metric) -> factors of own measured over predicted, and how many rows."""

    def factors(self, key: tuple[str, str, str, str], metric: str, start: str, label: str) -> tuple[float, float]:
        """Factors on a prediction that hold 80 % of measurements; ``key``: model, card, format, engine.

        From ``band_fewest_rows`` own rows of the metric on, their band is mixed with the shipped one (in logarithms),
        which counts like ``own_band_rows`` rows.
        """
        low, high = band(metric, start, label)
        own_low, own_high, count = self.own.get((*key, metric), (low, high, 0))
        if count < rule("band_fewest_rows"):
            return low, high
        share = count / (count + rule("own_band_rows"))
        return low ** (1 - share) * own_low**share, high ** (1 - share) * own_high**share


def labels(rows: pd.DataFrame, keys: frozenset[Key] | None = None, metric: str = "") -> NDArray[np.object_]:
    """Label of each row (columns ``model``, ``gpu``, ``quantization``, and ``metric`` unless one is named)."""
    keys = shipped_keys() if keys is None else keys
    names = ["model", "gpu", "quantization"]
    wanted = rows[names].astype(str)
    wanted["family"] = FAMILY.get(metric, "") if metric else rows["metric"].map(FAMILY).fillna("")
    models = {(key[0], key[3]) for key in keys}
    cards = {(key[1], key[3]) for key in keys}
    code, distinct = pd.factorize(pd.MultiIndex.from_frame(wanted))
    found = [
        LABELS[0] if key in keys
        else LABELS[1] if (key[0], key[3]) in models and (key[1], key[3]) in cards
        else LABELS[2]
        for key in distinct
    ]  # fmt: skip
    return np.array(found, dtype=object)[code]


def band(metric: str, start: str, label: str, bands: Bands | None = None) -> tuple[float, float]:
    """Factors on a prediction that hold 80 % of measurements."""
    bands = shipped_bands() if bands is None else bands
    for key in ((metric, start, label), (metric, "", label), (metric, "", LABELS[2])):
        if key in bands:
            return bands[key]
    unknown = rules()["band_unknown"]
    return unknown.low, unknown.high


def add_bands(predicted: pd.DataFrame, known: Known | None = None) -> pd.DataFrame:
    """The rows with ``label`` (kept when they have one), ``low`` and ``high``."""
    known = known or Known()
    result = predicted.copy()
    if "label" not in result:
        result["label"] = labels(result, known.keys)
    names = ["model", "gpu", "quantization", "engine", "metric", "start", "label"]
    code, distinct = pd.factorize(pd.MultiIndex.from_frame(result[names].astype(str)))
    factors = np.array([known.factors(key[:4], *key[4:]) for key in distinct]).reshape(-1, 2)[code]
    result["low"], result["high"] = (result["predicted"] * factors[:, side] for side in (0, 1))
    return result


def own_factors(predicted: pd.DataFrame) -> dict[tuple[str, str, str, str, str], tuple[float, float, int]]:
    """The middle 80 % of measured over predicted of own rows, by model, card, format, engine and metric."""
    good = predicted[predicted["predicted"].gt(0) & (predicted["trap"] == "") & (predicted["use"] == "fit")]
    ratio = good["value"] / good["predicted"]
    found = {}
    for key, group in good.groupby(["model", "gpu", "quantization", "engine", "metric"]):
        low, high = np.quantile(ratio[group.index], _QUANTILES)
        found[tuple(map(str, key))] = (float(low), float(high), len(group))
    return found  # type: ignore[return-value]


def measure_bands(predicted: pd.DataFrame, label: str) -> list[dict[str, object]]:
    """Rows of bands.csv from rows predicted without knowing them."""
    good = predicted[predicted["predicted"].gt(0) & (predicted["trap"] == "") & (predicted["use"] == "fit")]
    ratio = good["value"] / good["predicted"]
    made: list[dict[str, object]] = []
    for metric, of_metric in good.groupby("metric"):
        groups = [("", of_metric), *of_metric.groupby("start")]
        for start, group in groups:
            if len(group) >= rule("band_fewest_rows"):
                low, high = np.quantile(ratio.loc[group.index], _QUANTILES)
                made.append(
                    {"metric": metric, "start": start, "label": label, "low_factor": round(float(low), 3),
                     "high_factor": round(float(high), 3), "rows": len(group)}
                )  # fmt: skip
    return made
