"""What an option costs, draws and emits for each thing it delivers: tokens, seats, cards."""

from __future__ import annotations

from typing import Any

from reports.constants import HOURS_PER_MONTH
from reports.formulas.meta import formula

_SOURCE = ("methods-note",)


@formula(unit="Mtok/month", label="Tokens of an average month, in and out", symbol="T_{all}", sources=_SOURCE)
def all_mtok_per_month(output_mtok_per_month: Any, input_mean_tokens: Any, output_mean_tokens: Any) -> Any:
    """Prompts and answers in proportion to their mean lengths."""
    return output_mtok_per_month * (input_mean_tokens + output_mean_tokens) / output_mean_tokens


@formula(unit="currency/Mtok", label="Renting, per million tokens in and out", symbol="k'_{rent}", sources=_SOURCE)
def rent_all_amount_per_mtok(rent_equivalent_amount_per_month: Any, all_mtok_per_month: Any) -> Any:
    """Equivalent monthly cost over all tokens of an average month."""
    return rent_equivalent_amount_per_month / all_mtok_per_month


@formula(unit="currency/Mtok", label="Owning, per million tokens in and out", symbol="k'_{buy}", sources=_SOURCE)
def buy_all_amount_per_mtok(buy_equivalent_amount_per_month: Any, all_mtok_per_month: Any) -> Any:
    """Equivalent monthly cost over all tokens of an average month."""
    return buy_equivalent_amount_per_month / all_mtok_per_month


@formula(
    unit="currency/seat-month", label="Renting, per concurrent seat and month", symbol="k_{s,rent}", sources=_SOURCE
)  # fmt: skip
def rent_amount_per_seat_month(rent_equivalent_amount_per_month: Any, demand_concurrency: Any) -> Any:
    """A seat is one request in flight at the peak."""
    return rent_equivalent_amount_per_month / demand_concurrency


@formula(unit="currency/seat-month", label="Owning, per concurrent seat and month", symbol="k_{s,buy}", sources=_SOURCE)
def buy_amount_per_seat_month(buy_equivalent_amount_per_month: Any, demand_concurrency: Any) -> Any:
    """A seat is one request in flight at the peak."""
    return buy_equivalent_amount_per_month / demand_concurrency


@formula(unit="currency/card-month", label="Renting, per card and month", symbol="k_{c,rent}", sources=_SOURCE)
def rent_amount_per_card_month(rent_equivalent_amount_per_month: Any, rented_cards: Any) -> Any:
    """Over every card that is paid for, used or not."""
    return rent_equivalent_amount_per_month / rented_cards


@formula(unit="currency/card-month", label="Owning, per card and month", symbol="k_{c,buy}", sources=_SOURCE)
def buy_amount_per_card_month(buy_equivalent_amount_per_month: Any, bought_cards: Any) -> Any:
    """Over every card that is bought, used or not."""
    return buy_equivalent_amount_per_month / bought_cards


@formula(unit="kWh/month", label="Energy per month of rented cards", symbol="E_{rent}", sources=_SOURCE)
def rent_energy_kwh_per_month(
    rented_cards: Any,
    server_power_kw: Any,
    server_cards: Any,
    idle_power_share: Any,
    average_utilisation: Any,
    pue: Any,
) -> Any:
    """The provider's servers are taken to draw what owned ones would, in a building of the same effectiveness."""
    return (
        rented_cards
        * server_power_kw
        / server_cards
        * (idle_power_share + average_utilisation * (1 - idle_power_share))
        * pue
        * HOURS_PER_MONTH
    )


@formula(unit="kg/month", label="Emissions per month of rented cards, CO2e", symbol="G_{rent}", sources=_SOURCE)
def rent_emissions_kg_per_month(rent_energy_kwh_per_month: Any, grid_kg_per_kwh: Any) -> Any:
    """Energy at the grid's factor: operation alone, without what making the servers emitted."""
    return rent_energy_kwh_per_month * grid_kg_per_kwh


@formula(unit="kg/month", label="Emissions per month of owned servers, CO2e", symbol="G_{buy}", sources=_SOURCE)
def buy_emissions_kg_per_month(energy_kwh_per_month: Any, grid_kg_per_kwh: Any) -> Any:
    """Energy at the grid's factor: operation alone, without what making the servers emitted."""
    return energy_kwh_per_month * grid_kg_per_kwh


@formula(unit="kWh/Mtok", label="Energy of rented cards per million output tokens", symbol="e_{rent}", sources=_SOURCE)
def rent_energy_kwh_per_mtok(rent_energy_kwh_per_month: Any, output_mtok_per_month: Any) -> Any:
    """At the meter of the building, over the output of an average month."""
    return rent_energy_kwh_per_month / output_mtok_per_month


@formula(unit="kWh/Mtok", label="Energy of owned servers per million output tokens", symbol="e_{buy}", sources=_SOURCE)
def buy_energy_kwh_per_mtok(energy_kwh_per_month: Any, output_mtok_per_month: Any) -> Any:
    """At the meter of the building, over the output of an average month."""
    return energy_kwh_per_month / output_mtok_per_month


@formula(
    unit="kg/Mtok", label="Emissions of rented cards per million output tokens", symbol="g_{t,rent}", sources=_SOURCE
)  # fmt: skip
def rent_emissions_kg_per_mtok(rent_emissions_kg_per_month: Any, output_mtok_per_month: Any) -> Any:
    """CO2e over the output of an average month."""
    return rent_emissions_kg_per_month / output_mtok_per_month


@formula(
    unit="kg/Mtok", label="Emissions of owned servers per million output tokens", symbol="g_{t,buy}", sources=_SOURCE
)  # fmt: skip
def buy_emissions_kg_per_mtok(buy_emissions_kg_per_month: Any, output_mtok_per_month: Any) -> Any:
    """CO2e over the output of an average month."""
    return buy_emissions_kg_per_month / output_mtok_per_month


FORMULAS = (
    all_mtok_per_month,
    rent_all_amount_per_mtok,
    buy_all_amount_per_mtok,
    rent_amount_per_seat_month,
    buy_amount_per_seat_month,
    rent_amount_per_card_month,
    buy_amount_per_card_month,
    rent_energy_kwh_per_month,
    rent_emissions_kg_per_month,
    buy_emissions_kg_per_month,
    rent_energy_kwh_per_mtok,
    buy_energy_kwh_per_mtok,
    rent_emissions_kg_per_mtok,
    buy_emissions_kg_per_mtok,
)
