"""Marks rows that would mislead a fit (undisclosed speculation, the same run twice), and says what each mark means."""

from __future__ import annotations

import pandas as pd

from reports.field.canonical import CANONICAL
from reports.field.rules import rule

DUPLICATE = "duplicate"
SUSPECTED = "suspected-speculative"

MEANING = {
    DUPLICATE: "the same figure as an earlier row of the same test",
    SUSPECTED: "long answers are faster per token than short ones: undisclosed speculative decoding",
    "faster-than-hardware": "faster than the card allows: speculative decoding, prefix cache, or another card",
    "more-than-the-memory": "more room or other weights than the card, model and format give",
    "weights-do-not-fit": "the weights alone are larger than the memory of the cards named: another format or layout",
    "per-card": "tokens per second look like those of one card, not of all (metric per_gpu_output_tok_s)",
    "speculative-decoding": "speculative decoding is stated, or several tokens come with a step",
    "prefix-cache": "prefix-cache hits are stated",
    "failed-requests": "more requests failed than a measurement allows",
    "uneven-requests": "the mean over requests is far from the mean over tokens: requests of very different length",
    "context-parallel": "decode context parallelism: the tokens printed are those of all its ranks",
    "concurrency-not-tokens-by-context": "sliding or linear layers hold less than the tokens printed say",
    "contradicts-physics": "faster, or with more room, than the hardware allows",
    "spoilt-run": "another figure of the same run cannot be of this server",
    "too-slow": "many times slower or with less room than predicted: another card, format or engine, or not alone",
}
"""Mark -> what it means, in the words of a report."""

REPEATED_VALUE_DIGITS = 6
_RUN = ["gpu", "quantization", "tensor_parallel", "data_parallel", "pipeline_parallel"]
_ASKED = ["input_tokens", "output_tokens", "batch_requests"]
_PLACE = {"row_id", "source_ref", "file", "line", "problem", "trap"}
"""Columns in which the copy of a row may differ from it."""


def meaning(mark: str) -> str:
    """A mark in words; a mark that an own table brings stands for itself."""
    return MEANING.get(mark, mark.replace("-", " "))


def mark(rows: pd.DataFrame) -> pd.DataFrame:
    """The same rows with ``trap`` filled in where it was empty."""
    rows = rows.copy()
    for code, found in ((DUPLICATE, duplicates(rows) | repeated(rows)), (SUSPECTED, _suspected(rows))):
        rows.loc[found & (rows["trap"] == ""), "trap"] = code
    return rows


def repeated(rows: pd.DataFrame) -> pd.Series:
    """Copies of an earlier row: in another file the same in every column but its place, in one file its id too.

    A test that was run twice may give the same figure twice; its rows differ in their ids.
    """
    figure = rows[[name for name in CANONICAL if name not in _PLACE]]
    elsewhere = figure.duplicated() & ~figure.assign(file=rows["file"]).duplicated()
    whole = rows[[name for name in CANONICAL if name not in _PLACE - {"row_id", "source_ref"}]].duplicated()
    return rows["value"].notna() & (elsewhere | whole)


def duplicates(rows: pd.DataFrame) -> pd.Series:
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
    few = steady["batch_requests"] / steady["data_parallel"] <= rule("suspect_batch")
    small = steady[few & (steady["output_tokens"] >= rule("suspect_output"))]
    asked = [*run, *layout, "input_tokens", "batch_requests"]
    by_length = small.groupby([*asked, "output_tokens"], dropna=False)["value"].min().reset_index()
    short = by_length.loc[by_length.groupby(asked, dropna=False)["output_tokens"].idxmin()]
    long = by_length.loc[by_length.groupby(asked, dropna=False)["output_tokens"].idxmax()]
    pairs = short.merge(long, on=asked, suffixes=("_short", "_long"))
    pairs = pairs[pairs["output_tokens_long"] >= 2 * pairs["output_tokens_short"]]
    pairs["suspect"] = pairs["value_long"] < rule("suspect_ratio") * pairs["value_short"]
    share = pairs.groupby(run, dropna=False)["suspect"].mean().reset_index()
    suspects = share.loc[share["suspect"] >= rule("suspect_share"), run]  # several of its pairs, not one by chance
    if suspects.empty:
        return found
    marked = steady.reset_index().merge(suspects, on=run)["index"]
    found.loc[marked] = True
    return found
