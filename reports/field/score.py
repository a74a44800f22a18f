"""Predicted against measured: how many rows, how wrong, in which direction, and how often inside the band."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from reports.field.bands import add_bands
from reports.field.physics import MESSAGES

GROUPINGS: dict[str, str] = {
    "metric": "metric", "source": "source", "model": "model_name", "card": "gpu_name", "engine": "engine",
    "precision": "quantization_name", "batch": "batch_class", "tensor parallel": "tensor_parallel",
    "start": "start", "label": "label",
}  # fmt: skip
"""Heading of a table -> column it groups by."""

_BATCHES = (1, 4, 16, 64, 256, 1024)


def scored(predicted: pd.DataFrame, use: str = "fit") -> pd.DataFrame:
    """Rows that count towards the error: of this use, answered, without a trap; with their relative error."""
    rows = predicted[(predicted["use"] == use) & (predicted["trap"] == "") & predicted["predicted"].gt(0)].copy()
    rows = rows[rows["value"].gt(0)]
    rows["error"] = rows["predicted"] / rows["value"] - 1
    rows["inside"] = rows["value"].between(rows["low"], rows["high"])
    rows["batch_class"] = rows["batch_requests"].map(_batch_class)
    return rows


def prepare(predicted: pd.DataFrame) -> pd.DataFrame:
    """Predicted rows with labels and bands."""
    return add_bands(predicted)


def _batch_class(batch: float) -> str:
    if math.isnan(batch):
        return "not stated"
    return next((f"to {limit}" for limit in _BATCHES if batch <= limit), f"above {_BATCHES[-1]}")


def statistics(rows: pd.DataFrame) -> dict[str, Any]:
    """n, median, mean and 90th percentile of the absolute relative error, its bias (signed median), band coverage."""
    size = rows["error"].abs()
    return {
        "n": len(rows),
        "median_ape": _share(size.median()),
        "mean_ape": _share(size.mean()),
        "p90_ape": _share(size.quantile(0.9)),
        "bias": _share(rows["error"].median()),
        "band_80_coverage": _share(rows["inside"].mean() if len(rows) else math.nan),
    }


def _share(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 4)


def by_metric(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Statistics of each metric: errors of different metrics are never mixed."""
    return {str(metric): statistics(group) for metric, group in rows.groupby("metric")}


def table(predicted: pd.DataFrame, heading: str, use: str = "fit") -> pd.DataFrame:
    """One line a group and metric, for people."""
    rows = scored(predicted, use)
    column = GROUPINGS[heading]
    keys = ["metric"] if column == "metric" else [column, "metric"]
    lines = [
        {**dict(zip(keys, key if isinstance(key, tuple) else (key,), strict=True)), **statistics(group)}
        for key, group in rows.groupby(keys, dropna=False)
    ]
    return pd.DataFrame(lines)


def to_json(predicted: pd.DataFrame) -> dict[str, Any]:
    """The whole result. ``rows`` and ``answered`` count rows for fitting, traps included; errors leave traps out.

    ``by_model`` has every name the file uses for a model: the printed one, and the normalised one where there is one.
    """
    mine = predicted[predicted["use"] == "fit"]
    rows = scored(predicted)
    result: dict[str, Any] = {
        "rows": len(mine),
        "answered": int(mine["predicted"].gt(0).sum()),
        "by_metric": by_metric(rows),
        "by_source": _groups(mine, rows, ("source",)),
        "by_gpu": _groups(mine, rows, ("gpu_name",)),
        "by_model": _groups(mine, rows, ("model_name", "normalised_name")),
        "by_engine": _groups(mine, rows, ("engine",)),
        "by_quantization": _groups(mine, rows, ("quantization_name",)),
        "by_label": _groups(mine, rows, ("label",)),
        "set_aside": set_aside(predicted),
        "other_uses": {
            use: {"rows": len(group), "answered": int(group["predicted"].gt(0).sum()),
                  "by_metric": by_metric(scored(predicted, str(use)))}
            for use, group in predicted[predicted["use"] != "fit"].groupby("use")
        },
        "unmatched": unmatched(predicted),
    }  # fmt: skip
    return result


def _groups(mine: pd.DataFrame, rows: pd.DataFrame, columns: tuple[str, ...]) -> dict[str, Any]:
    names = {str(name) for column in columns for name in mine[column].unique() if str(name)}
    made = {}
    for name in sorted(names):
        of_all = (mine[list(columns)] == name).any(axis=1)
        of_scored = (rows[list(columns)] == name).any(axis=1)
        made[name] = {
            "rows": int(of_all.sum()),
            "answered": int(mine.loc[of_all, "predicted"].gt(0).sum()),
            "by_metric": by_metric(rows[of_scored]),
        }
    return made


def set_aside(predicted: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Answered rows for fitting that a trap keeps out of the error: code -> how many and why."""
    trapped = predicted[(predicted["use"] == "fit") & (predicted["trap"] != "")]
    return {
        str(code): {"rows": len(group), "meaning": MESSAGES.get(str(code), "")}
        for code, group in trapped.groupby("trap")
    }


def unmatched(predicted: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows for fitting without an answer, each with its place and the reason."""
    mine = predicted[(predicted["use"] == "fit") & ~predicted["predicted"].gt(0)]
    return [
        {"file": row.file, "line": None if math.isnan(row.line) else int(row.line), "row_id": row.row_id,
         "reason": row.reason}
        for row in mine.itertuples()
    ]  # fmt: skip


def infeasible(predicted: pd.DataFrame) -> pd.DataFrame:
    """Rows that ran and that the memory formulas would refuse; weights that cannot fit as written are no proof."""
    ran = (predicted["use"] == "fit") & predicted["predicted"].gt(0) & (predicted["trap"] != "weights-do-not-fit")
    return predicted[ran & (predicted["fits"] == False) & (predicted["start"] != "log")]  # noqa: E712 - NaN: unknown


def text(predicted: pd.DataFrame, headings: Mapping[str, str] = GROUPINGS) -> str:
    """The tables as plain text."""
    mine = predicted[predicted["use"] == "fit"]
    parts = [f"{len(mine)} rows for fitting, {int(mine['predicted'].gt(0).sum())} answered"]
    for heading in headings:
        lines = table(predicted, heading)
        if len(lines):
            parts.append(f"\nBy {heading}\n{_aligned(lines)}")
    aside = set_aside(predicted)
    if aside:
        parts.append("\nSet aside")
        parts += [f"  {each['rows']:>6}  {code}: {each['meaning']}" for code, each in aside.items()]
    for use, group in predicted[predicted["use"] != "fit"].groupby("use"):
        parts.append(
            f"\n{len(group)} rows of use {use}, not counted above\n{_aligned(table(predicted, 'metric', str(use)))}"
        )
    reasons: dict[str, list[str]] = {}
    for row in unmatched(predicted):
        reasons.setdefault(str(row["reason"]), []).append(f"{row['file']}:{row['line']}")
    if reasons:
        parts.append("\nNot answered")
        parts += [
            f"  {', '.join(places[:3])}{f' and {len(places) - 3} more' if len(places) > 3 else ''}: {reason}"
            for reason, places in reasons.items()
        ]
    return "\n".join(parts)


def _aligned(lines: pd.DataFrame) -> str:
    """Percentages and counts in columns."""
    if lines.empty:
        return "  none answered"
    shown = lines.copy()
    for name in ("median_ape", "mean_ape", "p90_ape", "bias", "band_80_coverage"):
        shown[name] = shown[name].map(lambda share: "" if share is None or share != share else f"{share:.1%}")
    return str(shown.to_string(index=False))
