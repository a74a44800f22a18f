"""A calibration in words and as a record: the error before and after, what moved, what was left out and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reports.field.calibrate import COMPARED, SAME_RUN, SAME_START, Calibration, Moved, errors

MOST_REASONS = 20

_SHOWN = (
    "file", "line", "model", "gpu", "quantization", "engine", "tensor_parallel", "input_tokens", "output_tokens",
    "batch_requests", "start", "metric", "value", "statistic", "predicted_before", "predicted_after", "left_out",
    "note",
)  # fmt: skip


def read_as(result: Calibration) -> list[str]:
    """What the figures were taken to be measured on, most figures first: a wrong card would move every answer."""
    named = ["model", "quantization", "tensor_parallel", "gpu", "engine"]
    counts = result.rows.groupby(named, dropna=False).size().sort_values(ascending=False)
    return [
        f"read as: {model or 'no model'} {quantization or ''} on {ranks:g} x {gpu or 'no card'}, "
        f"{engine or 'no engine'}: {count} figures"
        for (model, quantization, ranks, gpu, engine), count in counts.items()
    ]


def lines(result: Calibration) -> list[str]:
    """The calibration for a terminal."""
    fitted = f"{len(result.rows)} figures, {result.fitted_rows} of them fitted; measured on {result.date}"
    made = [*result.notes, fitted, *read_as(result), ""]
    made.append(f"{'metric':<22}{'figures':>8}{'median error':>22}{'90th percentile':>22}{'signed median':>20}")
    for row in errors(result).itertuples():
        median = _change(row.median_ape_before, row.median_ape_after)
        far = _change(row.p90_ape_before, row.p90_ape_after)
        bias = _change(row.bias_before, row.bias_after, signed=True)
        made.append(f"{row.metric:<22}{row.rows:>8}{median:>22}{far:>22}{bias:>20}")
    made.append("")
    for each in result.measured_on():
        mine = [one for one in result.coefficients if (one.engine, one.gpu) == (each["engine"], each["gpu"])]
        made.append(f"{each['gpu']} under {each['engine']}, {each['rows']} rows fitted:")
        made += [f"  {_moved(one)}" for one in mine if one.seen]
        unseen = [one.name for one in mine if not one.seen]
        if unseen:
            made.append(f"  not visible in these data, unchanged: {', '.join(unseen)}")
    made.append("an overlay holds for these cards under these engines, whatever model runs; all others stay as shipped")
    reasons = left_out(result)
    if reasons:
        made += ["", "left out of the fit:"]
        made += [f"  {each['file']}:{each['line']}: {each['reason']} ({each['figures']} figures)" for each in reasons]
    made.append("")
    return made


def left_out(result: Calibration) -> list[dict[str, Any]]:
    """Reasons with the first place and how many figures; those that change nothing for the reader are not listed."""
    rows = result.rows[~result.rows["left_out"].isin(("", COMPARED, SAME_START, SAME_RUN))]
    made = []
    for reason, part in rows.groupby("left_out", sort=False):
        first = part.iloc[0]
        line = 1 if math.isnan(first["line"]) else int(first["line"])
        made.append({"file": str(first["file"]), "line": line, "reason": reason, "figures": len(part)})
    rest = made[MOST_REASONS:]
    if rest:
        more = sum(each["figures"] for each in rest)
        made = [*made[:MOST_REASONS], {"file": "…", "line": 0, "reason": f"{len(rest)} more reasons", "figures": more}]
    return made


def record(result: Calibration, written: Sequence[Path] = ()) -> dict[str, Any]:
    """The calibration for other programs."""
    return {
        "date": result.date,
        "rows": len(result.rows),
        "fitted_rows": result.fitted_rows,
        "measured_on": result.measured_on(),
        "notes": list(result.notes),
        "errors": errors(result).to_dict("records"),
        "coefficients": [vars(each) for each in result.coefficients],
        "left_out": left_out(result),
        "figures": result.rows[list(_SHOWN)].to_dict("records"),
        "files": [str(path) for path in written],
    }


def _moved(each: Moved) -> str:
    change = f" ({each.value / each.shipped - 1:+.1%})" if each.shipped else ""
    interval = f"90 % interval {each.low:.4g} to {each.high:.4g}"
    return f"{each.name}: {each.shipped:.4g} -> {each.value:.4g}{change}, {interval}"


def _change(before: float, after: float, *, signed: bool = False) -> str:
    if math.isnan(before):
        return "not predicted"
    sign = "+" if signed else ""
    return f"{before:{sign}.1%} -> {after:{sign}.1%}"
