"""How sure an answer is: its label and bands, and the nearest servers that were measured, both numbers side by side."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports import confidence
from reports.render.wording import Wording, finite

Row = dict[str, Any]


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


LABELS = {
    "measured": N_("Measured: this model (or one of the same shape), card and weight format were measured together."),
    "interpolated": N_("Interpolated: the model and the card were measured, but not together in this weight format."),
    "extrapolated": N_("Extrapolated: the model or the card was not measured, so the band is wide on purpose."),
}
SHORT_LABELS = {"measured": N_("measured"), "interpolated": N_("interpolated"), "extrapolated": N_("extrapolated")}
COUNTED_LABELS = {
    "measured": N_("{n} measured"), "interpolated": N_("{n} interpolated"), "extrapolated": N_("{n} extrapolated"),
}  # fmt: skip

BANDS = {
    "cards_needed": N_("Cards needed"),
    "tpot_ms": N_("TPOT, ms"),
    "ttft_ms": N_("TTFT, ms"),
    "output_tokens_per_s": N_("Output tokens per second, one unit"),
    "recommended_concurrency": N_("Requests at once, one unit"),
}
"""Columns of an option that have a band."""

METRICS = {
    "tpot_ms": N_("TPOT, ms"),
    "ttft_ms": N_("TTFT, ms"),
    "output_tok_s": N_("Output tokens per second"),
    "per_gpu_output_tok_s": N_("Output tokens per second and card"),
    "total_tok_s": N_("Input and output tokens per second"),
    "prefill_tok_s": N_("Input tokens per second"),
    "req_s": N_("Requests per second"),
    "kv_cache_tokens": N_("KV-cache tokens"),
    "available_kv_gib": N_("Room for the KV cache, GiB"),
    "weights_gib": N_("Weights per card, GiB"),
}
"""What benchmarks and logs report."""

COUNTS = ("cards_needed", "recommended_concurrency")


def band(words: Wording, row: Row, column: str) -> str:
    """Low to high of a figure; empty where it has no band."""
    low, high = finite(row.get(f"{column}_low")), finite(row.get(f"{column}_high"))
    if low is None or high is None:
        return ""
    written = words.count if column in COUNTS else words.short
    return f"{written(low)}–{written(high)}"


def how_sure(words: Wording, winners: list[Row]) -> str:
    """One line: what was measured, how wrong predictions are near it, and how much rests on judgement."""
    if not winners:
        return ""
    run = words.run
    found = confidence.support(run, run.winners())
    judged = words.translate(
        "{judged} of {inputs} inputs ({share}) rest on judgement.",
        judged=words.count(found.judged),
        inputs=words.count(found.inputs),
        share=words.percent(found.judged_share),
    )
    if not found.labels:
        said = words.translate("How sure: this method predicts nothing that servers report, so it has no band.")
        return words.joined(said, judged)
    if len(winners) == 1:
        labels = words.translate(SHORT_LABELS[next(iter(found.labels))])
    else:
        labels = words.listed(
            words.translate(message, n=words.count(found.labels[label]))
            for label, message in COUNTED_LABELS.items()
            if label in found.labels
        )
    if finite(found.typical_error_share) is None:
        said = words.translate("How sure: {labels}; no server was measured nearby.", labels=labels)
    else:
        said = words.translate(
            "How sure: {labels}; nearest measured servers: typical error {error}.",
            labels=labels,
            error=words.percent(found.typical_error_share),
        )
    return words.joined(said, judged)


def winner(words: Wording, row: Row) -> dict[str, Any]:
    """Label, bands and nearest measured rows of one winner."""
    label = str(row.get(confidence.LABEL, ""))
    near = words.run.evidence
    own = near[near["option_id"] == row["option_id"]].sort_values("rank") if len(near) else near
    return {
        "label": words.translate(LABELS[label]) if label in LABELS else "",
        "bands": [
            {
                "name": words.translate(name),
                "value": words.count(row[column]) if column in COUNTS else words.short(row[column]),
                "low_high": band(words, row, column),
                "label": words.translate(SHORT_LABELS[str(row[f"{column}_label"])]),
            }
            for column, name in BANDS.items()
            if band(words, row, column)
        ],
        "rows": [_measured(words, {str(k): v for k, v in line.items()}) for line in own.to_dict("records")],
    }


def _measured(words: Wording, line: Row) -> dict[str, str]:
    """One measured row as it is printed."""
    several = f" × {words.count(line['tensor_parallel'])}" if (finite(line["tensor_parallel"]) or 1) > 1 else ""
    engine = words.run.catalog.engines.get(str(line["engine"]))
    load = finite(line["batch_requests"])
    return {
        "model": words.model(line["model"]),
        "server": f"{words.gpu(line['gpu'])}{several}",
        "how": words.listed([words.quantization(line["quantization"]), engine.name if engine else str(line["engine"])]),
        "lengths": f"{words.short(line['input_tokens'], 4)} / {words.short(line['output_tokens'], 4)}",
        "load": words.count(load) if load is not None else words.translate("most"),
        "metric": metric(words, line["metric"]),
        "measured": words.short(line["measured"], 4),
        "predicted": words.short(line["predicted"], 4),
        "error": signed(words, line["error_share"]),
        "source": str(line["source"]),
        "date": str(line["date"]) if not pd.isna(line["date"]) else "",
    }


def metric(words: Wording, name: Any) -> str:
    """A measured quantity in words."""
    return words.translate(METRICS[str(name)]) if str(name) in METRICS else str(name)


def signed(words: Wording, share: Any, places: int = 0) -> str:
    """A deviation as a percentage with its sign."""
    known = finite(share)
    if known is None:
        return words.percent(share, places)
    size = words.percent(abs(known), places)
    if size == words.percent(0.0, places):
        return size
    return f"{'+' if known > 0 else '−'}{size}"
