"""Compares two calibrations: which coefficient moved, and what that does to typical answers and to those measured."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.columns import LEAF
from reports.errors import InputError, Problem
from reports.field.canonical import frame
from reports.field.own import own_rows
from reports.field.predict import predict
from reports.field.rules import rule
from reports.paths import catalogs_folder

METRICS = {"tpot_ms": "steady", "ttft_ms": "steady", "output_tok_s": "offline", "kv_cache_tokens": "log"}
"""What a reference question is asked: metric -> how the requests start."""

OWN_QUESTIONS = 20
"""Most set-ups of the overlays' own measurements that are asked beside the reference questions."""

SET_UP = [
    "model", "gpu", "quantization", "engine", "tensor_parallel", "data_parallel", "pipeline_parallel", "gpu_count",
    "kv_bytes_per_element", "interconnect", "memory_utilisation",
]  # fmt: skip


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
    """Every assumption and engine fact that differs, those of one card under one engine named with them."""
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
    for name, engine, gpu in {**before.calibrated, **after.calibrated}:
        stands, follows = (_of_pair(each, name, engine, gpu) for each in (before, after))
        label = f"{name} of {gpu} under {engine}"
        old[label], new[label] = stands, follows[1]
    for name, (low, mid, high, unit) in old.items():
        value = new.get(name, math.nan)
        if value != mid:
            change = value / mid - 1 if mid else math.nan
            rows.append((name, unit, mid, value, change, low <= value <= high))
    return pd.DataFrame(rows, columns=["name", "unit", "before", "after", "change", "inside"])


def _of_pair(catalog: Catalog, name: str, engine: str, gpu: str) -> tuple[float, float, float, str]:
    """Low, value, high and unit of a coefficient for one card under one engine."""
    row = catalog.calibrated.get((name, engine, gpu)) or catalog.assumptions.get((name, "global"))
    if row is not None:
        return row.low, row.mid, row.high, row.unit
    fact = catalog.engines[engine].facts[name]
    low, high = (fact.value if bound is None else bound for bound in (fact.low, fact.high))
    return low, fact.value, high, LEAF[name].unit


def references(catalog: Catalog) -> pd.DataFrame:
    """The typical questions as rows, those whose model, card, format and engine are in the catalog."""
    with (catalogs_folder() / "measured" / "references.csv").open(encoding="utf-8", newline="") as file:
        asked = [
            {
                "model": row["model"], "gpu": row["gpu"], "quantization": row["quantization"], "engine": row["engine"],
                "tensor_parallel": row["cards"], "gpu_count": row["cards"], "kv_bytes_per_element": 2,
                "input_tokens": row["input_tokens"], "output_tokens": row["output_tokens"],
                "batch_requests": row["requests"],
            }
            for row in csv.DictReader(file)
        ]  # fmt: skip
    known = {"model": catalog.models, "gpu": catalog.gpus, "quantization": catalog.quantizations,
             "engine": catalog.engines}  # fmt: skip
    return _questions(row for row in asked if all(row[name] in entries for name, entries in known.items()))


def _questions(asked: Iterator[dict[str, Any]]) -> pd.DataFrame:
    """Each set-up with every metric."""
    alone: dict[str, Any] = {"data_parallel": 1, "pipeline_parallel": 1}
    return frame(
        [{**alone, **each, "metric": metric, "start": start} for each in asked for metric, start in METRICS.items()]
    )


def own_questions(*catalogs: Catalog) -> pd.DataFrame:
    """Set-ups that the overlays themselves measured, each with the load that was run most."""
    rows = pd.concat([own_rows(each) for each in catalogs], ignore_index=True)
    rows = rows[(rows["problem"] == "") & (rows["trap"] == "") & (rows["use"] == "fit")]
    asked = []
    for key, part in rows.groupby(SET_UP, dropna=False, sort=False):
        load = part.dropna(subset=["input_tokens", "output_tokens", "batch_requests"])
        load = load[["input_tokens", "output_tokens", "batch_requests"]].value_counts().head(1).reset_index()
        asked.append({**dict(zip(SET_UP, key, strict=True)), **(load.iloc[0, :3].to_dict() if len(load) else {})})
    return _questions(iter(asked[:OWN_QUESTIONS]))


def _answers(before: Catalog, after: Catalog) -> pd.DataFrame:
    rows = pd.concat([references(before), own_questions(before, after)], ignore_index=True)
    rows = rows.drop_duplicates([*SET_UP, "input_tokens", "output_tokens", "batch_requests", "metric"])
    with np.errstate(all="ignore"):  # a question without a first token divides by nothing
        old, new = predict(rows, before)["predicted"], predict(rows, after)["predicted"]
    found = pd.DataFrame({
        "configuration": [_in_words(row) for row in rows.itertuples()], "metric": rows["metric"], "before": old,
        "after": new,
    })  # fmt: skip
    found = found.dropna(subset=["before", "after"]).reset_index(drop=True)
    found["change"] = found["after"] / found["before"] - 1
    found["within"] = found["change"].abs() <= rule("drift_limit")
    return found


def _in_words(row: Any) -> str:
    server = f"{row.model} {row.quantization}, {row.gpu_count:.0f} x {row.gpu}, {row.engine}"
    if row.metric == "kv_cache_tokens":
        return server
    lengths = f"{row.input_tokens:.0f} + {row.output_tokens:.0f} tokens"
    load = "as many requests as fit" if row.metric == "output_tok_s" else f"{row.batch_requests:.0f} requests"
    return f"{server}, {load} of {lengths}"


def record(drift: Drift) -> dict[str, object]:
    """The comparison for other programs."""
    return {
        "before": drift.before,
        "after": drift.after,
        "within": drift.within,
        "limit": rule("drift_limit"),
        "coefficients": drift.coefficients.to_dict("records"),
        "answers": drift.answers.to_dict("records"),
    }


def lines(drift: Drift) -> list[str]:
    """The comparison in words, for a terminal."""
    limit = rule("drift_limit")
    made = [f"{drift.before} -> {drift.after}"]
    if drift.coefficients.empty:
        made.append("no coefficient moved")
    for row in drift.coefficients.itertuples():
        where = "inside" if row.inside else "outside"
        made.append(
            f"  {row.name}: {row.before:.4g} -> {row.after:.4g} {row.unit} ({row.change:+.1%}), {where} its interval"
        )
    for row in drift.answers.itertuples():
        mark = "" if row.within else f"  more than {limit:.0%}"
        made.append(
            f"  {row.metric} {row.before:.4g} -> {row.after:.4g} ({row.change:+.1%})  {row.configuration}{mark}"
        )
    worst = drift.answers["change"].abs().max() if len(drift.answers) else 0.0
    made.append(
        f"typical answers change by at most {worst:.1%}: {'within' if drift.within else 'NOT within'} {limit:.0%}"
    )
    return made
