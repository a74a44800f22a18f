"""What owning costs: whole servers on the first day, the running cost every month, what is left at the end.

What is paid is a cost line (``reports.cost.lines``) and a term of the total it belongs to: ``capex_amount`` (day of
purchase, and of every renewal), ``running_amount_per_month`` (every month) or ``residual_amount`` (end of the horizon).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import CARDS_PER_STAFF_RATE, HOURS_PER_MONTH, MONTHS_PER_YEAR
from reports.formulas.meta import ceil, floor, formula

_SOURCE = ("methods-note",)


@formula(unit="servers", label="Servers bought", symbol="n_{buy}", sources=_SOURCE)
def servers_needed(sized_cards: Any, server_cards: Any, stage_cards: Any) -> Any:
    """Whole servers, each filled with whole stages; a stage larger than a server takes whole servers."""
    return ceil(
        sized_cards / (np.maximum(floor(server_cards / stage_cards), 1) * np.minimum(stage_cards, server_cards))
    )


@formula(unit="cards", label="Cards bought", symbol="N_{buy}", sources=_SOURCE)
def bought_cards(servers_needed: Any, server_cards: Any) -> Any:
    """Every card of the servers bought."""
    return servers_needed * server_cards


@formula(unit="currency", label="Price of a server", symbol="p_{srv}", sources=_SOURCE)
def server_amount(server_price: Any, server_exchange_rate: Any) -> Any:
    """The quoted price in the currency of the scenario, at the dated exchange rate."""
    return server_price * server_exchange_rate


@formula(unit="currency", label="Servers", symbol="C_{srv}", sources=_SOURCE)
def hardware_amount(servers_needed: Any, server_amount: Any) -> Any:
    """Paid on the day of purchase."""
    return servers_needed * server_amount


@formula(unit="currency", label="Network between servers", symbol="C_{net}", sources=_SOURCE)
def network_amount(hardware_amount: Any, servers_needed: Any, network_share: Any) -> Any:
    """Switches, cards and optics as a share of the servers; a single server needs none."""
    return hardware_amount * np.where(servers_needed > 1, network_share, 0)


@formula(unit="currency", label="Delivery", symbol="C_{dlv}", sources=_SOURCE)
def delivery_amount(hardware_amount: Any, delivery_share: Any) -> Any:
    """Freight, insurance on the way and customs clearance, as a share of the servers."""
    return hardware_amount * delivery_share


@formula(unit="currency", label="Installation", symbol="C_{ins}", sources=_SOURCE)
def installation_amount(hardware_amount: Any, installation_share: Any) -> Any:
    """Racking, cabling and acceptance, as a share of the servers."""
    return hardware_amount * installation_share


@formula(unit="currency", label="Spare parts", symbol="C_{spr}", sources=_SOURCE)
def spare_parts_amount(hardware_amount: Any, spare_parts_share: Any) -> Any:
    """Parts kept on the shelf; whole spare units are counted among the cards."""
    return hardware_amount * spare_parts_share


@formula(unit="currency", label="Tax on the purchase that is not recovered", symbol="C_{vat}", sources=_SOURCE)
def purchase_tax_amount(
    hardware_amount: Any,
    network_amount: Any,
    delivery_amount: Any,
    installation_amount: Any,
    spare_parts_amount: Any,
    vat_goods_ratio: Any,
    vat_recoverable_share: Any,
) -> Any:
    """Value-added tax on everything paid on the first day, less what the company gets back. Prices are without it."""
    return (
        (hardware_amount + network_amount + delivery_amount + installation_amount + spare_parts_amount)
        * vat_goods_ratio
        * (1 - vat_recoverable_share)
    )


@formula(unit="currency", label="Capital outlay", symbol="C_{capex}", sources=_SOURCE)
def capex_amount(
    hardware_amount: Any,
    network_amount: Any,
    delivery_amount: Any,
    installation_amount: Any,
    spare_parts_amount: Any,
    purchase_tax_amount: Any,
) -> Any:
    """What is paid on the day of purchase."""
    return (
        hardware_amount
        + network_amount
        + delivery_amount
        + installation_amount
        + spare_parts_amount
        + purchase_tax_amount
    )


@formula(unit="currency", label="Value left at the end", symbol="C_{res}", sources=_SOURCE)
def residual_amount(hardware_amount: Any, residual_share: Any) -> Any:
    """What the servers fetch at the end of the horizon; the network is taken to be worth nothing then."""
    return hardware_amount * residual_share


@formula(unit="kW", label="Most power of all servers", symbol="P_{max}", sources=_SOURCE)
def power_max_kw(servers_needed: Any, server_power_kw: Any) -> Any:
    """What the room must be able to deliver, and what colocation is billed by."""
    return servers_needed * server_power_kw


@formula(unit="kW", label="Average power of all servers", symbol="P_{avg}", sources=_SOURCE)
def power_kw(power_max_kw: Any, idle_power_share: Any, average_utilisation: Any) -> Any:
    """Idle power, and the rest in proportion to the average load."""
    return power_max_kw * (idle_power_share + average_utilisation * (1 - idle_power_share))


@formula(unit="kWh/month", label="Energy per month", symbol="E_{kWh}", sources=_SOURCE)
def energy_kwh_per_month(power_kw: Any, pue: Any) -> Any:
    """At the meter of the building: the servers' energy times the power usage effectiveness."""
    return power_kw * pue * HOURS_PER_MONTH


@formula(unit="currency/month", label="Electricity per month", symbol="K_{el}", sources=_SOURCE)
def energy_amount_per_month(energy_kwh_per_month: Any, electricity_price_per_kwh: Any) -> Any:
    """Energy at the tariff."""
    return energy_kwh_per_month * electricity_price_per_kwh


@formula(unit="currency/month", label="Colocation per month", symbol="K_{colo}", sources=_SOURCE)
def colocation_amount_per_month(power_max_kw: Any, colocation_price_per_kw_month: Any) -> Any:
    """Space, cooling plant and power feed, billed by the most power; electricity is a line of its own."""
    return power_max_kw * colocation_price_per_kw_month


@formula(unit="currency/month", label="Maintenance per month", symbol="K_{mnt}", sources=_SOURCE)
def maintenance_amount_per_month(hardware_amount: Any, maintenance_share_per_year: Any) -> Any:
    """A yearly share of the price of the servers."""
    return hardware_amount * maintenance_share_per_year / MONTHS_PER_YEAR


@formula(unit="currency/month", label="Staff per month", symbol="K_{staff}", sources=_SOURCE)
def staff_amount_per_month(bought_cards: Any, staff_fte_per_100_cards: Any, staff_cost_per_fte_year: Any) -> Any:
    """Operations staff in proportion to the cards: the smallest team of a first cluster is not charged to one
    service."""
    return bought_cards / CARDS_PER_STAFF_RATE * staff_fte_per_100_cards * staff_cost_per_fte_year / MONTHS_PER_YEAR


@formula(unit="currency/month", label="Insurance per month", symbol="K_{insur}", sources=_SOURCE)
def insurance_amount_per_month(hardware_amount: Any, insurance_share_per_year: Any) -> Any:
    """A yearly share of the price of the servers."""
    return hardware_amount * insurance_share_per_year / MONTHS_PER_YEAR


@formula(unit="currency/month", label="Licences per month", symbol="K_{lic}", sources=_SOURCE)
def licence_amount_per_month(bought_cards: Any, licence_price_per_card_year: Any) -> Any:
    """Software that is licensed by the card and year."""
    return bought_cards * licence_price_per_card_year / MONTHS_PER_YEAR


@formula(unit="currency/month", label="Tax on running cost that is not recovered", symbol="K_{vat}", sources=_SOURCE)
def running_tax_amount_per_month(
    energy_amount_per_month: Any,
    colocation_amount_per_month: Any,
    maintenance_amount_per_month: Any,
    insurance_amount_per_month: Any,
    licence_amount_per_month: Any,
    vat_services_ratio: Any,
    vat_recoverable_share: Any,
) -> Any:
    """Value-added tax on what is bought every month; wages carry none."""
    return (
        (
            energy_amount_per_month
            + colocation_amount_per_month
            + maintenance_amount_per_month
            + insurance_amount_per_month
            + licence_amount_per_month
        )
        * vat_services_ratio
        * (1 - vat_recoverable_share)
    )


@formula(unit="currency/month", label="Running cost per month", symbol="K_{run}", sources=_SOURCE)
def running_amount_per_month(
    energy_amount_per_month: Any,
    colocation_amount_per_month: Any,
    maintenance_amount_per_month: Any,
    staff_amount_per_month: Any,
    insurance_amount_per_month: Any,
    licence_amount_per_month: Any,
    running_tax_amount_per_month: Any,
) -> Any:
    """The cost lines of owning that are paid at the end of every month, added."""
    return (
        energy_amount_per_month
        + colocation_amount_per_month
        + maintenance_amount_per_month
        + staff_amount_per_month
        + insurance_amount_per_month
        + licence_amount_per_month
        + running_tax_amount_per_month
    )


@formula(unit="currency/month", label="Running cost that stops with the load", symbol="K_{marg}", sources=_SOURCE)
def marginal_amount_per_month(
    energy_amount_per_month: Any, idle_power_share: Any, power_max_kw: Any, power_kw: Any
) -> Any:
    """What owned servers cost more for being used than for standing idle: the marginal view, beside the full cost."""
    return energy_amount_per_month * (1 - power_max_kw * idle_power_share / power_kw)


@formula(unit="times", label="Renewals within the horizon", symbol="n_{new}", sources=_SOURCE)
def renewal_times(horizon_months: Any, service_life_months: Any) -> Any:
    """How often the servers reach the end of their life before the horizon does, and are bought again."""
    return np.maximum(ceil(horizon_months / service_life_months) - 1, 0)


FORMULAS = (
    servers_needed,
    bought_cards,
    server_amount,
    hardware_amount,
    network_amount,
    delivery_amount,
    installation_amount,
    spare_parts_amount,
    purchase_tax_amount,
    capex_amount,
    residual_amount,
    power_max_kw,
    power_kw,
    energy_kwh_per_month,
    energy_amount_per_month,
    colocation_amount_per_month,
    maintenance_amount_per_month,
    staff_amount_per_month,
    insurance_amount_per_month,
    licence_amount_per_month,
    running_tax_amount_per_month,
    running_amount_per_month,
    marginal_amount_per_month,
    renewal_times,
)
