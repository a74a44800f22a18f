"""Figures whose numbers show another unit: seconds for milliseconds, GB or MiB for GiB, blocks for tokens."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from reports.catalog.records import Catalog
from reports.constants import BYTES_PER_GB, BYTES_PER_GIB
from reports.field.canonical import LATENCIES
from reports.field.physics import contradictions
from reports.field.predict import predict
from reports.field.rules import rule

GB = "GB"
OTHER = {
    "tpot_ms": {"seconds": 1000.0},
    "ttft_ms": {"seconds": 1000.0},
    "weights_gib": {GB: BYTES_PER_GB / BYTES_PER_GIB, "MiB": 1 / 1024, "bytes": 1 / BYTES_PER_GIB},
    "available_kv_gib": {"MiB": 1 / 1024, "bytes": 1 / BYTES_PER_GIB},
    "kv_cache_tokens": {"blocks of 16 tokens": 16.0},
}
"""Metric -> name of a unit that it may be in, and the factor from there."""


def read_units(rows: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """The rows with values converted where all of a file's figures of one metric are off by the factor of a unit.

    ``note`` says what was read as what. A latency must also be impossible as it stands: a fast first token is no unit.
    """
    able = rows["metric"].isin(list(OTHER)) & (rows["problem"] == "") & rows["value"].gt(0)
    if not able.any():
        return rows
    part = rows[able]
    with np.errstate(all="ignore"):
        off = np.log(predict(part, catalog)["predicted"] / part["value"])
    impossible = part["metric"].isin(LATENCIES) & (off > 0)
    impossible[impossible] = contradictions(part[impossible], catalog) != ""
    rows = rows.copy()
    in_gb: set[tuple[str, str]] = set()
    for (file, source, metric), group in part.groupby(["file", "source", "metric"], sort=False):
        for unit, factor in OTHER[str(metric)].items():
            near = (off[group.index] - math.log(factor)).abs() < rule("unit_reach") * abs(math.log(factor))
            if metric in LATENCIES:
                near &= impossible[group.index]
            few = len(group) < rule("per_card_fewest_rows") and abs(math.log(factor)) < math.log(2)
            if not few and near.mean() >= rule("per_card_share"):
                _convert(rows, group.index, unit, factor)
                in_gb |= {(file, source)} if unit == GB else set()
                break
    # room is not predicted to 7 %: it is in the unit of the weights beside it
    for file, source in in_gb:
        beside = (rows["file"] == file) & (rows["source"] == source) & (rows["metric"] == "available_kv_gib")
        _convert(rows, rows.index[beside & able], GB, OTHER["weights_gib"][GB])
    return rows


def _convert(rows: pd.DataFrame, index: pd.Index, unit: str, factor: float) -> None:
    rows.loc[index, "value"] *= factor
    said = [f"{metric} read as {unit}" for metric in rows.loc[index, "metric"]]
    rows.loc[index, "note"] = [
        "; ".join(each for each in (note, text) if each)
        for note, text in zip(rows.loc[index, "note"], said, strict=True)
    ]
