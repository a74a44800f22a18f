"""Own, reserved and rented by the hour: every whole number of servers and reserved instances tried, the cheapest kept.

Exact over the whole numbers and over the hours of a week: nothing is interpolated. Rent that follows the load, a
reserved base with a peak on demand, and pure purchase are the edges of the same table, so the best of it is never
dearer than any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.constants import HOURS_PER_MONTH
from reports.evaluate import compile_blocks, run_program
from reports.formulas import buy, hourly, rent, rent_against_buy
from reports.methods import Block

Values = NDArray[np.float64]

CURVE = (
    "option_id", "owned_servers", "reserved_instances", "card_hours_per_month", "capex_amount", "owning_amount",
    "reserved_amount", "on_demand_amount", "present_cost_amount", "equivalent_amount_per_month", "best",
)  # fmt: skip

MOST_CELLS = 4_000_000
"""Of one table servers x reserved x hours; beyond it the reserved instances are tried in steps, which is said."""

OWNED = ("capex_amount", "buy_present_cost_amount")
"""What is asked of the formulas of owning."""

_OWNED = Block("Owned part", tuple(each for each in buy.FORMULAS if each is not buy.servers_needed))
_PRESENT = Block(
    "Present cost",
    (
        rent_against_buy.monthly_discount_rate,
        rent_against_buy.annuity_factor,
        rent_against_buy.purchase_annuity_factor,
        rent_against_buy.buy_present_cost_amount,
    ),
)


@dataclass(frozen=True)
class Offer:
    """A way to rent: price of a card-hour in the scenario's currency, cards of an instance, months it binds."""

    price: float
    instance_cards: float
    term_months: float = 0.0
    offer_id: str = ""

    def useful(self, stage_cards: float) -> float:
        """Cards of an instance that whole stages fill; 0 when not even one fits."""
        return float(hourly.instance_useful_cards(self.instance_cards, stage_cards))


def blocks(load: Values, hours: int) -> Values:
    """The load when cards are added and removed for ``hours`` at a time only: the highest hour of each block holds."""
    if hours <= 1:
        return load
    size = -(-len(load) // hours) * hours
    padded = np.concatenate([load, np.zeros(size - len(load))]).reshape(-1, hours)
    return np.repeat(padded.max(axis=1), hours)[: len(load)]


WORKING_DAYS, WEEK_DAYS, DAY_HOURS = 5, 7, 24


def business_hours(load: Values, hours_per_week: int) -> NDArray[np.bool_]:
    """The hours of a week, Monday 0 h first, in which cards are open: the same whole hours on Monday to Friday, or on
    every day, at most ``hours_per_week`` and one a day; of all such weeks the one that leaves least load outside.
    """
    found: list[NDArray[np.bool_]] = []
    for days in [WORKING_DAYS, WEEK_DAYS] if hours_per_week >= WEEK_DAYS else [WORKING_DAYS]:
        daily = min(max(hours_per_week // days, 1), DAY_HOURS)
        for start in range(DAY_HOURS - daily + 1):
            window = np.zeros((WEEK_DAYS, DAY_HOURS), dtype=bool)
            window[:days, start : start + daily] = True
            found.append(window.ravel())
    return max(found, key=lambda window: float(load[window].sum()))


def opened(row: Mapping[str, object], window: NDArray[np.bool_], on_demand: Offer | None) -> pd.DataFrame:
    """Cards for the peak, spares and all, in the hours of ``window`` and none outside them; empty without an offer."""
    given = {name: float(value) for name, value in row.items() if isinstance(value, int | float | np.number)}
    useful = on_demand.useful(given["stage_cards"]) if on_demand else 0.0
    if on_demand is None or not useful:
        return pd.DataFrame(columns=list(CURVE))
    cards = hourly.hour_cards(
        hourly.hour_units(1, given["units_needed"], given["sized_units"]), given["development_units"],
        given["unit_cards"],
    )  # fmt: skip
    instances = hourly.hour_instances(cards, 0, 0, 0, 0, useful)
    hours = float(np.sum(window * hourly.hour_card_hours_per_month(instances, on_demand.instance_cards)))
    cost = hours * rent_factors(given, on_demand)
    annuity = rent_against_buy.annuity_factor(
        rent_against_buy.monthly_discount_rate(given["annual_discount_rate"]), given["horizon_months"]
    )
    return pd.DataFrame(
        {
            "option_id": [str(row["option_id"])], "owned_servers": 0.0, "reserved_instances": 0.0,
            "card_hours_per_month": hours, "capex_amount": 0.0, "owning_amount": 0.0, "reserved_amount": 0.0,
            "on_demand_amount": cost, "present_cost_amount": cost, "equivalent_amount_per_month": cost / annuity,
            "best": True,
        }
    )  # fmt: skip


def owned_columns(row: Mapping[str, object], servers: Values) -> dict[str, object]:
    """Every column of owning for each number of servers, network and all."""
    columns: dict[str, object] = {
        str(name): float(value)
        for name, value in row.items()
        if isinstance(value, int | float | np.number) and not isinstance(value, bool)
    }
    made = {name for block in (_OWNED, _PRESENT) for name in block.made()}
    columns = {name: value for name, value in columns.items() if name not in made} | {"servers_needed": servers}
    with np.errstate(all="ignore"):
        run_program(compile_blocks((_OWNED, _PRESENT), columns), columns)
    return columns


def _owned(row: Mapping[str, object], servers: Values) -> dict[str, Values]:
    columns = owned_columns(row, servers)
    return {
        name: np.where(servers > 0, np.broadcast_to(np.asarray(columns[name], dtype=float), servers.shape), 0.0)
        for name in OWNED
    }


def owning(row: Mapping[str, object], servers: Values) -> Values:
    """Present cost of owning each number of servers, from day 0 to the horizon."""
    return _owned(row, servers)["buy_present_cost_amount"]


def rent_factors(row: Mapping[str, float], offer: Offer) -> float:
    """Present cost of one card-hour a month over the horizon at this offer: tax, extras, price change, discount, and
    what ends a term that binds for longer."""
    move = rent_move(row, offer)
    rate = rent_against_buy.monthly_discount_rate(row["annual_discount_rate"])
    step = rent_against_buy.rent_step_ratio(move, row["annual_discount_rate"])
    tax = 1 + rent.rent_tax_amount_per_month(1, row["vat_services_ratio"], row["vat_recoverable_share"])
    credit = rent.rent_sla_credit_amount_per_month(1, row["sla_credit_share"])
    hour = offer.price * (tax - credit) + sum(extras_per_card_hour(row).values())
    horizon = row["horizon_months"]
    annuity = rent_against_buy.rent_annuity_factor(step, rate, horizon)
    return float(rent_against_buy.rent_present_cost_amount(hour, annuity, early_end(row, offer), rate, horizon))


def early_end(row: Mapping[str, float], offer: Offer) -> float:
    """What a card-hour a month at this offer pays at the end of the horizon for a term that would bind longer."""
    horizon = row["horizon_months"]
    overhang = rent.rent_overhang_months(offer.term_months, horizon)
    share = row["early_termination_share"]
    return float(rent.early_termination_amount(offer.price, rent_move(row, offer), overhang, share, horizon))


def rent_move(row: Mapping[str, float], offer: Offer) -> float:
    """This offer's price against the year before."""
    return float(rent.rent_move_ratio(row["rent_price_ratio_per_year"], offer.term_months, row["horizon_months"]))


def extras_per_card_hour(row: Mapping[str, float]) -> dict[str, float]:
    """Egress and storage of a card for an hour that it is rented."""
    month = {
        "egress": rent.rent_egress_amount_per_month(1, row["egress_gb_per_card_month"], row["egress_price_per_gb"]),
        "storage": rent.rent_storage_amount_per_month(1, row["storage_gb_per_card"], row["storage_price_per_gb_month"]),
    }
    return {name: float(amount) / HOURS_PER_MONTH for name, amount in month.items()}


def table(
    row: Mapping[str, object], load: Values, on_demand: Offer | None, reserved: Offer | None, *, may_buy: bool = True
) -> pd.DataFrame:
    """Every number of owned servers with its best number of reserved instances, and the best row of all marked.

    ``load``: the hours of a week as shares of the peak. Without ``on_demand`` the peak must be owned or reserved.
    Empty when there is no way at all.
    """
    given = {name: float(value) for name, value in row.items() if isinstance(value, int | float | np.number)}
    stage = given["stage_cards"]
    cards = hourly.hour_cards(
        hourly.hour_units(load, given["units_needed"], given["sized_units"]),
        given["development_units"],
        given["unit_cards"],
    )
    peak = float(np.max(cards))
    can_buy = may_buy and np.isfinite(given.get("server_price", np.nan)) and np.isfinite(given["server_cards"])
    useful_server = float(hourly.server_useful_cards(given["server_cards"], stage)) if can_buy else 1.0
    servers = np.arange(int(np.ceil(peak / useful_server)) + 1 if can_buy else 1, dtype=float)
    useful_reserved = reserved.useful(stage) if reserved else 0.0
    most = int(np.ceil(peak / useful_reserved)) if useful_reserved else 0
    step = max(1, -(-len(servers) * (most + 1) * len(cards) // MOST_CELLS))
    instances = np.unique(np.append(np.arange(0, most + 1, step, dtype=float), float(most)))

    useful = on_demand.useful(stage) if on_demand else 0.0
    owned, booked, needed = np.meshgrid(servers, instances, cards, indexing="ij", sparse=True)
    short = hourly.hour_instances(
        needed, owned, useful_server if can_buy else 0.0, booked, useful_reserved, useful if useful else 1.0
    )
    hours = np.sum(
        hourly.hour_card_hours_per_month(short, on_demand.instance_cards if on_demand and useful else 1.0), axis=-1
    )
    bought = _owned(row, servers) if can_buy else dict.fromkeys(OWNED, np.zeros(1))
    own = bought["buy_present_cost_amount"][:, np.newaxis]
    booked_cost = (
        instances * reserved.instance_cards * HOURS_PER_MONTH * rent_factors(given, reserved)
        if reserved and useful_reserved
        else np.zeros_like(instances)
    )
    by_hour = hours * rent_factors(given, on_demand) if on_demand and useful else np.where(hours > 0, np.inf, 0.0)
    cost = own + booked_cost[np.newaxis, :] + by_hour
    best = np.argmin(cost, axis=1)
    at = np.arange(len(servers))
    total = cost[at, best]
    annuity = rent_against_buy.annuity_factor(
        rent_against_buy.monthly_discount_rate(given["annual_discount_rate"]), given["horizon_months"]
    )
    frame = pd.DataFrame(
        {
            "option_id": str(row["option_id"]),
            "owned_servers": servers,
            "reserved_instances": instances[best],
            "card_hours_per_month": hours[at, best],
            "capex_amount": np.broadcast_to(bought["capex_amount"], servers.shape),
            "owning_amount": np.broadcast_to(own[:, 0], servers.shape),
            "reserved_amount": booked_cost[best],
            "on_demand_amount": by_hour[at, best],
            "present_cost_amount": total,
            "equivalent_amount_per_month": total / annuity,
            "best": False,
        }
    )
    frame = frame[np.isfinite(frame["present_cost_amount"])].reset_index(drop=True)
    if len(frame):
        frame.loc[int(frame["present_cost_amount"].idxmin()), "best"] = True
    return frame[list(CURVE)]
