"""Predicted against measured: how many rows, how wrong, in which direction, and how often inside the band."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from reports.field.bands import Known, add_bands
from reports.field.traps import meaning

GROUPINGS: dict[str, str] = {
    "metric": "metric", "source": "source", "model": "model_name", "card": "gpu_name", "engine": "engine",
    "precision": "quantization_name", "batch": "batch_class", "tensor parallel": "tensor_parallel",
    "start": "start", "label": "label",
}  # fmt: skip
"""Heading of a table -> column it groups by."""

_BATCHES = (1, 4, 16, 64, 256, 1024)
_CLASSES = (*(f"to {limit}" for limit in _BATCHES), f"above {_BATCHES[-1]}", "not stated")

_HEADS = {
    "median_ape": "median error", "mean_ape": "mean error", "p90_ape": "90th percentile", "bias": "signed median",
    "band_80_coverage": "in 80 % band",
}  # fmt: skip
"""What the statistics are called in a table."""

FIRST_PLACES = 3

ROW_COLUMNS = {
    "row_id": "row_id", "file": "file", "line": "line", "model": "model", "gpu": "gpu", "quantization": "quantization",
    "engine": "engine", "tensor_parallel": "tensor_parallel", "input_tokens": "input_tokens",
    "output_tokens": "output_tokens", "batch_requests": "batch_requests", "start": "start", "metric": "metric",
    "value": "measured", "predicted": "predicted", "low": "low", "high": "high", "label": "label", "reason": "reason",
    "note": "note",
}  # fmt: skip
"""Columns of the rows one by one: ours -> as written."""


def scored(predicted: pd.DataFrame, use: str = "fit") -> pd.DataFrame:
    """Rows that count towards the error: of this use, answered, without a trap; with their relative error."""
    rows = predicted[(predicted["use"] == use) & (predicted["trap"] == "") & predicted["predicted"].gt(0)].copy()
    rows = rows[rows["value"].gt(0)]
    rows["error"] = rows["predicted"] / rows["value"] - 1
    rows["inside"] = rows["value"].between(rows["low"], rows["high"])
    rows["batch_class"] = pd.Categorical(rows["batch_requests"].map(_batch_class), _CLASSES, ordered=True)
    return rows


def prepare(predicted: pd.DataFrame, known: Known | None = None) -> pd.DataFrame:
    """Predicted rows with labels and bands."""
    return add_bands(predicted, known)


def row_by_row(predicted: pd.DataFrame) -> pd.DataFrame:
    """Every row, one line each: measured, predicted, band, label; why it was not answered or does not count."""
    rows = predicted.copy()
    unsaid = (rows["reason"] == "") & (rows["trap"] != "")
    rows.loc[unsaid, "reason"] = "set aside: " + rows.loc[unsaid, "trap"].map(meaning)
    rows["line"] = rows["line"].astype("Int64")
    unanswered = ~rows["predicted"].gt(0)
    rows.loc[unanswered, "label"] = ""
    return rows[list(ROW_COLUMNS)].rename(columns=ROW_COLUMNS).reset_index(drop=True)


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
        for key, group in rows.groupby(keys, dropna=False, observed=True)
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
                  "by_metric": by_metric(scored(predicted, str(use))), "set_aside": set_aside(predicted, str(use))}
            for use, group in predicted[predicted["use"] != "fit"].groupby("use")
        },
        "unmatched": unmatched(predicted),
        "read_as": read_as(predicted),
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


def set_aside(predicted: pd.DataFrame, use: str = "fit") -> dict[str, dict[str, Any]]:
    """Rows of a use that a mark keeps out of the error: mark -> how many, what it means, and the first of them."""
    trapped = predicted[(predicted["use"] == use) & (predicted["trap"] != "")]
    return {
        str(code): {"rows": len(group), "meaning": meaning(str(code)), "first": _places(group)}
        for code, group in trapped.groupby("trap")
    }


def read_as(predicted: pd.DataFrame) -> list[dict[str, Any]]:
    """Names that may mean several cards, what each was read as, and how many rows it was; then notes on units."""
    unsure = predicted[predicted["gpu_choices"] != ""]
    found: list[dict[str, Any]] = [
        {"name": str(name), "read_as": str(gpu), "may_be": str(choices).split(", "), "rows": len(group)}
        for (name, gpu, choices), group in unsure.groupby(["gpu_name", "gpu", "gpu_choices"])
    ]
    said = predicted["note"].str.split("; ").explode()
    units = said[said.str.contains(" read as ", na=False)]
    units = units[~units.str.split(" read as ").str[-1].isin(set(unsure["gpu"]))]
    return found + [{"name": str(text), "rows": int(count)} for text, count in units.value_counts(sort=False).items()]


def _places(rows: pd.DataFrame) -> list[str]:
    """File and line of the first rows."""
    return list(dict.fromkeys(_place(row.file, row.line) for row in rows.itertuples()))[:FIRST_PLACES]


def _place(file: Any, line: Any) -> str:
    return f"{file}" if math.isnan(line) else f"{file}:{line:.0f}"


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


def _aside_lines(predicted: pd.DataFrame, use: str) -> list[str]:
    return [f"  {each['rows']:>6}  {each['meaning']} ({', '.join(each['first'])})"
            for each in set_aside(predicted, use).values()]  # fmt: skip


def text(predicted: pd.DataFrame, headings: Mapping[str, str] = GROUPINGS) -> str:
    """The tables as plain text."""
    mine = predicted[predicted["use"] == "fit"]
    parts = [f"{len(mine)} rows for fitting, {int(mine['predicted'].gt(0).sum())} answered"]
    said = read_as(predicted)
    if said:
        parts.append("\nRead as")
        parts += [
            f"  {each['rows']:>6}  {each['name']}"
            + (f": {each['read_as']}, as its name does not say which of {', '.join(each['may_be'])}"
               if "may_be" in each else "")
            for each in said
        ]  # fmt: skip
    for heading in headings:
        lines = table(predicted, heading)
        if len(lines):
            parts.append(f"\nBy {heading}\n{_aligned(lines)}")
    aside = _aside_lines(predicted, "fit")
    if aside:
        parts += ["\nSet aside: answered where possible, and not counted above", *aside]
    for use, group in predicted[predicted["use"] != "fit"].groupby("use"):
        parts.append(
            f"\n{len(group)} rows of use {use}, not counted above\n{_aligned(table(predicted, 'metric', str(use)))}"
        )
        parts += _aside_lines(predicted, str(use))
    reasons = not_answered(predicted)
    if reasons:
        parts.append("\nNot answered")
        parts += [f"  {each}" for each in reasons]
    return "\n".join(parts)


def first_reasons(predicted: pd.DataFrame) -> list[tuple[str, str]]:
    """Each reason why rows were not answered, with the place of its first row and how many there are."""
    silent = predicted[~predicted["predicted"].gt(0)]
    return [
        (_place(group["file"].iloc[0], group["line"].iloc[0]), f"{reason or 'not predicted'} (rows: {len(group)})")
        for reason, group in silent.groupby("reason", sort=False)
    ]


def not_answered(predicted: pd.DataFrame) -> list[str]:
    """One line a reason: the first places, how many more, and why."""
    reasons: dict[str, list[str]] = {}
    for row in unmatched(predicted):
        reasons.setdefault(str(row["reason"]), []).append(f"{row['file']}:{row['line']}")
    return [
        f"{', '.join(places[:FIRST_PLACES])}"
        f"{f' and {len(places) - FIRST_PLACES} more' if len(places) > FIRST_PLACES else ''}: {reason}"
        for reason, places in reasons.items()
    ]


def _aligned(lines: pd.DataFrame) -> str:
    """Percentages and counts in columns."""
    if lines.empty:
        return "  none answered"
    shown = lines.copy()
    for name in _HEADS:
        shown[name] = shown[name].map(lambda share: "" if share is None or share != share else f"{share:.1%}")
    return str(shown.rename(columns={**_HEADS, "n": "rows"}).to_string(index=False))
