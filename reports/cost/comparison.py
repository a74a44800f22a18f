"""Quotes side by side: what each price on file would cost for the same cards and targets, and what it does not say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reports.catalog.exchange import exchange_rate
from reports.cost import eligibility
from reports.cost.blocks import COST_BLOCKS
from reports.cost.eligibility import term_months
from reports.cost.purchases import HOST_SHARE, provider_allowed
from reports.cost.quotes import BINDING, ages, expired
from reports.evaluate import evaluate_frame
from reports.facts import assumption_row
from reports.run import Run

COLUMNS = (
    "service", "option_id", "way", "quote_id", "kind", "seller", "item", "price", "currency", "price_unit", "as_of",
    "valid_until", "term", "vat", "minimum_quantity", "minimum_unit", "cards", "outlay_amount", "amount_per_month",
    "npv_amount", "equivalent_amount_per_month", "missing", "used",
)  # fmt: skip
EXCUSES = ("service", "option_id", "way", "code", "values")

MOST, MOST_OF_A_WAY = 5, 3
"""Quotes shown for a winner, and of one way as long as the other has some."""

OPTIONAL = ("valid_until", "vat")
UNSTATED = "unstated"
"""What a price may say: columns of the price book, and their word for saying nothing."""

MISSING: dict[str, str] = {
    "valid_until": "validity",
    "vat": "VAT basis",
    "minimum_quantity": "minimum quantity",
    "freight": "freight",
    "support": "support",
    "egress": "egress",
}
"""What a quote does not say: key -> word."""

UNSAID = {"rent": ("egress",), "buy": ("freight", "support")}
"""What a price alone never covers: it is taken from the assumptions."""

REASONS: dict[str, str] = {
    "prices-other-size": "{prices} prices of other sizes; the server has {server_cards} cards.",
    "prices-later": "{prices} prices are dated after the report.",
    "prices-expired": "{prices} prices have expired.",
    "prices-provider": "{prices} prices are of providers that the scenario does not allow.",
}
"""Why purchase prices cannot be compared; rents have the reasons of ``eligibility``."""


def quotes(run: Run) -> pd.DataFrame:
    """Up to five prices of every winner, the least cost a month first; ``COLUMNS`` say which.

    ``missing`` holds keys of ``MISSING``, separated by spaces. Costs are those of the option with this price in the
    place of its own.
    """
    rows: list[dict[str, Any]] = []
    for option in _records(run.winners()):
        found = [*_rents(run, option), *_purchases(run, option)]
        rows += _chosen([each for way in run.scenario.costs.compare for each in _costed(option, way, found)])
    return pd.DataFrame(rows, columns=list(COLUMNS))


def excuses(run: Run) -> pd.DataFrame:
    """Why the other prices of each winner's card are not compared: one row a reason, with how many there are."""
    rows: list[dict[str, Any]] = []
    for option in _records(run.winners()):
        key = {"service": str(option["service"]), "option_id": option["option_id"]}
        rows += [{**key, "way": way, "code": code, "values": values} for way, code, values in _excused(run, option)
                 if way in run.scenario.costs.compare]
    return pd.DataFrame(rows, columns=list(EXCUSES))


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def _common(row: dict[str, Any], way: str, minimum: float | str, run: Run) -> dict[str, Any]:
    stated = {name: "" if row[name] == UNSTATED else str(row[name]) for name in OPTIONAL}
    known = {**stated, "minimum_quantity": minimum}
    missing = [key for key, value in known.items() if value == ""]
    currency = str(row["currency"])
    return {
        **known, "kind": str(row["price_kind"]), "currency": currency, "as_of": str(row["as_of"])[:10],
        "rate": exchange_rate(run.catalog.exchange, currency, run.scenario.currency, run.scenario.as_of).rate,
        "missing": " ".join((*missing, *UNSAID[way])), "way": way,
    }  # fmt: skip


def _rents(run: Run, option: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Eligible rental offers whose instances hold a stage of this layout."""
    rental, checked = _rental(run)
    mask = checked.eligible() & (rental["gpu"] == option["gpu"])
    for row in _records(rental[mask & (rental["instance_cards"] >= option["stage_cards"])]):
        yield {
            **_common(row, "rent", float(row["instance_cards"]), run),
            "quote_id": row["offer_id"], "seller": str(row["provider"]), "price_unit": "card-h",
            "item": " ".join(str(row[name]) for name in ("instance", "location") if pd.notna(row[name])),
            "price": float(row["price_per_card_hour"]), "term": str(row["term"]), "minimum_unit": "card",
            "rent_offer_price_per_card_hour": float(row["price_per_card_hour"]),
            "rent_instance_cards": float(row["instance_cards"]), "rent_term_months": float(term_months(row["term"])),
            "used": row["offer_id"] == option["offer_id"],
        }  # fmt: skip


def _rental(run: Run) -> tuple[pd.DataFrame, eligibility.Rules]:
    rental = run.catalog.rental.assign(age_days=ages(run.catalog.rental["as_of"], run.scenario))
    return rental, eligibility.rules(rental, run.scenario, run.catalog)


def _purchases(run: Run, option: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Prices of a server of this card, and of its cards with a host from the assumptions."""
    cards = float(option["server_cards"])
    if not np.isfinite(cards) or not option["purchase_id"]:
        return
    host = float(assumption_row(HOST_SHARE, run.scenario, run.catalog)["value"])  # type: ignore[arg-type]
    prices = _dated(run, option)
    held = ~expired(prices["valid_until"], run.scenario) & provider_allowed(prices["provider"], run.scenario)
    for row in _records(prices[held]):
        whole = row["kind"] in ("server", "rack")
        if whole and float(row["cards"]) != cards:
            continue
        common = _common(row, "buy", "", run)
        each = float(row["price"])
        server = each if whole else each * cards / float(row["cards"]) + host / common["rate"]
        identity = row["purchase_id"] if whole else f"{row['purchase_id']}+host"
        yield {
            **common, "quote_id": identity,
            "seller": str(row["provider"]) or str(row["source"]), "item": str(row["item"]),
            "price": server, "price_unit": "server", "term": "", "minimum_unit": "server", "server_price": server,
            "used": identity == option["purchase_id"],
        }  # fmt: skip


def _dated(run: Run, option: dict[str, Any]) -> pd.DataFrame:
    prices = run.catalog.purchase[run.catalog.purchase["gpu"] == option["gpu"]]
    return prices[ages(prices["as_of"], run.scenario) >= 0]


def _costed(option: dict[str, Any], way: str, found: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The money of the option with each price of a way in the place of its own."""
    own = [each for each in found if each["way"] == way]
    if not own:
        return []
    made = {block.column(name) for block in COST_BLOCKS for name in block.made()}
    base = {name: value for name, value in option.items() if name not in made}
    rate = {"rent": "rent_offer_exchange_rate", "buy": "server_exchange_rate"}[way]
    frame = pd.DataFrame([{**base, **{name: each[name] for name in each if name in base and name != "service"},
                           rate: each["rate"]} for each in own])  # fmt: skip
    costs = _records(evaluate_frame(frame, COST_BLOCKS))
    monthly = {"rent": "rent_total_amount_per_month", "buy": "running_amount_per_month"}[way]
    cards = {"rent": "rented_cards", "buy": "bought_cards"}[way]
    return [
        {
            **{name: each[name] for name in COLUMNS if name in each},
            "service": str(option["service"]), "option_id": option["option_id"], "cards": cost[cards],
            "outlay_amount": cost["capex_amount"] if way == "buy" else 0.0, "amount_per_month": cost[monthly],
            "npv_amount": -cost[f"{way}_present_cost_amount"],
            "equivalent_amount_per_month": cost[f"{way}_equivalent_amount_per_month"],
        }
        for each, cost in zip(own, costs, strict=True)
    ]  # fmt: skip


def _chosen(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most five: what the report uses, then quotes before list prices, then the least cost; one of each seller."""
    order = sorted(rows, key=lambda row: (not row["used"], row["kind"] not in BINDING,
                                          row["equivalent_amount_per_month"], row["quote_id"]))  # fmt: skip
    sellers: dict[tuple[str, str], dict[str, Any]] = {}
    for row in order:
        sellers.setdefault((row["way"], row["seller"]), row)
    by_way = {way: [row for row in sellers.values() if row["way"] == way] for way in ("rent", "buy")}
    spare = {way: max(MOST - len(by_way[other]), MOST_OF_A_WAY) for way, other in (("rent", "buy"), ("buy", "rent"))}
    picked = [row for way, own in by_way.items() for row in own[: spare[way]]]
    kept = sorted(picked, key=lambda row: (not row["used"], picked.index(row)))[:MOST]
    return sorted(kept, key=lambda row: (row["equivalent_amount_per_month"], row["quote_id"]))


def _excused(run: Run, option: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, object]]]:
    rental, checked = _rental(run)
    left = rental[rental["gpu"] == option["gpu"]]
    for _, mask in checked.steps:
        kept = mask[left.index]
        if not kept.all():
            out = left[~kept]
            yield "rent", *eligibility.reason(str(option["gpu"]), option["stage_cards"], out, checked, run.scenario)
        left = left[kept]
    small = left[left["instance_cards"] < option["stage_cards"]]
    if len(small):
        yield "rent", *eligibility.reason(str(option["gpu"]), option["stage_cards"], small, checked, run.scenario)
    prices = run.catalog.purchase[run.catalog.purchase["gpu"] == option["gpu"]]
    dated = _dated(run, option)
    if len(prices) > len(dated):
        yield "buy", "prices-later", {"prices": len(prices) - len(dated)}
    over = expired(dated["valid_until"], run.scenario)
    barred = ~provider_allowed(dated["provider"], run.scenario)
    for code, out in (("prices-expired", over), ("prices-provider", barred & ~over)):
        if out.any():
            yield "buy", code, {"prices": int(out.sum())}
    cards = float(option["server_cards"])
    other = dated[dated["kind"].isin(("server", "rack")) & (dated["cards"] != cards)]
    if len(other) and np.isfinite(cards):
        yield "buy", "prices-other-size", {"prices": len(other), "server_cards": int(cards)}
