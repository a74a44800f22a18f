"""The inputs that may turn out otherwise: each with low, mid and high, and the options that read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reports.catalog.select import assumption
from reports.columns import LEAF, fact_reference
from reports.formulas.meta import info
from reports.methods import Block
from reports.run import Run
from reports.scenario.operations import SAID_BY_POLICIES

PERFORMANCE = "recommended_concurrency"
"""Its error is the measured band of the prediction, not a row of the catalog."""

DEMAND = ("demand_peak_concurrency", "demand_requests_per_s", "demand_run_requests")
RENT = "rent_offer_price_per_card_hour"
DEMAND_RANGE, RENT_RANGE = "demand_error_ratio", "rent_quote_ratio"
"""Assumptions: how far a stated demand, and a quoted rent, may be from what comes; their mid is 1."""


DECIDED = frozenset(name for names in SAID_BY_POLICIES.values() for name in names)
"""What the company decides is no chance: policies have a range in the catalog and are not moved."""


@dataclass(frozen=True)
class Uncertain:
    """One input: ``scope``, ``key`` and ``column`` are its row in the facts frame; performance is ``measured``."""

    scope: str
    key: str
    column: str
    label: str
    unit: str
    low: float
    mid: float
    high: float
    basis: str
    members: tuple[tuple[int, str], ...]
    """(row of the short list, leaf column) that hold it."""


def read_by(blocks: Sequence[Block]) -> list[str]:
    """Columns that the blocks read and none of them makes, in reading order."""
    made = {block.column(name) for block in blocks for name in block.made()}
    reads = (block.resolve(name) for block in blocks for function in block.formulas for name in info(function).inputs)
    return [name for name in dict.fromkeys(reads) if name not in made]


def uncertain(run: Run, rows: pd.DataFrame, blocks: Sequence[Block]) -> list[Uncertain]:
    """Everything the blocks read for these rows that has a range, in the order it is first read."""
    facts = {
        (str(row["scope"]), str(row["key"]), str(row["column"])): {str(name): value for name, value in row.items()}
        for row in run.facts.to_dict("records")
    }
    records = [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]
    members: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
    for leaf in read_by(blocks):
        if leaf in LEAF and leaf not in DEMAND and leaf not in DECIDED:
            for index, record in enumerate(records):
                try:
                    reference = fact_reference(record, leaf)
                except KeyError:
                    continue  # set by a search or the layout: no fact of its own
                if reference in facts and np.isfinite(_number(record.get(leaf))):
                    members.setdefault(reference, []).append((index, leaf))
    found = [_of_fact(facts[reference], tuple(places)) for reference, places in members.items()]
    return [each for each in (*_performance(rows), *_demand(run, records), *_rents(run, rows, found), *found) if each]


def _of_fact(row: Mapping[str, object], places: tuple[tuple[int, str], ...]) -> Uncertain | None:
    low, mid, high = (_number(row[name]) for name in ("low", "value", "high"))
    if not (np.isfinite([low, mid, high]).all() and low <= mid <= high and low < high):
        return None
    column = str(row["column"])
    if column == "rent_median_price_per_card_hour":
        return None  # the range of the market is the range of the rent, counted there
    label = LEAF[places[0][1]].label
    return Uncertain(
        str(row["scope"]), str(row["key"]), column, label, str(row["unit"]), low, mid, high, str(row["basis"]), places
    )


def _performance(rows: pd.DataFrame) -> Iterable[Uncertain]:
    """Each option's capacity has its own band: the measured error of the method where it was validated."""
    if f"{PERFORMANCE}_low" not in rows:
        return
    for index, (mid, low, high) in enumerate(
        zip(rows[PERFORMANCE], rows[f"{PERFORMANCE}_low"], rows[f"{PERFORMANCE}_high"], strict=True)
    ):
        if np.isfinite([low, mid, high]).all() and 0 < low < high:
            yield Uncertain(
                "measured", str(rows["option_id"].iloc[index]), PERFORMANCE, "Capacity of a deployment unit",
                "requests", min(low, mid), mid, max(high, mid), "measured", ((index, PERFORMANCE),),
            )  # fmt: skip


def _demand(run: Run, records: Sequence[dict[str, object]]) -> Iterable[Uncertain]:
    """The stated demand of each service, by a range of our own: nobody knows next year's peak."""
    spread = assumption(run.catalog, DEMAND_RANGE, run.scenario.region)
    places: dict[str, list[tuple[int, str]]] = {}
    for index, record in enumerate(records):
        for leaf in DEMAND:
            if _number(record.get(leaf)) > 0:
                places.setdefault(str(record["service"]), []).append((index, leaf))
    for service, where in places.items():
        value = _number(records[where[0][0]][where[0][1]])
        yield Uncertain(
            "demand", service, where[0][1], LEAF[where[0][1]].label, LEAF[where[0][1]].unit,
            value * spread.low, value * spread.mid, value * spread.high, spread.basis, tuple(where),
        )  # fmt: skip


def _rents(run: Run, rows: pd.DataFrame, found: Iterable[Uncertain | None]) -> Iterable[Uncertain]:
    """Every offer in use: a quote may move before it is signed, and the cheapest may be sold out (the median then)."""
    spread = assumption(run.catalog, RENT_RANGE, run.scenario.region)
    known = {each.key for each in found if each and each.column == RENT}
    needed = (RENT, "offer_id", "rent_median_price_per_card_hour", "rent_offer_exchange_rate")
    if any(name not in rows for name in needed):
        return
    for offer, group in rows.reset_index(drop=True).groupby("offer_id", sort=False):
        price = float(group[RENT].iloc[0])
        if not offer or offer in known or not np.isfinite(price):
            continue
        median = float((group["rent_median_price_per_card_hour"] / group["rent_offer_exchange_rate"]).max())
        high = np.nanmax([price * spread.high, median])
        yield Uncertain(
            "offer", str(offer), RENT, LEAF[RENT].label, LEAF[RENT].unit, price * spread.low, price, float(high),
            spread.basis, tuple((int(index), RENT) for index in group.index),
        )  # fmt: skip


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float | np.number) else float("nan")
