"""Marks measured rows that contradict the hardware: faster than bandwidth allows, weights that cannot fit, per card."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from reports.catalog.records import Catalog
from reports.field.measured import frame, read
from reports.field.measured import shipped as read_shipped
from reports.field.predict import predict

IDEAL: dict[str, float] = {
    "eta_weights": 1.0, "eta_experts": 1.0, "eta_kv": 1.0, "mfu_prefill": 1.0, "mfu_decode": 1.0, "mfu_moe": 1.0,
    "mfu_attention": 1.0, "kernel_floor_us": 0.0, "activation_passes": 0.0, "host_us_per_sequence": 0.0,
    "host_base_ms": 0.0, "dispatch_alpha_factor": 0.0,
}  # fmt: skip
"""A card that always runs at its data sheet and an engine that costs nothing: nothing real is faster."""

FASTER = "faster-than-hardware"
IMPOSSIBLE = "weights-do-not-fit"
PER_CARD = "per-card"

PER_CARD_ROWS = 4
PER_CARD_SHARE = 0.75
"""A group of rows is per card when at least so many of it are nearer to the prediction after multiplying by cards."""

MESSAGES = {
    FASTER: "faster than the card allows: speculative decoding, prefix cache, or another card",
    IMPOSSIBLE: "the weights alone are larger than the memory of the cards named: another format or layout ran",
    PER_CARD: "tokens per second look like those of one card, not of all",
    "duplicate": "the same figure as an earlier row of the same test",
    "suspected-speculative": "long answers are faster per token than short ones: undisclosed speculative decoding",
    "speculative-decoding": "speculative decoding is stated",
    "prefix-cache": "prefix-cache hits are stated",
}
"""Trap code -> what it means."""


def load(paths: list[Path], catalog: Catalog) -> pd.DataFrame:
    """All rows of the files with traps marked; the shipped table when no file is named."""
    parts = [read(path, catalog) for path in paths] if paths else [read_shipped(catalog)]
    return mark(pd.concat(parts, ignore_index=True) if parts else frame([]), catalog)


def mark(rows: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """The same rows with ``trap`` filled in where the numbers contradict the hardware."""
    rows = rows.copy()
    able = rows["problem"] == ""
    if not able.any():
        return rows
    bound = predict(rows, catalog, IDEAL)
    free = able & (rows["trap"] == "")
    steady = free & (rows["metric"] == "tpot_ms") & (rows["start"] == "steady")
    rows.loc[steady & (rows["value"] < bound["predicted"]), "trap"] = FASTER
    weights = free & (rows["start"] != "log") & (bound["overfull"] == True)  # noqa: E712 - NaN where unknown
    rows.loc[weights & (rows["trap"] == ""), "trap"] = IMPOSSIBLE
    rows.loc[_per_card(rows, catalog) & (rows["trap"] == ""), "trap"] = PER_CARD
    return rows


def _per_card(rows: pd.DataFrame, catalog: Catalog) -> pd.Series:
    """Throughput of several cards whose rows, as a group, are off by the number of cards."""
    found = pd.Series(False, index=rows.index)
    several = (rows["problem"] == "") & rows["metric"].isin(["output_tok_s", "total_tok_s"]) & (rows["gpu_count"] > 1)
    if several.sum() < PER_CARD_ROWS:
        return found
    part = predict(rows[several], catalog)
    times = np.log(part["predicted"] / part["value"]) / np.log(part["gpu_count"])
    part["near"] = times.between(0.6, 1.4)
    for _, group in part.groupby(["source", "engine", "engine_version", "gpu", "start"], dropna=False):
        if len(group) >= PER_CARD_ROWS and group["near"].mean() >= PER_CARD_SHARE:
            found.loc[group.index] = True
    return found
