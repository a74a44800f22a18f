"""Marks rows that would mislead a fit: speculative decoding nobody stated, the same run twice, a card shared."""

from __future__ import annotations

import pandas as pd

SUSPECT_RATIO = 0.88
SUSPECT_BATCH_REQUESTS = 16
"""A long answer cannot cost 12 % less per token than a short one at a small batch, unless a draft model helps."""

SUSPECT_OUTPUT_TOKENS = 512
"""Shorter answers are stalled by the prompts of others, which makes them dearer per token for an honest reason."""

REPEATED_VALUE_DIGITS = 6
_RUN = ["gpu", "quantization", "tensor_parallel", "data_parallel", "pipeline_parallel"]
_ASKED = ["input_tokens", "output_tokens", "batch_requests"]


def mark(rows: pd.DataFrame) -> pd.DataFrame:
    """The same rows with ``trap`` filled in where it was empty."""
    rows = rows.copy()
    for code, found in (("duplicate", _duplicates(rows)), ("suspected-speculative", _suspected(rows))):
        rows.loc[found & (rows["trap"] == ""), "trap"] = code
    return rows


def _duplicates(rows: pd.DataFrame) -> pd.Series:
    """Rows with the value of an earlier one for the same card, layout, lengths and load, whatever the model's name."""
    known = rows["value"].notna() & rows[_ASKED[:2]].notna().all(axis=1) & (rows["start"] != "log")
    precise = rows["value"].map(lambda value: f"{value:.{REPEATED_VALUE_DIGITS}g}")
    # a rounded figure repeats by chance
    digits = precise.str.replace(".", "", regex=False).str.strip("0").str.len()
    key = [rows[name] for name in ("metric", *_RUN, *_ASKED, "start", "request_rate_per_s", "requests")]
    twice = pd.concat([precise, *key], axis=1).duplicated(keep="first")
    return known & (digits >= 4) & twice


def _suspected(rows: pd.DataFrame) -> pd.Series:
    """TPOT rows of runs whose long answers are faster per token than their short ones."""
    run = ["source", "model", "engine", "engine_version", "gpu", "quantization"]
    layout = ["tensor_parallel", "data_parallel", "pipeline_parallel"]
    found = pd.Series(False, index=rows.index)
    steady = rows[(rows["metric"] == "tpot_ms") & (rows["start"] == "steady") & (rows["problem"] == "")]
    if steady.empty:
        return found
    few = steady["batch_requests"] / steady["data_parallel"] <= SUSPECT_BATCH_REQUESTS
    small = steady[few & (steady["output_tokens"] >= SUSPECT_OUTPUT_TOKENS)]
    asked = [*run, *layout, "input_tokens", "batch_requests"]
    by_length = small.groupby([*asked, "output_tokens"], dropna=False)["value"].min().reset_index()
    short = by_length.loc[by_length.groupby(asked, dropna=False)["output_tokens"].idxmin()]
    long = by_length.loc[by_length.groupby(asked, dropna=False)["output_tokens"].idxmax()]
    pairs = short.merge(long, on=asked, suffixes=("_short", "_long"))
    pairs = pairs[pairs["output_tokens_long"] >= 2 * pairs["output_tokens_short"]]
    pairs["suspect"] = pairs["value_long"] < SUSPECT_RATIO * pairs["value_short"]
    share = pairs.groupby(run, dropna=False)["suspect"].mean().reset_index()
    suspects = share.loc[share["suspect"] >= 0.3, run]  # several of its pairs, not one by chance
    if suspects.empty:
        return found
    marked = steady.reset_index().merge(suspects, on=run)["index"]
    found.loc[marked] = True
    return found
