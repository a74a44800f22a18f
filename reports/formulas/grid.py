"""The cells of the grid of rented hours against rent price."""

from __future__ import annotations

from typing import Any

from reports.formulas.meta import formula

_SOURCE = ("methods-note",)


@formula(unit="currency/month", label="Rent in this cell", symbol="m_{cell}", sources=_SOURCE)
def grid_rent_amount_per_month(rent_equivalent_amount_per_month: Any, hours_share: Any, price_factor: Any) -> Any:
    """The rent of the option for this share of all hours, at this multiple of its price."""
    return rent_equivalent_amount_per_month * hours_share * price_factor


@formula(unit="currency/month", label="Advantage of owning in this cell", symbol="\\Delta_{cell}", sources=_SOURCE)
def grid_saving_of_cell_amount_per_month(
    rent_equivalent_amount_per_month: Any,
    hours_share: Any,
    price_factor: Any,
    buy_equivalent_amount_per_month: Any,
) -> Any:
    """The rent of the cell less the cost of owning; negative where renting is cheaper."""
    return rent_equivalent_amount_per_month * hours_share * price_factor - buy_equivalent_amount_per_month


FORMULAS = (grid_rent_amount_per_month, grid_saving_of_cell_amount_per_month)
