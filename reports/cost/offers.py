"""Prices for every option: the cheapest eligible rent, the server to buy, the value left, each with its source.

An offer is eligible by the rules of ``eligibility`` and when one instance holds a whole pipeline stage. The cheapest is
the one whose *whole instances* cost least for the cards of this option, not the one with the least price a card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from reports.catalog.exchange import exchange_rate
from reports.catalog.records import Catalog
from reports.catalog.select import assumption
from reports.columns import LEAF
from reports.cost import eligibility, purchases
from reports.cost.eligibility import term_months
from reports.cost.quotes import (
    DAYS,
    MONTHS,
    RENT_QUOTES,
    TIMES,
    Warnings,
    ages,
    exchange_row,
    old_rates,
    overdue,
    quoted,
    worst_first,
)
from reports.facts import COLUMNS as FACT_COLUMNS
from reports.facts import in_another_currency
from reports.formulas import rent
from reports.scenario.schema import Scenario

Reason = Callable[[str, float], tuple[str, dict[str, object]]]

OLD_OFFERS = "Rents older than half of the {limit_days} days allowed: {cards}."
WIDE_SPREADS = "Eligible rents of a card differ more than {ratio_limit} times: {cards}."
LONG_TERMS = "Rents that bind for longer than the horizon of {horizon_months} months: {cards}."

_CASE = ["gpu", "stage_cards", "sized_cards"]
"""Options that agree in these rent the same."""

_NUMBERS: dict[str, str] = {
    "price_per_card_hour": "rent_offer_price_per_card_hour",
    "instance_cards": "rent_instance_cards",
    "term_months": "rent_term_months",
    "rate": "rent_offer_exchange_rate",
    "median_price": "rent_median_price_per_card_hour",
    "offers": "rent_offers",
}
_TEXTS: dict[str, str] = {
    "offer_id": "offer_id",
    "market": "rent_market",
    "exchange_id": "rent_exchange_id",
    "provider": "rent_provider",
    "term": "rent_term",
    "instance": "rent_instance",
    "region": "rent_region",
    "as_of": "rent_as_of",
}
"""Column of a chosen offer -> column of the option. A missing number is NaN, a missing text is empty."""


def attach(options: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> tuple[pd.DataFrame, pd.DataFrame, Warnings]:
    """Options with the price leaves and the keys of their records, the facts behind them, and what the cover must say.

    Where there is no price, ``rent_reason`` and ``buy_reason`` hold a code of ``eligibility.REASONS`` or
    ``purchases.REASONS``, and ``rent_reason_values`` and ``buy_reason_values`` the numbers of its sentence.
    """
    frame = options.copy()
    if "data_parallel" not in frame:
        frame["data_parallel"] = 1.0  # a method without layouts does not split attention
    frame["horizon_months"] = float(scenario.costs.horizon_months)
    rental = catalog.rental.assign(age_days=ages(catalog.rental["as_of"], scenario))
    wanted = _wanted(frame)
    checked = eligibility.rules(rental, scenario, catalog)
    best = cheapest(wanted[wanted["feasible"]], rental[checked.eligible()], scenario, catalog)

    matched = wanted[_CASE].merge(best, on=_CASE, how="left")
    for source, column in _NUMBERS.items():
        frame[column] = matched[source].to_numpy(dtype=float)
    for source, column in _TEXTS.items():
        frame[column] = matched[source].astype(object).fillna("").astype(str).to_numpy(dtype=object)
    lacking = (wanted["feasible"] & (frame["offer_id"] == "").to_numpy()).to_numpy()
    _add_reasons(frame, wanted, lacking, lambda gpu, stage: eligibility.reason(gpu, stage, rental, checked, scenario))

    frame, bought, bought_warnings = purchases.attach(frame, scenario, catalog)
    residual = purchases.residual_row(scenario, catalog)
    frame["residual_share"] = residual["value"]
    rows = [*_facts(best, scenario, catalog), *bought, residual, *_rates_of_assumptions(scenario, catalog)]
    facts = pd.DataFrame(rows, columns=list(FACT_COLUMNS))
    facts = facts.drop_duplicates(["scope", "key", "column"], ignore_index=True)
    rented = quoted(best, RENT_QUOTES)
    over = overdue(rental[rental["gpu"].isin(wanted.loc[wanted["feasible"], "gpu"])], scenario)
    said = (*_warnings(best, scenario, catalog), *over, *rented, *bought_warnings, *old_rates(facts, scenario))
    return frame, facts, said


def _rates_of_assumptions(scenario: Scenario, catalog: Catalog) -> list[dict[str, object]]:
    """The exchange rates that amounts on file are converted at, one a currency."""
    named = [leaf.name for leaf in LEAF.values() if leaf.scope == "assumption"]
    found = {in_another_currency(name, scenario, catalog) for name in named}
    return [exchange_row(currency, scenario, catalog) for currency in sorted(found - {""})]


def _wanted(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "gpu": frame["gpu"].astype(str).to_numpy(dtype=object),
            "stage_cards": rent.stage_cards(
                *(frame[name].to_numpy(dtype=float) for name in ("tensor_parallel", "data_parallel", "stage_servers"))
            ),
            "sized_cards": frame["sized_cards"].to_numpy(dtype=float),
            "feasible": frame["feasible"].to_numpy(dtype=bool),
        }
    )


def cheapest(wanted: pd.DataFrame, eligible: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> pd.DataFrame:
    """For every (card, stage, cards) that has one: the offer of least monthly cost, and the market it was chosen from.

    Equal costs: fewer cards first, then the newer offer, then the id.
    """
    cases = wanted[_CASE].dropna().drop_duplicates()
    priced = _in_currency(eligible[eligible["gpu"].isin(cases["gpu"])], scenario, catalog)
    pairs = cases.merge(priced.astype({"gpu": object}), on="gpu")
    pairs = pairs[pairs["instance_cards"] >= pairs["stage_cards"]]
    instances = rent.rented_instances(pairs["sized_cards"], pairs["instance_cards"], pairs["stage_cards"])
    cards = rent.rented_cards(instances, pairs["instance_cards"])
    pairs = pairs.assign(cards=cards, amount=rent.rent_amount_per_month(cards, pairs["price"]))
    market = pairs.groupby(_CASE, sort=False)
    pairs = pairs.assign(
        offers=market["offer_id"].transform("size"),
        median_price=market["price"].transform("median"),
        least_price=market["price"].transform("min"),
        most_price=market["price"].transform("max"),
        oldest_as_of=market["as_of"].transform("min"),
        term_months=pairs["term"].astype(str).map(term_months).astype(float),
        market=pairs["gpu"].astype(str) + "@" + pairs["stage_cards"].astype(int).astype(str),
        exchange_id=pairs["currency"].astype(str) + "/" + scenario.currency,
    )
    order = pairs.sort_values(["amount", "cards", "age_days", "offer_id"], kind="stable")
    return order.drop_duplicates(_CASE).reset_index(drop=True)


def _in_currency(offers: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> pd.DataFrame:
    """Offers with their rate and their price in the scenario's currency; a currency without a rate is an error."""
    currency = offers["currency"].astype(str)
    rates = {
        each: exchange_rate(catalog.exchange, each, scenario.currency, scenario.as_of).rate
        for each in sorted(currency.unique())
    }
    rate = currency.map(rates).astype(float)
    return offers.assign(rate=rate, price=rent.rent_price_per_card_hour(offers["price_per_card_hour"], rate))


def _add_reasons(frame: pd.DataFrame, wanted: pd.DataFrame, lacking: np.ndarray, reason: Reason) -> None:
    """Add the two reason columns to ``frame``; looked up once for each (card, stage)."""
    pairs = list(zip(wanted["gpu"], wanted["stage_cards"], strict=True))
    known = {pair: reason(*pair) for pair in {pair for pair, absent in zip(pairs, lacking, strict=True) if absent}}
    found = [known[pair] if absent else ("", {}) for pair, absent in zip(pairs, lacking, strict=True)]
    frame["rent_reason"] = [code for code, _ in found]
    frame["rent_reason_values"] = [values for _, values in found]


def _facts(best: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> Iterable[dict[str, object]]:
    for row in best.drop_duplicates(["offer_id", "market"]).to_dict("records"):
        where = ", ".join(str(row[name]) for name in ("provider", "instance", "region", "term") if row[name])
        said = str(row["note"]) if pd.notna(row["note"]) else ""
        common = {
            "low": np.nan, "high": np.nan, "basis": row["basis"], "source": row["source"], "as_of": _day(row["as_of"]),
            "confirmed": bool(row["confirmed"]), "live": True,
            "note": f"{where}; {said}" if said else where,
        }  # fmt: skip
        offer = {**common, "scope": "offer", "key": row["offer_id"]}
        price = {"value": row["price_per_card_hour"], "unit": f"{row['currency']}/card-h"}
        cards = {"value": float(row["instance_cards"]), "unit": LEAF["rent_instance_cards"].unit}
        yield {**offer, "column": "rent_offer_price_per_card_hour", **price}
        months = {"value": float(row["term_months"]), "unit": LEAF["rent_term_months"].unit}
        yield {**offer, "column": "rent_instance_cards", **cards}
        yield {**offer, "column": "rent_term_months", **months}
        yield {
            **common, "scope": "market", "key": row["market"], "column": "rent_median_price_per_card_hour",
            "value": row["median_price"], "unit": LEAF["rent_median_price_per_card_hour"].unit, "basis": "derived",
            "low": row["least_price"], "high": row["most_price"], "as_of": _day(row["oldest_as_of"]),
            "note": f"median of {row['offers']} eligible offers; instances of at least {int(row['stage_cards'])} cards",
        }  # fmt: skip
    for currency in sorted(set(best["currency"].astype(str))):
        yield exchange_row(currency, scenario, catalog)


def _day(as_of: object) -> str:
    return str(as_of)[:10]


def _warnings(best: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> Warnings:
    """At most one sentence of each kind, naming its cards."""
    limit, horizon = scenario.prices.max_age_days, scenario.costs.horizon_months
    months = best["term_months"]
    ratio = best["most_price"] / best["least_price"]
    spread = assumption(catalog, "rent_spread_warning_ratio", scenario.region).mid
    found = (
        (OLD_OFFERS, {"limit_days": limit}, best["age_days"].where(best["age_days"] * 2 > limit), DAYS),
        (LONG_TERMS, {"horizon_months": horizon}, months.where(months > horizon), MONTHS),
        (
            WIDE_SPREADS, {"ratio_limit": f"{spread:g}"}, ratio.where(ratio > spread).round(1), TIMES,
        ),
    )  # fmt: skip
    gpus = best["gpu"].astype(str)
    return tuple(
        (message, {**values, "cards": worst_first(zip(gpus[named], measure[named], strict=True), said)})
        for message, values, measure, said in found
        if (named := measure.notna()).any()
    )
