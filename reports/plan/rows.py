"""The rows of the growth timeline in reading order: one value a month, and the figures drawn from them."""

from __future__ import annotations

from dataclasses import dataclass

from reports.formulas import growth, rent, resilience, sizing
from reports.formulas.aggregate import (
    AHEAD,
    BEHIND,
    CUMULATIVE_MAX,
    FIRST_WHERE,
    LARGEST,
    PREVIOUS,
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

ROWS_OF_MONTHS = frozenset({MONTH, *(row.column for row in TIMELINE)})
