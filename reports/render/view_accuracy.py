"""The method in words, and how wrong it was on measured servers, beside other methods."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.confidence import left_out
from reports.field import accuracy
from reports.render.evidence import block_title
from reports.render.view_nearby import N_, metric, signed
from reports.render.wording import Wording, finite

METHODS: dict[str, tuple[str, ...]] = {
    "roofline": (
        N_("In each step a server makes one token for every request it runs. The time of a step is a sum: reading the "
           "dense weights and the experts that the batch touches, attention over the stored keys and values, "
           "activations, communication between cards, and the start of every kernel."),
        N_("Each part takes the longer of its memory time and its arithmetic time. The data sheet gives the rates of "
           "a card; shares fitted to measured servers say how much of them is reached."),
        N_("Every prompt that is admitted stalls the requests that are running. The time per output token (TPOT) is "
           "therefore the step plus the prefill of the other requests, spread over the output tokens."),
        N_("Memory decides how many requests fit at all: what weights and engine leave, divided by the keys and values "
           "of one request."),
        N_("The limit is the largest load that memory, the engine and both latency targets allow; a search finds it "
           "and the formulas prove it. The recommended load is below it by the safety margin, and replicas are added "
           "until they carry the demand."),
        N_("Every way to split the model over the cards is tried, and the one with the most capacity is used. For each "
           "kind of card the smallest number of cards is priced, in whole instances or whole servers, and "
           "options are ranked by their cost a month."),
    ),
    "rule-of-thumb": (
        N_("The rule of thumb takes a speed that every user is promised and divides: the memory that is left by the "
           "keys and values of a request, the arithmetic by that of a prompt, and the memory bandwidth by a read of "
           "all weights for every user. The least of the three, less the safety margin, is the load."),
        N_("It ignores that one read of the weights serves the whole batch, that newer models keep far fewer keys and "
           "values, and that prompts stall the requests that are running. It has no latency targets, and against "
           "measured servers it is off by about ten times: it is printed for comparison."),
    ),
    "four-bottleneck": (
        N_("A request takes the time that the targets promise. Memory, compute, the links to the host and the "
           "processors each carry so many requests at once in that time; the least of the four is the safe limit."),
        N_("Memory counts weights, adapters, whole pages of keys and values, activations and fragments; since "
           "activations grow with the load, the largest load that fits is searched, exactly. Every other limit is a "
           "rate over what one request takes of it."),
        N_("Each input says where it comes from: measured here, a data sheet, a published figure, a default, or a "
           "judgement. The method predicts no latency below its limits; beyond them time grows in proportion."),
    ),
}  # fmt: skip
"""Method -> its paragraphs."""

OTHERS = {
    "roofline": N_("This method, a model it was not fitted to"),
    "aiconfigurator": N_("aiconfigurator (public tool)"),
    "spec-sheet-roofline": N_("Roofline with the data sheet's rates"),
    "rule-of-thumb": N_("Rule of thumb"),
}

ROW_SETS = {
    "shipped": N_("shipped table of measured servers"),
    "aiconfigurator-sample": N_("sample published with aiconfigurator, servers without disaggregation"),
    "tensorrt-llm-docs": N_("TensorRT-LLM documentation, offline throughput"),
}

STARTS = {
    "steady": N_("steady load"), "open-loop": N_("arrivals at a rate"), "burst": N_("all at once"),
    "offline": N_("offline, as many as fit"), "static": N_("one static batch"), "log": N_("server log"),
}  # fmt: skip


def method(words: Wording) -> dict[str, Any]:
    """The deciding method: its title, its paragraphs, and the blocks of formulas it walks through."""
    known = words.run.method
    skipped = left_out(words.run)
    formulas: dict[str, int] = {}
    for block in words.run.blocks:
        read = [name for name in block.made() if name not in skipped]
        if read and not block.point:
            title = block_title(words, block)
            formulas[title] = formulas.get(title, 0) + len(read)
    return {
        "name": words.translate(known.title),
        "paragraphs": [words.translate(each) for each in METHODS.get(known.name, ())],
        "blocks": [
            {"title": title, "formulas": words.counted(count, "{n} formula", "{n} formulas")}
            for title, count in formulas.items()
        ],
    }


def errors(words: Wording) -> list[dict[str, str]]:
    """One row a metric: the error over all shipped rows, with the shipped coefficients."""
    return [
        {
            "metric": metric(words, line["metric"]),
            "n": words.count(line["n"]),
            "median": words.percent(line["median_ape"], 1),
            "mean": words.percent(line["mean_ape"], 1),
            "p90": words.percent(line["p90_ape"], 1),
            "bias": signed(words, line["bias"], 1),
            "coverage": words.percent(line["band_80_coverage"]),
        }
        for line in _records(accuracy.measured_errors(words.run.catalog))
    ]


def one_out(words: Wording) -> list[dict[str, Any]]:
    """One row a metric and start: median and 90th percentile, fitted to all rows and with a group left out."""
    return [
        {
            "metric": metric(words, line["metric"]),
            "start": words.translate(STARTS[line["start"]]) if line["start"] in STARTS else str(line["start"]),
            "n": words.count(line["n"]),
            "errors": [_pair(words, line, out) for out in accuracy.LEFT_OUT],
            "date": str(line["fitted_on"]),
        }
        for line in _records(accuracy.left_out_errors())
    ]


def _pair(words: Wording, line: dict[str, Any], out: str) -> str:
    median, p90 = line[f"median_{out}"], line[f"p90_{out}"]
    return "–" if finite(median) is None else f"{words.percent(median, 1)} / {words.percent(p90)}"


def others(words: Wording) -> list[dict[str, str]]:
    """Median error of other methods and tools on the same kind of rows."""
    return [
        {
            "metric": metric(words, line["metric"]),
            "method": words.translate(OTHERS[line["method"]]) if line["method"] in OTHERS else str(line["method"]),
            "rows": words.translate(ROW_SETS[line["row_set"]]) if line["row_set"] in ROW_SETS else str(line["row_set"]),
            "answered": _answered(words, line),
            "median": words.percent(line["median_error_share"], 1 if line["median_error_share"] < 1 else 0),
            "own": line["method"] == words.run.method.name,
            "source": str(line["source"]),
            "date": str(line["as_of"]),
        }
        for line in _records(accuracy.comparison())
    ]


def _answered(words: Wording, line: dict[str, Any]) -> str:
    if finite(line["answered"]) is None:
        return words.translate("not stated")
    if line["answered"] == line["asked"]:
        return words.count(line["answered"])
    return words.translate(
        "{answered} of {asked}", answered=words.count(line["answered"]), asked=words.count(line["asked"])
    )


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in line.items()} for line in frame.to_dict("records")]
