"""The ledger: cost lines of every plan beside renting and buying, and what the books show of each month.

Each amount stands in its month, so that the net present value of a plan is the sum of its cash lines, discounted.
Cash and profit-and-loss lines of a plan add up to the same sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.constants import HOURS_PER_MONTH
from reports.cost import hourly, lines
from reports.formulas import cashflow, rent
from reports.scenario.schema import Scenario

Values = NDArray[np.float64]
CASH, PNL = "cash", "pnl"


@dataclass(frozen=True)
class Part:
    """One line of a plan: its signed amounts from month 0 to the horizon."""

    line: str
    views: tuple[str, ...]
    quantity: float
    unit: str
    amounts: Values
    source: str


@dataclass(frozen=True)
class Plan:
    """A candidate, the way it gets its cards, and the lines of it."""

    candidate_id: str
    option: str
    parts: tuple[Part, ...]


def frame(plans: Iterable[Plan], scenario: Scenario) -> pd.DataFrame:
    """The lines of the plans as ``lines.COLUMNS``; months in which nothing is paid have none."""
    rows = []
    for plan in plans:
        for view in (CASH, PNL):
            for part in plan.parts:
                if view in part.views:
                    months = np.flatnonzero(part.amounts)
                    amounts = part.amounts[months]
                    rows.append(
                        pd.DataFrame(
                            {
                                "scenario": scenario.name, "candidate_id": plan.candidate_id, "option": plan.option,
                                "view": view, "month": months, "line": part.line, "quantity": part.quantity,
                                "unit": part.unit, "unit_price": np.abs(amounts) / part.quantity,
                                "currency": scenario.currency, "amount": amounts, "source": part.source,
                            }
                        )
                    )  # fmt: skip
    filled = [each for each in rows if len(each)]
    return pd.concat(filled, ignore_index=True)[list(lines.COLUMNS)] if filled else pd.DataFrame(columns=lines.COLUMNS)


def rent_in_the_books(row: Mapping[str, object], months: pd.DataFrame) -> Iterator[Part]:
    """Rent is an expense of the month it is paid for; its lines are those of the cash view."""
    yield from _as(PNL, _of_kinds(lines.RENT, row, months, {lines.EVERY_MONTH}))


def buy_in_the_books(row: Mapping[str, object], months: pd.DataFrame) -> Iterator[Part]:
    """Running cost, depreciation, and what the sale brings above or below the book value."""
    yield from _as(PNL, _of_kinds(lines.BUY, row, months, {lines.EVERY_MONTH}))
    yield from _written_off(row, months, 1.0)


def loan(row: Mapping[str, object], months: pd.DataFrame) -> Iterator[Part]:
    """Own money and level payments instead of the first outlay; renewals, running cost and the sale as for owning."""
    interest = _along(months, "loan_interest_amount")
    paid = _along(months, "loan_payment_cash_amount")
    first = np.where(np.arange(len(paid)) == 0, paid, 0.0)
    source = "assumption:loan_rate_per_year"
    yield Part("own-money", (CASH,), 1.0, "payment", first, "assumption:loan_down_share")
    yield Part("loan-repayment", (CASH,), 1.0, "payment", paid - first - interest, source)
    yield Part("loan-interest", (CASH, PNL), 1.0, "payment", interest, source)
    for part in _as(CASH, _of_kinds(lines.BUY, row, months, {lines.FIRST_DAY})):
        renewed = np.where(np.arange(len(paid)) == 0, 0.0, part.amounts)
        yield Part(part.line, part.views, part.quantity, part.unit, renewed, part.source)
    yield from _as(CASH, _of_kinds(lines.BUY, row, months, {lines.EVERY_MONTH, lines.END}))
    yield from buy_in_the_books(row, months)


def lease(row: Mapping[str, object], months: pd.DataFrame) -> Iterator[Part]:
    """Lease payments and running cost; in the books the right of use and the interest of the liability (IFRS 16)."""
    source, paid = "assumption:lease_rate_per_year", _along(months, "lease_payment_cash_amount")
    yield Part("lease-payment", (CASH,), 1.0, "payment", paid, source)
    yield Part("right-of-use", (PNL,), 1.0, "month", _along(months, "lease_right_pnl_amount"), source)
    yield Part("lease-interest", (PNL,), 1.0, "month", _along(months, "lease_interest_amount"), source)
    for part in _of_kinds(lines.BUY, row, months, {lines.EVERY_MONTH}):
        yield Part(part.line, (CASH, PNL), part.quantity, part.unit, part.amounts, part.source)


def by_the_hour(
    row: Mapping[str, object],
    months: pd.DataFrame,
    best: Mapping[str, object],
    on_demand: hourly.Offer | None,
    reserved: hourly.Offer | None,
    reserve_share: float = 0.0,
) -> Iterator[Part]:
    """Servers owned, instances reserved and cards rented by the hour, as one row of ``hourly.table`` has them.

    ``reserve_share``: part of the spot price that stands for interruptions, on top of the quoted price.
    """
    servers = _number(best, "owned_servers")
    if servers > 0:
        owned = {
            name: float(np.asarray(value, dtype=float).ravel()[0]) if isinstance(value, np.ndarray) else value
            for name, value in hourly.owned_columns(row, np.array([servers])).items()
        }
        owned = {**row, **owned}
        every = {lines.FIRST_DAY, lines.EVERY_MONTH, lines.END}
        yield from _as(CASH, _of_kinds(lines.BUY, owned, months, every))
        yield from _as(PNL, _of_kinds(lines.BUY, owned, months, {lines.EVERY_MONTH}))
        yield from _written_off(owned, months, _number(owned, "capex_amount") / _number(row, "capex_amount"))
    booked = _number(best, "reserved_instances")
    if reserved and booked > 0:
        hours = booked * reserved.instance_cards * HOURS_PER_MONTH
        yield from _rented(row, months, reserved, hours, "reserved", 0.0)
    if on_demand:
        yield from _rented(row, months, on_demand, _number(best, "card_hours_per_month"), "rent", reserve_share)


def hosted(months: pd.DataFrame, month: Mapping[str, float], output_mtok: float, source: str) -> Iterator[Part]:
    """The traffic of every month at a hosted API: input and output tokens, and the tax on them."""
    for line, name, quantity in (
        ("input-tokens", "input", month["mtok"]),
        ("output-tokens", "output", output_mtok),
        ("api-tax", "tax", month["mtok"] + output_mtok),
    ):
        yield Part(line, (CASH, PNL), quantity, "Mtok", _every_month(months, -month[name]), source)


def every_month(line: str, months: pd.DataFrame, quantity: float, unit: str, amount: float, source: str) -> Part:
    """One payment that is the same every month, an expense of the month."""
    return Part(line, (CASH, PNL), quantity, unit, _every_month(months, -amount), source)


def _rented(
    row: Mapping[str, object], months: pd.DataFrame, offer: hourly.Offer, hours: float, line: str, reserve: float
) -> Iterator[Part]:
    given = {name: float(value) for name, value in row.items() if isinstance(value, int | float | np.number)}
    factor = cashflow.rent_price_factor(months["month"].to_numpy(dtype=float), hourly.rent_move(given, offer))
    amount = hours * offer.price
    tax = float(rent.rent_tax_amount_per_month(amount, given["vat_services_ratio"], given["vat_recoverable_share"]))
    credit = float(rent.rent_sla_credit_amount_per_month(amount, given["sla_credit_share"]))
    extras = hourly.extras_per_card_hour(given)
    quoted = amount / (1 + reserve)
    for name, each, source in (
        (line, quoted, offer.offer_id),
        ("interruption-reserve", amount - quoted, "assumption:spot_reserve_share"),
        (f"{line}-tax", tax, "assumption:vat_services_ratio"),
        (f"{line}-egress", hours * extras["egress"], "assumption:egress_price_per_gb"),
        (f"{line}-storage", hours * extras["storage"], "assumption:storage_price_per_gb_month"),
        ("sla-credit", -credit, "assumption:sla_credit_share"),
    ):
        yield Part(name, (CASH, PNL), hours, "card-h", -each * factor, source)
    last = _paid(lines.END, len(months) - 1)
    ended = -hours * hourly.early_end(given, offer) * last
    yield Part("early-termination", (CASH, PNL), hours, "card-h", ended, "assumption:early_termination_share")


def _written_off(row: Mapping[str, object], months: pd.DataFrame, share: float) -> Iterator[Part]:
    """Depreciation and the sale; ``share``: of the outlay that the timeline of the option has."""
    servers = _number(row, "servers_needed")
    written = _along(months, "depreciation_pnl_amount") * share
    left = np.zeros(len(written))
    left[-1] = _number(row, "residual_amount") - _along(months, "book_value_amount")[-1] * share
    yield Part("depreciation", (PNL,), servers, "server", written, "assumption:book_life_months")
    yield Part("disposal", (PNL,), servers, "server", left, "assumption:residual_share")


def _of_kinds(way: str, row: Mapping[str, object], months: pd.DataFrame, when: set[str]) -> Iterator[Part]:
    last = len(months) - 1
    for kind in lines.LINES:
        if kind.option != way or kind.when not in when:
            continue
        factor = _along(months, kind.factor) if kind.factor else _paid(kind.when, last)
        if kind.when == lines.EVERY_MONTH:
            factor = np.where(np.arange(last + 1) > 0, factor, 0.0)
        size = _number(row, kind.amount) * factor
        source = kind.source if kind.source.startswith("assumption:") else str(row[kind.source])
        quantity = _number(row, kind.quantity) * kind.quantity_factor
        yield Part(kind.line, (CASH,), quantity, kind.unit, size if kind.inflow else -size, source)


def _as(view: str, parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        yield Part(part.line, (view,), part.quantity, part.unit, part.amounts, part.source)


def _paid(when: str, last: int) -> Values:
    months = np.arange(last + 1)
    paid = {lines.FIRST_DAY: months == 0, lines.EVERY_MONTH: months > 0, lines.END: months == last}[when]
    return np.where(paid, 1.0, 0.0)


def _every_month(months: pd.DataFrame, amount: float) -> Values:
    return np.where(months["month"].to_numpy() > 0, amount, 0.0)


def _along(months: pd.DataFrame, row: str) -> Values:
    return months[row].to_numpy(dtype=float)


def _number(row: Mapping[str, object], name: str) -> float:
    return float(row[name])  # type: ignore[arg-type]
