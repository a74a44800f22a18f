"""Cost lines: every amount as quantity times unit price, in its month, with its source. Totals only add these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.constants import HOURS_PER_MONTH
from reports.errors import GpubookError
from reports.formulas import buy, rent, rent_against_buy
from reports.formulas.meta import Array, info
from reports.scenario.schema import Scenario

COLUMNS = (
    "scenario", "candidate_id", "option", "view", "month", "line", "quantity", "unit", "unit_price", "currency",
    "amount", "source",
)  # fmt: skip

RENT, BUY = "rent", "buy"
EVERY_MONTH, FIRST_DAY, END = "every month", "day of purchase", "end of the horizon"


@dataclass(frozen=True)
class LineKind:
    """One kind of cost line. The amount is a column of the option (per month for monthly lines)."""

    line: str
    label: str
    option: str
    when: str
    amount: str
    quantity: str
    quantity_factor: float
    unit: str
    source: str
    """A column that names a price row, or ``assumption:<name>``."""
    inflow: bool = False
    factor: str = ""
    """A row of the timeline that the amount of each month is multiplied by."""


RENT_FACTOR, PURCHASES = "rent_price_factor", "purchase_flag"

LINES: tuple[LineKind, ...] = (
    LineKind(
        "rent", "Rent", RENT, EVERY_MONTH, "rent_amount_per_month", "rented_cards", HOURS_PER_MONTH, "card-h",
        "offer_id", factor=RENT_FACTOR,
    ),
    LineKind(
        "rent-egress", "Egress", RENT, EVERY_MONTH, "rent_egress_amount_per_month", "rented_cards", 1, "card-month",
        "assumption:egress_price_per_gb", factor=RENT_FACTOR,
    ),
    LineKind(
        "rent-storage", "Storage", RENT, EVERY_MONTH, "rent_storage_amount_per_month", "rented_cards", 1,
        "card-month", "assumption:storage_price_per_gb_month", factor=RENT_FACTOR,
    ),
    LineKind(
        "sla-credit", "Credit for missed availability", RENT, EVERY_MONTH, "rent_sla_credit_amount_per_month",
        "rented_cards", 1, "card-month", "assumption:sla_credit_share", inflow=True, factor=RENT_FACTOR,
    ),
    LineKind(
        "rent-tax", "Tax not recovered", RENT, EVERY_MONTH, "rent_tax_amount_per_month", "rented_cards", 1,
        "card-month", "assumption:vat_services_ratio", factor=RENT_FACTOR,
    ),
    LineKind(
        "early-termination", "Early end of the rent", RENT, END, "early_termination_amount", "rented_cards", 1, "card",
        "assumption:early_termination_share",
    ),
    LineKind("servers", "Servers", BUY, FIRST_DAY, "hardware_amount", "servers_needed", 1, "server", "purchase_id",
             factor=PURCHASES),
    LineKind(
        "network", "Network between servers", BUY, FIRST_DAY, "network_amount", "servers_needed", 1, "server",
        "assumption:network_share", factor=PURCHASES,
    ),
    LineKind(
        "delivery", "Delivery", BUY, FIRST_DAY, "delivery_amount", "servers_needed", 1, "server",
        "assumption:delivery_share", factor=PURCHASES,
    ),
    LineKind(
        "installation", "Installation", BUY, FIRST_DAY, "installation_amount", "servers_needed", 1, "server",
        "assumption:installation_share", factor=PURCHASES,
    ),
    LineKind(
        "spare-parts", "Spare parts", BUY, FIRST_DAY, "spare_parts_amount", "servers_needed", 1, "server",
        "assumption:spare_parts_share", factor=PURCHASES,
    ),
    LineKind(
        "purchase-tax", "Tax on the purchase not recovered", BUY, FIRST_DAY, "purchase_tax_amount", "servers_needed",
        1, "server", "assumption:vat_goods_ratio", factor=PURCHASES,
    ),
    LineKind(
        "energy", "Electricity", BUY, EVERY_MONTH, "energy_amount_per_month", "energy_kwh_per_month", 1, "kWh",
        "assumption:electricity_price_per_kwh",
    ),
    LineKind(
        "colocation", "Colocation", BUY, EVERY_MONTH, "colocation_amount_per_month", "power_max_kw", 1, "kW-month",
        "assumption:colocation_price_per_kw_month",
    ),
    LineKind(
        "maintenance", "Maintenance", BUY, EVERY_MONTH, "maintenance_amount_per_month", "servers_needed", 1,
        "server-month", "assumption:maintenance_share_per_year",
    ),
    LineKind(
        "staff", "Staff", BUY, EVERY_MONTH, "staff_amount_per_month", "bought_cards", 1, "card-month",
        "assumption:staff_fte_per_100_cards",
    ),
    LineKind(
        "insurance", "Insurance", BUY, EVERY_MONTH, "insurance_amount_per_month", "servers_needed", 1,
        "server-month", "assumption:insurance_share_per_year",
    ),
    LineKind(
        "licences", "Licences", BUY, EVERY_MONTH, "licence_amount_per_month", "bought_cards", 1, "card-month",
        "assumption:licence_price_per_card_year",
    ),
    LineKind(
        "running-tax", "Tax on running cost not recovered", BUY, EVERY_MONTH, "running_tax_amount_per_month",
        "servers_needed", 1, "server-month", "assumption:vat_services_ratio",
    ),
    LineKind(
        "residual", "Value left at the end", BUY, END, "residual_amount", "servers_needed", 1, "server",
        "assumption:residual_share", inflow=True,
    ),
)  # fmt: skip
"""A new kind of cost is one more record here and a term of its total; what documents say is counted follows."""

OTHER_COSTS: dict[str, str] = {"income-tax": "income tax", "land": "land and buildings"}
"""What readers ask for: said to be not included, until a line of that name is."""

TOTALS: dict[tuple[str, str], Callable[..., Any]] = {
    (RENT, EVERY_MONTH): rent.rent_total_amount_per_month,
    (RENT, END): rent_against_buy.rent_present_cost_amount,
    (BUY, FIRST_DAY): buy.capex_amount,
    (BUY, EVERY_MONTH): buy.running_amount_per_month,
    (BUY, END): rent_against_buy.buy_present_cost_amount,
}
"""The formula of the cash flow that takes in the lines of a way and a time: each is an argument of it."""


def left_out() -> list[str]:
    """Terms that a total lacks or has without a line, in words; empty when lines and cash flow agree."""
    found = []
    for kind in LINES:
        total = TOTALS.get((kind.option, kind.when))
        if total is None:
            found.append(f"cost line {kind.line}: the cash flow of {kind.option} pays nothing at the {kind.when}")
        elif kind.amount not in info(total).inputs:
            found.append(f"cost line {kind.line}: {kind.amount} is not a term of the formula {info(total).name}")
    for total in (rent.rent_total_amount_per_month, buy.capex_amount, buy.running_amount_per_month):
        terms = set(info(total).inputs) - {kind.amount for kind in LINES}
        found += [f"{info(total).name}: {name} has no cost line" for name in sorted(terms)]
    return found


def included(option: str) -> list[str]:
    """Labels of everything that a way of getting the cards is charged with, in order."""
    return [kind.label for kind in LINES if kind.option == option]


def not_included() -> list[str]:
    """Labels of the costs that readers ask for and no line has."""
    return [label for name, label in OTHER_COSTS.items() if name not in {kind.line for kind in LINES}]


def cost_lines(shortlist: pd.DataFrame, timelines: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    """All lines of renting and of buying for the short list, cash view; a way without a price has no lines.

    Outflows are negative, and ``quantity`` x ``unit_price`` is the size of the amount. Lines that do not add up to the
    cash flow, or a column that nobody makes, are a GpubookError that says what to add.
    """
    problems = [*left_out(), *(problem for kind in LINES for problem in _unknown_columns(kind, shortlist))]
    if problems:
        raise GpubookError("cost lines and cash flow disagree:\n" + "\n".join(f"  {each}" for each in problems))
    parts = [_lines(kind, shortlist, timelines) for kind in LINES]
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    frame.insert(0, "scenario", scenario.name)
    frame["view"] = "cash"
    frame["currency"] = scenario.currency
    frame["_kind"] = frame["line"].map({kind.line: index for index, kind in enumerate(LINES)})
    frame["_way"] = frame["option"].map({RENT: 0, BUY: 1})
    ordered = frame.sort_values(["_row", "_way", "month", "_kind"], kind="stable").reset_index(drop=True)
    return ordered[list(COLUMNS)]


def _unknown_columns(kind: LineKind, shortlist: pd.DataFrame) -> list[str]:
    """Columns of a record that no formula and no leaf makes, each with where to make it."""
    named = {"amount": kind.amount, "quantity": kind.quantity}
    if not kind.source.startswith("assumption:"):
        named["source"] = kind.source
    return [
        f"cost line {kind.line}: its {role} is the column {column}, which nothing makes: "
        f"write the formula {column} in reports/formulas/{kind.option}.py and list it in FORMULAS"
        for role, column in named.items()
        if column not in shortlist
    ]


def _lines(kind: LineKind, shortlist: pd.DataFrame, timelines: pd.DataFrame) -> pd.DataFrame:
    """One row a month in which the line is paid; a factor of 0 in a month is no payment."""
    priced = shortlist[f"{kind.option}_present_cost_amount"].notna().to_numpy()
    options = shortlist[priced]
    horizon = int(timelines["month"].max()) if len(timelines) else 0
    first = {EVERY_MONTH: 1, FIRST_DAY: 0, END: horizon}[kind.when]
    months = np.arange(first, horizon + 1)
    size: Array = options[kind.amount].to_numpy(dtype=float)[:, np.newaxis]
    if kind.factor:
        factors = timelines[kind.factor].to_numpy(dtype=float).reshape(len(shortlist), horizon + 1)[priced]
    else:
        factors = np.ones((len(options), horizon + 1)) if kind.when != FIRST_DAY else np.eye(1, horizon + 1)
    factor = np.broadcast_to(factors, (len(options), horizon + 1))[:, first:]
    quantity = options[kind.quantity].to_numpy(dtype=float)[:, np.newaxis] * kind.quantity_factor
    source = (
        np.full(len(options), kind.source, dtype=object)
        if kind.source.startswith("assumption:")
        else options[kind.source].astype(str).to_numpy(dtype=object)
    )
    paid = (factor != 0).ravel()

    def each_month(values: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(values, factor.shape).ravel()[paid]

    def each_option(values: NDArray[Any]) -> NDArray[Any]:
        return each_month(values[:, np.newaxis])

    amount = size * factor
    return pd.DataFrame(
        {
            "_row": each_option(np.flatnonzero(priced)),
            "candidate_id": each_option(options["candidate_id"].astype(str).to_numpy(dtype=object)),
            "option": kind.option,
            "month": each_month(months),
            "line": kind.line,
            "quantity": each_month(quantity),
            "unit": kind.unit,
            "unit_price": each_month(amount / quantity),
            "amount": each_month(amount if kind.inflow else 0.0 - amount),
            "source": each_option(source),
        }
    )
