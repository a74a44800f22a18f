"""How far off a prediction may be: its label by what was measured near it, and the 80 % band of that label."""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from reports.paths import catalogs_folder

LABELS = ("measured", "interpolated", "extrapolated")
"""The same model, card and format was measured; model and card were, apart; neither or only one was."""

FEWEST_ROWS = 12
"""A band from fewer rows would be chance: the band over all starts stands in, then a wide one."""

WIDE = (0.4, 2.5)
_QUANTILES = (0.1, 0.9)

Bands = Mapping[tuple[str, str, str], tuple[float, float]]


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
def shipped_keys(folder: Path | None = None) -> frozenset[tuple[str, str, str]]:
    """(model, card, format) of every row of the shipped table."""
    path = (folder or catalogs_folder()) / "measured" / "throughput.csv"
    if not path.is_file():
        return frozenset()
    with path.open(encoding="utf-8", newline="") as file:
        return frozenset((row["model"], row["gpu"], row["quantization"]) for row in csv.DictReader(file))


def labels(rows: pd.DataFrame, keys: frozenset[tuple[str, str, str]] | None = None) -> np.ndarray:
    """Label of each row (columns ``model``, ``gpu``, ``quantization``)."""
    keys = shipped_keys() if keys is None else keys
    models = {model for model, _, _ in keys}
    cards = {gpu for _, gpu, _ in keys}
    wanted = list(
        zip(rows["model"].astype(str), rows["gpu"].astype(str), rows["quantization"].astype(str), strict=True)
    )
    label = {
        key: LABELS[0] if key in keys else LABELS[1] if key[0] in models and key[1] in cards else LABELS[2]
        for key in set(wanted)
    }
    return np.array([label[key] for key in wanted], dtype=object)


def band(metric: str, start: str, label: str, bands: Bands | None = None) -> tuple[float, float]:
    """Factors on a prediction that hold 80 % of measurements."""
    bands = shipped_bands() if bands is None else bands
    for key in ((metric, start, label), (metric, "", label), (metric, "", LABELS[2])):
        if key in bands:
            return bands[key]
    return WIDE


def add_bands(predicted: pd.DataFrame) -> pd.DataFrame:
    """The rows with ``label`` (kept when they have one), ``low`` and ``high``."""
    result = predicted.copy()
    if "label" not in result:
        result["label"] = labels(result)
    keys = list(zip(result["metric"], result["start"], result["label"], strict=True))
    factors = {key: band(*key) for key in set(keys)}
    result["low"] = result["predicted"] * np.array([factors[key][0] for key in keys], dtype=float)
    result["high"] = result["predicted"] * np.array([factors[key][1] for key in keys], dtype=float)
    return result


def measure_bands(predicted: pd.DataFrame, label: str) -> list[dict[str, object]]:
    """Rows of bands.csv from rows predicted without knowing them."""
    good = predicted[predicted["predicted"].gt(0) & (predicted["trap"] == "") & (predicted["use"] == "fit")]
    ratio = good["value"] / good["predicted"]
    made: list[dict[str, object]] = []
    for metric, of_metric in good.groupby("metric"):
        groups = [("", of_metric), *of_metric.groupby("start")]
        for start, group in groups:
            if len(group) >= FEWEST_ROWS:
                low, high = np.quantile(ratio.loc[group.index], _QUANTILES)
                made.append(
                    {"metric": metric, "start": start, "label": label, "low_factor": round(float(low), 3),
                     "high_factor": round(float(high), 3), "rows": len(group)}
                )  # fmt: skip
    return made
