"""What a budget buys of a purchase: whole servers, in the order of the services."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.formulas.meta import floor, formula

_SOURCE = ("methods-note",)


@formula(unit="currency", label="Budget that is left", symbol="B_{left}", sources=_SOURCE)
def left_budget_amount(budget_amount: Any, spent_budget_amount: Any) -> Any:
    """The budget less what the services before took of it."""
    return budget_amount - spent_budget_amount


@formula(unit="servers", label="Servers that the budget buys", symbol="n_{fit}", sources=_SOURCE)
def fitting_servers(
    budget_amount: Any, left_budget_amount: Any, outlay_per_server_amount: Any, servers_needed: Any
) -> Any:
    """Whole servers for what is left of the budget, at most those that are needed; without a budget, all of them."""
    return np.where(
        budget_amount > 0,
        np.minimum(floor(np.maximum(left_budget_amount, 0) / outlay_per_server_amount), servers_needed),
        servers_needed,
    )


@formula(unit="currency", label="Outlay that fits the budget", symbol="C_{fit}", sources=_SOURCE)
def fitting_amount(fitting_servers: Any, outlay_per_server_amount: Any) -> Any:
    """Those servers with their part of the network and the installation."""
    return fitting_servers * outlay_per_server_amount


@formula(unit="currency", label="Outlay beyond the budget", symbol="C_{lack}", sources=_SOURCE)
def lacking_amount(capex_amount: Any, fitting_amount: Any) -> Any:
    """What the rest of the servers costs."""
    return capex_amount - fitting_amount


FORMULAS = (left_budget_amount, fitting_servers, fitting_amount, lacking_amount)
