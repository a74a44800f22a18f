"""What one server and one rented instance of a card cost a month, by the same formulas as every option of the report.

A server stands in a network: its amounts are half of what two cost, for a single one has no network. The template row
of a card is one of its candidates: it carries the assumptions that the money formulas read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from reports.catalog.exchange import exchange_rate
from reports.catalog.records import Catalog
from reports.cost import eligibility
from reports.cost.blocks import COST_BLOCKS
from reports.cost.offers import attach, term_months
from reports.cost.quotes import ages
from reports.evaluate import evaluate_frame
from reports.formulas import rent
from reports.scenario.schema import Scenario

TOGETHER = 2
"""Servers that are priced together, so that the network between them is in."""

TAXED = ("energy", "colocation", "maintenance", "insurance", "licence")
"""Running costs that carry tax."""
HOSTED = ("energy", "colocation")
"""What ends with the use of a server that somebody else maintains."""


def servers(candidates: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> pd.DataFrame:
    """One row a card, by its id: the server it is bought as, and the amounts of one such server.

    ``running_amount`` is what running a server of one's own costs (electricity, colocation, maintenance), and
    ``hosted_amount`` the same where a lessor pays for maintenance; staff and insurance stay whether it runs or not.
    ``buy_amount`` is the level payment over the horizon, with all of them. Blank without a price or a power figure.
    """
    scenario = _without_room(scenario)
    template = _template(candidates)
    host_cards = [_server_cards(gpu, catalog) for gpu in template["gpu"].astype(str)]
    cards = pd.Series(host_cards, index=template.index).fillna(1.0) * TOGETHER
    priced, _, _ = attach(template.assign(sized_cards=cards, demand_cards=cards), scenario, catalog)
    full = evaluate_frame(_free(priced), COST_BLOCKS)
    of_all = {name: full[f"{name}_amount_per_month"] for name in TAXED}
    tax = 1 + full["running_tax_amount_per_month"] / sum(of_all.values())
    price = full["hardware_amount"]
    hosted = sum(of_all[name] for name in HOSTED) * tax.fillna(1.0)
    made = pd.DataFrame(
        {
            "server_cards": full["server_cards"],
            "server_power_kw": full["server_power_kw"],
            "pue": full["pue"],
            "host": full["host"].astype(str),
            "purchase_id": full["purchase_id"].astype(str),
            "server_amount": price / TOGETHER,
            "capex_amount": full["capex_amount"] / TOGETHER,
            "buy_amount": full["buy_equivalent_amount_per_month"] / TOGETHER,
            "running_amount": (hosted + (of_all["maintenance"] * tax).fillna(0.0)) / TOGETHER,
            "hosted_amount": hosted / TOGETHER,
        }
    )
    return made.set_index(full["gpu"].astype(str).to_numpy())


def _template(candidates: pd.DataFrame) -> pd.DataFrame:
    first = candidates.drop_duplicates("gpu").reset_index(drop=True)
    ranks = {"tensor_parallel": 1.0, "data_parallel": 1.0, "pipeline_parallel": 1.0, "feasible": True}
    return first.assign(**ranks)


def _without_room(scenario: Scenario) -> Scenario:
    """The room does not change what a server costs; how many of them it holds is the program's question."""
    return scenario.model_copy(update={"room": None})


def _server_cards(gpu: str, catalog: Catalog) -> float:
    host = catalog.hosts.get(catalog.gpus[gpu].host)
    return host.value("server_cards") if host else float("nan")


def _free(priced: pd.DataFrame) -> pd.DataFrame:
    """Without columns that the money formulas make themselves."""
    made = {function.__name__ for block in COST_BLOCKS for function in block.formulas}
    return priced.drop(columns=[name for name in priced.columns if name in made])


def instances(candidates: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> pd.DataFrame:
    """The cheapest eligible offer of every (card, size of instance), with ``rent_amount`` of one instance a month."""
    scenario = _without_room(scenario)
    template = _template(candidates)
    gpus = list(template["gpu"].astype(str))
    best = _cheapest(scenario, catalog, gpus)
    if best.empty:
        return best.assign(rent_amount=pd.Series(dtype=float))
    priced, _, _ = attach(template.assign(sized_cards=1.0, demand_cards=1.0), scenario, catalog)
    rows = priced.set_index(priced["gpu"].astype(str)).loc[best["gpu"].astype(str)].reset_index(drop=True)
    size = best["instance_cards"].to_numpy(dtype=float)
    rows = rows.assign(
        sized_cards=size, demand_cards=size, rent_instance_cards=size,
        rent_offer_price_per_card_hour=best["price_per_card_hour"].to_numpy(dtype=float),
        rent_offer_exchange_rate=best["rate"].to_numpy(dtype=float),
        rent_median_price_per_card_hour=best["price"].to_numpy(dtype=float),
        rent_term_months=best["term"].astype(str).map(term_months).to_numpy(dtype=float),
    )  # fmt: skip
    full = evaluate_frame(_free(rows), COST_BLOCKS)
    return best.assign(rent_amount=full["rent_equivalent_amount_per_month"].to_numpy(dtype=float))


def _cheapest(scenario: Scenario, catalog: Catalog, gpus: Sequence[str]) -> pd.DataFrame:
    rental = catalog.rental.assign(age_days=ages(catalog.rental["as_of"], scenario))
    eligible = rental[eligibility.rules(rental, scenario, catalog).eligible() & rental["gpu"].isin(list(gpus))]
    currency = eligible["currency"].astype(str)
    rates = {
        each: exchange_rate(catalog.exchange, each, scenario.currency, scenario.as_of).rate
        for each in sorted(currency.unique())
    }
    rate = currency.map(rates).astype(float)
    price = rent.rent_price_per_card_hour(eligible["price_per_card_hour"], rate)
    priced = eligible.assign(rate=rate, price=price, gpu=eligible["gpu"].astype(str))
    order = {gpu: index for index, gpu in enumerate(gpus)}
    priced = priced.assign(_order=priced["gpu"].map(order))
    priced = priced.sort_values(["price", "age_days", "offer_id"], kind="stable")
    best = priced.drop_duplicates(["gpu", "instance_cards"])
    best = best.sort_values(["_order", "instance_cards"], kind="stable").drop(columns="_order")
    return best.reset_index(drop=True)


def residual_share(age_months: float, points: Sequence[tuple[float, float]]) -> float:
    """What is left of the price at an age: linear between the assumptions, constant outside them."""
    return float(np.interp(age_months, [month for month, _ in points], [share for _, share in points]))
