"""The rows of the growth timeline in reading order: one value a month, and the figures drawn from them."""

from __future__ import annotations

from dataclasses import dataclass

from reports.formulas import cashflow, growth, growth_money, rent, resilience, sizing
from reports.formulas.aggregate import (
    AHEAD,
    BEHIND,
    CUMULATIVE_MAX,
    CUMULATIVE_SUM,
    FIRST_WHERE,
    LARGEST,
    NPV,
    PREVIOUS,
    RENEWED,
    TOTAL,
    Aggregate,
)
from reports.formulas.meta import Formula, info

MONTH = "month"
"""0 is the month of the report."""

GIVEN, SOLVED = "given", "solved"


@dataclass(frozen=True)
class PlanRow:
    """One row of the timeline, or one figure drawn from it."""

    column: str
    unit: str
    label: str
    symbol: str
    reads: tuple[str, ...] = ()
    """Rows above, columns of the option, or ``month``: in the order of the formula's parameters."""
    formula: Formula | None = None
    aggregate: Aggregate | None = None
    source: str = ""
    """``given`` by the scenario, or ``solved`` by a search; empty for what a formula or an aggregate makes."""


def _row(function: Formula, column: str = "", label: str = "", **renamed: str) -> PlanRow:
    """A formula whose inputs are other columns than its parameters say: those of the month."""
    known = info(function)
    reads = tuple(renamed.get(name, name) for name in known.inputs)
    return PlanRow(column or known.name, known.unit, label or known.label, known.symbol, reads, formula=function)


def _along(column: str, unit: str, label: str, symbol: str, aggregate: Aggregate, *reads: str) -> PlanRow:
    return PlanRow(column, unit, label, symbol, reads, aggregate=aggregate)


TIMELINE: tuple[PlanRow, ...] = (
    PlanRow("listed_factor", "ratio", "Demand against today, as listed", "g_0", source=GIVEN),
    _row(growth.demand_growth_factor),
    _row(growth.month_demand_concurrency),
    _row(sizing.units_needed, "month_units_needed", demand_concurrency="month_demand_concurrency"),
    PlanRow(
        "month_availability_spare_units", "units", "Spare units for the availability", "r_A", source=SOLVED
    ),
    _row(
        resilience.spare_units, "month_spare_units",
        units_needed="month_units_needed", availability_spare_units="month_availability_spare_units",
    ),
    _row(
        resilience.sized_units, "month_sized_units",
        units_needed="month_units_needed", spare_units="month_spare_units",
    ),
    _row(resilience.development_units, "month_development_units", units_needed="month_units_needed"),
    _row(
        resilience.sized_cards, "month_cards",
        sized_units="month_sized_units", development_units="month_development_units",
    ),
    _row(growth.month_servers),
    PlanRow("fleet_servers", "servers", "Servers of today's fleet", "n_{0}", source=GIVEN),
    _row(growth.lacking_servers),
    _row(growth.exhausted_flag),
    _along("ahead_servers", "servers", "Servers lacking when an order of this month arrives", "n_{gap}'", AHEAD,
           "lacking_servers", "lead_time_months"),
    _along("wanted_servers", "servers", "Servers to have ordered by now", "W", CUMULATIVE_MAX, "ahead_servers"),
    _row(growth.budget_servers),
    _row(growth.affordable_servers),
    _row(growth.ordered_total_servers),
    _along("ordered_before_servers", "servers", "Servers ordered before", "O'", PREVIOUS, "ordered_total_servers"),
    _row(growth.ordered_servers),
    _row(growth.order_amount),
    _along("arrived_servers", "servers", "Servers delivered so far", "n_{arr}", BEHIND,
           "ordered_total_servers", "lead_time_months"),
    _row(growth.owned_servers),
    _row(growth.owned_cards),
    _row(growth.bridge_cards),
    _row(rent.rented_instances, "bridge_instances", "Instances rented as the bridge", sized_cards="bridge_cards"),
    _row(rent.rented_cards, "bridge_rented_cards", "Cards of these instances", rented_instances="bridge_instances"),
    _row(rent.rent_amount_per_month, "bridge_amount_per_month", "Rent of the bridge",
         rented_cards="bridge_rented_cards"),
    _row(growth.idle_cards),
)  # fmt: skip
"""One value a month each, in reading order."""

RESULTS: tuple[PlanRow, ...] = (
    _along("exhausted_month", "month", "Month in which today's fleet is exhausted", "m^*", FIRST_WHERE,
           "exhausted_flag", MONTH),
    _along("most_cards", "cards", "Most cards needed in a month", "N_{max}", LARGEST, "month_cards"),
    _along("orders_servers", "servers", "Servers ordered, in total", "O_H", LARGEST, "ordered_total_servers"),
    _along("orders_amount", "currency", "Amount of all orders", "C_{ord}", TOTAL, "order_amount"),
    _along("bridge_largest_cards", "cards", "Most cards rented at once", "N_{br}", LARGEST, "bridge_cards"),
    _along("bridge_amount", "currency", "Rent of the bridge, in total", "C_{br}", TOTAL, "bridge_amount_per_month"),
    _along("idle_card_months", "card-months", "Card-months that stand idle", "I", TOTAL, "idle_cards"),
    _along("owned_card_months", "card-months", "Card-months at hand", "N_H", TOTAL, "owned_cards"),
    _row(growth.idle_share),
)  # fmt: skip
"""One value an option each."""

COMPARED: tuple[PlanRow, ...] = (
    _row(growth.bridge_cards, "all_rent_cards", "All rented: cards needed beside today's fleet",
         owned_servers="fleet_servers"),
    _row(rent.rented_instances, "all_rent_instances", "All rented: instances", sized_cards="all_rent_cards"),
    _row(rent.rented_cards, "all_rented_cards", "All rented: cards of these instances",
         rented_instances="all_rent_instances"),
    _row(growth_money.month_rent_amount, "all_rent_amount", "All rented: rent of the month",
         month_rented_cards="all_rented_cards"),
    _along("all_rent_due_amount", "currency", "All rented: rent due for the month before", "k_{rent}'", PREVIOUS,
           "all_rent_amount"),
    _row(cashflow.rent_price_factor),
    _row(growth_money.growing_rent_cash_amount, rent_due_amount="all_rent_due_amount"),
    _along("affordable_before_servers", "servers", "Bought: servers ordered before", "n_{ord}'", PREVIOUS,
           "affordable_servers"),
    _row(growth_money.useful_ordered_servers),
    _along("useful_total_servers", "servers", "Bought: servers ordered so far", "O", CUMULATIVE_SUM,
           "useful_ordered_servers"),
    _along("useful_arrived_servers", "servers", "Bought: servers delivered so far", "n_{arr}", BEHIND,
           "useful_total_servers", "lead_time_months"),
    _row(growth.owned_servers, "useful_owned_servers", "Bought: servers at hand",
         arrived_servers="useful_arrived_servers"),
    _row(growth.bridge_cards, "wait_cards", "Bought: cards rented until orders arrive",
         owned_servers="useful_owned_servers"),
    _row(rent.rented_instances, "wait_instances", "Bought: instances of the bridge", sized_cards="wait_cards"),
    _row(rent.rented_cards, "wait_rented_cards", "Bought: cards of these instances",
         rented_instances="wait_instances"),
    _row(growth_money.month_rent_amount, "wait_rent_amount", "Bought: rent of the bridge",
         month_rented_cards="wait_rented_cards"),
    _along("wait_due_amount", "currency", "Bought: rent due for the month before", "k_{br}'", PREVIOUS,
           "wait_rent_amount"),
    _row(growth_money.growing_rent_cash_amount, "growing_bridge_cash_amount", "Rent of the bridge paid",
         rent_due_amount="wait_due_amount"),
    _along("bought_servers", "servers", "Bought: servers paid, renewals included", "b_{m}", RENEWED,
           "useful_ordered_servers", "service_life_months"),
    _row(growth_money.growing_capex_cash_amount),
    _along("ran_servers", "servers", "Bought: servers that ran in the month before", "n_{run}", PREVIOUS,
           "useful_arrived_servers"),
    _row(growth_money.growing_running_cash_amount),
    _row(growth_money.order_residual_amount),
    _along("residual_so_far_amount", "currency", "Value left at the end of all orders so far", "C_{res}",
           CUMULATIVE_SUM, "order_residual_amount"),
    _row(growth_money.growing_buy_cash_amount),
    _row(cashflow.discount_factor),
    _row(cashflow.rent_discounted_amount, "growing_rent_discounted_amount", "Rent as the demand grows, discounted",
         rent_cash_amount="growing_rent_cash_amount"),
    _row(cashflow.buy_discounted_amount, "growing_buy_discounted_amount", "Owning as the demand grows, discounted",
         buy_cash_amount="growing_buy_cash_amount"),
    _along("growing_rent_cumulative_amount", "currency", "Rent as the demand grows, cumulative", "D_{rent}",
           CUMULATIVE_SUM, "growing_rent_discounted_amount"),
    _along("growing_buy_cumulative_amount", "currency", "Owning as the demand grows, cumulative", "D_{buy}",
           CUMULATIVE_SUM, "growing_buy_discounted_amount"),
    _row(cashflow.rent_passed_flag, "growing_passed_flag",
         rent_cumulative_amount="growing_rent_cumulative_amount",
         buy_cumulative_amount="growing_buy_cumulative_amount"),
)  # fmt: skip
"""Rent against buy month by month, where demand or fleet changes: two plans for the same months."""

COMPARED_RESULTS: tuple[PlanRow, ...] = (
    _along("growing_rent_npv_amount", "currency", "Renting as the demand grows, net present value", "NPV_{rent}", NPV,
           "growing_rent_cash_amount", "discount_factor"),
    _along("growing_buy_npv_amount", "currency", "Owning as the demand grows, net present value", "NPV_{buy}", NPV,
           "growing_buy_cash_amount", "discount_factor"),
    _row(growth_money.growing_rent_equivalent_amount_per_month),
    _row(growth_money.growing_buy_equivalent_amount_per_month),
    _along("growing_break_even_month", "month", "Month in which renting has cost more than owning, as demand grows",
           "m^*", FIRST_WHERE, "growing_passed_flag", MONTH),
)  # fmt: skip
"""One value an option each."""

NEVER_WHEN_BLANK = frozenset(("exhausted_month", "growing_break_even_month"))
"""Results that are a month, or never."""

ROWS_OF_MONTHS = frozenset({MONTH, *(row.column for row in (*TIMELINE, *COMPARED))})
