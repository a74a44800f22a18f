"""The answer of the four bottlenecks in words: which binds, by how much, what raises it, and what asking more would do.

Each is a message with its values, said on the cover of every document, in the workbook and by ``gpubook explain``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from reports.catalog.records import Catalog
from reports.constants import FLOP_PER_TFLOP, PARAMETERS_PER_BILLION, ROUNDING_GUARD
from reports.constraints import CONSTRAINTS
from reports.cost.quotes import Listed, Warnings
from reports.facts import assumption_row
from reports.scenario.schema import Scenario

METHOD = "four-bottleneck"
TENTHS = 10
N_ = str
"""Marks a message for translation."""

LIMITS = N_(
    "{limit} binds for {model} on {cards} × {gpu}: memory allows {memory_tenths}, compute {compute_tenths}, PCIe "
    "{pcie_tenths}, CPU {cpu_tenths} requests at once; the safe limit is {safe}, and the next limit is "
    "{margin_share} further."
)
RAISED = N_("The cheapest single change that raises it: {change}, {before} → {after}, about {price_amount}.")
NOT_RAISED = N_("No single change of those considered ({changes}) raises the limit by a whole request.")
ARITHMETIC = N_(
    "{stated} GFLOP a token are stated; two operations a parameter are {derived} GFLOP. The compute limit is "
    "{times} times what it would be with them."
)
MISSED = N_(
    "TARGETS NOT MET at {asked} requests, as asked; {safe} are safe. Expected: TPOT {tpot_ms} ms, {tpot_share} over "
    "its target; TTFT {ttft_ms} ms, {ttft_share} over its target."
)
PREEMPTED = N_(
    "Memory runs out at {memory_tenths} requests; at {asked} the running requests outgrow it, and some are preempted, "
    "with probability {preemption_share}."
)
WITHIN = N_("{asked} requests are asked for, and {safe} are safe: the targets hold.")

SWITCH, PROCESSOR, CARD = N_("a second PCIe switch"), N_("processors with twice the cores"), N_("one card more")
ANOTHER = N_("one PCIe switch more")

CHANGES = (
    (SWITCH, "switch_concurrency", "four_switch_price_per_piece"),
    (PROCESSOR, "processor_concurrency", "four_processor_price_per_piece"),
    (CARD, "card_concurrency", "four_card_price_per_piece"),
)
"""What may be changed, the column that says how far it leads, and the assumption that says what it costs."""


def warnings(scenario: Scenario, catalog: Catalog, shortlist: pd.DataFrame) -> Warnings:
    """The messages of each winner, or of the best of the short list where nothing wins."""
    if scenario.methods[0] != METHOD or shortlist.empty:
        return ()
    winners = shortlist[shortlist["winner"]]
    rows = winners if len(winners) else shortlist.head(1)
    return tuple(
        each
        for row in rows.to_dict("records")
        for each in messages({str(name): value for name, value in row.items()}, scenario, catalog)
    )


def messages(row: Mapping[str, Any], scenario: Scenario, catalog: Catalog) -> Iterator[tuple[str, dict[str, object]]]:
    """What is said of one evaluated candidate: the load asked for first, then its limits."""
    asked = float(row["asked_requests"])
    if asked:
        yield from _asked(row, asked, float(row["limit_concurrency"]))
    limits = {record.label: float(row[record.capacity]) for record in CONSTRAINTS[METHOD]}
    safe = float(row["limit_concurrency"])
    tenths = {f"{record.name}_tenths": _tenths(row[record.capacity]) for record in CONSTRAINTS[METHOD]}
    yield LIMITS, {
        "limit": Listed([min(limits, key=lambda name: limits[name])]), "model": str(row["model"]),
        "cards": float(row["unit_cards"]), "gpu": str(row["gpu"]), **tenths, "safe": safe,
        "margin_share": round(float(row["runner_up_margin_share"]), 3),
    }  # fmt: skip
    yield _cheapest(row, safe, scenario, catalog)
    stated = float(row["four_token_tflop"])
    derived = 2 * float(row["token_parameters_b"]) * PARAMETERS_PER_BILLION / FLOP_PER_TFLOP
    if 0 < stated < derived:
        giga = FLOP_PER_TFLOP / PARAMETERS_PER_BILLION
        yield ARITHMETIC, {"stated": stated * giga, "derived": round(derived * giga, 1),
                           "times": round(derived / stated, 1)}  # fmt: skip


def plain(message: str, values: Mapping[str, object]) -> str:
    """A message in English for a terminal: shares in percent, tenths with one decimal."""
    return message.format(**{name: _said(name, value) for name, value in values.items()})


def _said(name: str, value: object) -> str:
    if not isinstance(value, float | int):
        return str(value)
    if name.endswith("_share"):
        return f"{value:.1%}"
    if name.endswith("_tenths"):
        return f"{value:,.1f}"
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


def _tenths(requests: Any) -> float:
    """With one decimal, rounded down as requests are."""
    return math.floor(float(requests) * TENTHS + ROUNDING_GUARD) / TENTHS


def _cheapest(
    row: Mapping[str, Any], safe: float, scenario: Scenario, catalog: Catalog
) -> tuple[str, dict[str, object]]:
    """The least dear of the changes that let at least one whole request more run."""
    found = [
        (float(str(assumption_row(price, scenario, catalog)["value"])), change, float(row[column]))
        for change, column, price in CHANGES
        if float(row[column]) > safe
    ]
    if not found:
        return NOT_RAISED, {"changes": Listed([change for change, _, _ in CHANGES])}
    price, change, after = min(found)
    if change == SWITCH and float(row["four_switch_pieces"]) > 1:
        change = ANOTHER
    return RAISED, {"change": Listed([change]), "before": safe, "after": after, "price_amount": price}


def _asked(row: Mapping[str, Any], asked: float, safe: float) -> Iterator[tuple[str, dict[str, object]]]:
    if asked <= safe:
        yield WITHIN, {"asked": asked, "safe": safe}
        return
    yield MISSED, {
        "asked": asked, "safe": safe, "tpot_ms": round(float(row["asked_tpot_ms"]), 1),
        "tpot_share": float(row["asked_tpot_miss_share"]), "ttft_ms": round(float(row["asked_ttft_ms"])),
        "ttft_share": float(row["asked_ttft_miss_share"]),
    }  # fmt: skip
    yield PREEMPTED, {
        "memory_tenths": _tenths(row["memory_concurrency"]), "asked": asked,
        "preemption_share": round(float(row["asked_preemption_probability"]), 3),
    }  # fmt: skip
