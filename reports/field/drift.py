"""Compares two calibrations: which coefficient moved, and what that does to typical answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.errors import InputError, Problem
from reports.field.measured import frame
from reports.field.predict import predict

WITHIN = 0.10
"""A quarter's calibration is expected to agree with the last to 10 %."""

REFERENCES: tuple[tuple[str, str, str, int, int, int, int], ...] = (
    ("llama-3.1-8b-instruct", "l40s", "fp8", 1, 1024, 256, 16),
    ("llama-3.1-8b-instruct", "h100-sxm5-80gb", "fp16", 1, 1024, 256, 64),
    ("qwen2.5-32b-instruct", "a100-sxm4-80gb", "int4", 1, 2048, 512, 16),
    ("llama-3.3-70b-instruct", "h100-sxm5-80gb", "fp8", 4, 2048, 512, 64),
    ("qwen3-30b-a3b", "h200-sxm-141gb", "fp8", 1, 4096, 512, 64),
    ("deepseek-v3", "h200-sxm-141gb", "fp8", 8, 4096, 1024, 128),
)
"""Typical questions: model, card, weight format, cards, input and output tokens, requests together."""


@dataclass(frozen=True)
class Drift:
    """The comparison: one row a coefficient that differs, one row a reference configuration."""

    before: str
    after: str
    coefficients: pd.DataFrame
    """name, before, after, change, inside (the new value lies in the old interval)"""
    answers: pd.DataFrame
    """configuration, metric, before, after, change, within"""

    @property
    def within(self) -> bool:
        """Whether every typical answer stays within the limit."""
        return bool(self.answers["within"].all())


def compare(overlays: Sequence[Path]) -> Drift:
    """One overlay against the shipped catalog, or a second one against the first."""
    if not 1 <= len(overlays) <= 2:
        raise InputError(Problem("--drift", "takes one overlay or two", read=str(len(overlays))))
    for overlay in overlays:
        if not Path(overlay).is_dir():
            raise InputError(Problem(str(overlay), "no such folder", expected="a folder that gpubook calibrate wrote"))
        if not any((Path(overlay) / name).exists() for name in ("assumptions.csv", "engines")):
            raise InputError(
                Problem(str(overlay), "holds no coefficients", expected="a folder that gpubook calibrate wrote")
            )
    catalogs = [read_catalog((overlay,)) for overlay in overlays]
    if len(catalogs) == 1:
        catalogs.insert(0, read_catalog())
    labels = [*(["shipped"] if len(overlays) == 1 else []), *(str(overlay) for overlay in overlays)]
    return Drift(labels[0], labels[1], _coefficients(*catalogs), _answers(*catalogs))


def _coefficients(before: Catalog, after: Catalog) -> pd.DataFrame:
    rows = []
    old = {name: (each.low, each.mid, each.high, each.unit) for (name, region), each in before.assumptions.items()
           if region == "global"}  # fmt: skip
    new = {name: each.mid for (name, region), each in after.assumptions.items() if region == "global"}
    for engine, entry in before.engines.items():
        for name, fact in entry.facts.items():
            low, high = fact.low, fact.high
            old[f"{name}:{engine}"] = (
                fact.value if low is None else low, fact.value, fact.value if high is None else high, ""
            )  # fmt: skip
            new[f"{name}:{engine}"] = after.engines[engine].value(name)
    for name, (low, mid, high, unit) in old.items():
        value = new.get(name, math.nan)
        if value != mid:
            change = value / mid - 1 if mid else math.nan
            rows.append((name, unit, mid, value, change, low <= value <= high))
    return pd.DataFrame(rows, columns=["name", "unit", "before", "after", "change", "inside"])


def references(catalog: Catalog) -> pd.DataFrame:
    """The typical questions as rows, those whose model and card are in the catalog, under vLLM."""
    made = []
    for model, gpu, quantization, cards, inputs, outputs, batch in REFERENCES:
        if model not in catalog.models or gpu not in catalog.gpus or quantization not in catalog.quantizations:
            continue
        made.append({
            "model": model, "gpu": gpu, "quantization": quantization, "engine": "vllm", "tensor_parallel": cards,
            "data_parallel": 1, "pipeline_parallel": 1, "gpu_count": cards, "kv_bytes_per_element": 2,
            "input_tokens": inputs, "output_tokens": outputs, "batch_requests": batch, "start": "steady",
        })  # fmt: skip
    rows = [{**each, "metric": metric} for each in made for metric in ("tpot_ms", "ttft_ms")]
    return frame(rows)


def _answers(before: Catalog, after: Catalog) -> pd.DataFrame:
    rows = references(before)
    with np.errstate(all="ignore"):  # a question without a first token divides by nothing
        old, new = predict(rows, before)["predicted"], predict(rows, after)["predicted"]
    found = pd.DataFrame({
        "configuration": [
            f"{row.model} {row.quantization}, {row.gpu_count:.0f} x {row.gpu}, {row.batch_requests:.0f} requests of "
            f"{row.input_tokens:.0f} + {row.output_tokens:.0f} tokens"
            for row in rows.itertuples()
        ],
        "metric": rows["metric"],
        "before": old,
        "after": new,
    })  # fmt: skip
    found = found.dropna(subset=["before", "after"]).reset_index(drop=True)
    found["change"] = found["after"] / found["before"] - 1
    found["within"] = found["change"].abs() <= WITHIN
    return found


def record(drift: Drift) -> dict[str, object]:
    """The comparison for other programs."""
    return {
        "before": drift.before,
        "after": drift.after,
        "within": drift.within,
        "limit": WITHIN,
        "coefficients": drift.coefficients.to_dict("records"),
        "answers": drift.answers.to_dict("records"),
    }


def lines(drift: Drift) -> list[str]:
    """The comparison in words, for a terminal."""
    made = [f"{drift.before} -> {drift.after}"]
    if drift.coefficients.empty:
        made.append("no coefficient moved")
    for row in drift.coefficients.itertuples():
        where = "inside" if row.inside else "outside"
        made.append(
            f"  {row.name}: {row.before:.4g} -> {row.after:.4g} {row.unit} ({row.change:+.1%}), {where} its interval"
        )
    for row in drift.answers.itertuples():
        mark = "" if row.within else f"  more than {WITHIN:.0%}"
        made.append(
            f"  {row.metric} {row.before:.4g} -> {row.after:.4g} ({row.change:+.1%})  {row.configuration}{mark}"
        )
    worst = drift.answers["change"].abs().max() if len(drift.answers) else 0.0
    made.append(
        f"typical answers change by at most {worst:.1%}: {'within' if drift.within else 'NOT within'} {WITHIN:.0%}"
    )
    return made
