"""What renting costs a month: whole instances of the cheapest eligible offer, by the hour, all hours of the month."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import HOURS_PER_MONTH, MONTHS_PER_YEAR
from reports.formulas.meta import ceil, floor, formula

_SOURCE = ("methods-note",)


@formula(unit="cards", label="Cards that must sit in one machine", symbol="N_{stage}", sources=_SOURCE)
def stage_cards(tensor_parallel: Any, data_parallel: Any, stage_servers: Any) -> Any:
    """One pipeline stage of one replica: its cards talk in every layer, so one machine must hold them all, or whole
    machines where a network between servers is named."""
    return tensor_parallel * data_parallel / stage_servers


@formula(unit="currency/card-h", label="Rent per card-hour", symbol="p_{rent}", sources=_SOURCE)
def rent_price_per_card_hour(rent_offer_price_per_card_hour: Any, rent_offer_exchange_rate: Any) -> Any:
    """The offer's price in the currency of the scenario, at the dated exchange rate."""
    return rent_offer_price_per_card_hour * rent_offer_exchange_rate


@formula(unit="instances", label="Instances rented", symbol="n_{rent}", sources=_SOURCE)
def rented_instances(sized_cards: Any, rent_instance_cards: Any, stage_cards: Any) -> Any:
    """Whole instances, each filled with whole stages: 72 cards hold four stages of 16, not four and a half."""
    return ceil(sized_cards / (floor(rent_instance_cards / stage_cards) * stage_cards))


@formula(unit="cards", label="Cards rented", symbol="N_{rent}", sources=_SOURCE)
def rented_cards(rented_instances: Any, rent_instance_cards: Any) -> Any:
    """Every card of the rented instances is paid, used or not."""
    return rented_instances * rent_instance_cards


@formula(unit="currency/month", label="Rent per month", symbol="K_{rent}", sources=_SOURCE)
def rent_amount_per_month(rented_cards: Any, rent_price_per_card_hour: Any) -> Any:
    """Always on: all 730 hours of a month, at the price of today."""
    return rented_cards * rent_price_per_card_hour * HOURS_PER_MONTH


@formula(unit="currency/month", label="Tax on the rent that is not recovered", symbol="K_{rvat}", sources=_SOURCE)
def rent_tax_amount_per_month(rent_amount_per_month: Any, vat_services_ratio: Any, vat_recoverable_share: Any) -> Any:
    """Value-added tax on the rent, less what the company gets back. Prices are without it."""
    return rent_amount_per_month * vat_services_ratio * (1 - vat_recoverable_share)


@formula(unit="currency/month", label="Egress", symbol="K_{egr}", sources=_SOURCE)
def rent_egress_amount_per_month(rented_cards: Any, egress_gb_per_card_month: Any, egress_price_per_gb: Any) -> Any:
    """Data that leave the provider's network, where they are billed beside the card-hours."""
    return rented_cards * egress_gb_per_card_month * egress_price_per_gb


@formula(unit="currency/month", label="Storage", symbol="K_{sto}", sources=_SOURCE)
def rent_storage_amount_per_month(rented_cards: Any, storage_gb_per_card: Any, storage_price_per_gb_month: Any) -> Any:
    """Weights, images and logs on the provider's disks, where they are billed beside the card-hours."""
    return rented_cards * storage_gb_per_card * storage_price_per_gb_month


@formula(unit="currency/month", label="Egress and storage beside the rent", symbol="K_{ext}", sources=_SOURCE)
def rent_extras_amount_per_month(rent_egress_amount_per_month: Any, rent_storage_amount_per_month: Any) -> Any:
    """What does not follow the price of a card-hour."""
    return rent_egress_amount_per_month + rent_storage_amount_per_month


@formula(unit="currency/month", label="Credit for missed availability", symbol="K_{sla}", sources=_SOURCE)
def rent_sla_credit_amount_per_month(rent_amount_per_month: Any, sla_credit_share: Any) -> Any:
    """What a service-level agreement is expected to give back of the rent."""
    return rent_amount_per_month * sla_credit_share


@formula(unit="currency/month", label="Renting per month", symbol="K_{r}", sources=_SOURCE)
def rent_total_amount_per_month(
    rent_amount_per_month: Any,
    rent_tax_amount_per_month: Any,
    rent_egress_amount_per_month: Any,
    rent_storage_amount_per_month: Any,
    rent_sla_credit_amount_per_month: Any,
) -> Any:
    """The cost lines of renting in the first month, added; the credit comes off."""
    return (
        rent_amount_per_month
        + rent_tax_amount_per_month
        + rent_egress_amount_per_month
        + rent_storage_amount_per_month
        - rent_sla_credit_amount_per_month
    )


@formula(unit="ratio", label="This rent against the year before", symbol="g_{rent}", sources=_SOURCE)
def rent_move_ratio(rent_price_ratio_per_year: Any, rent_term_months: Any, horizon_months: Any) -> Any:
    """A term that binds for the whole horizon holds its price; every other rent follows the market."""
    return np.where(rent_term_months < horizon_months, rent_price_ratio_per_year, 1)


@formula(unit="months", label="Months that the last term binds beyond the horizon", symbol="n_{over}", sources=_SOURCE)
def rent_overhang_months(rent_term_months: Any, horizon_months: Any) -> Any:
    """Terms follow one another until the horizon is covered; 0 where a rent binds for no time."""
    return np.maximum(
        ceil(horizon_months / np.maximum(rent_term_months, 1)) * rent_term_months - horizon_months,
        0,
    )


@formula(unit="currency", label="Early end of the last term", symbol="K_{end}", sources=_SOURCE)
def early_termination_amount(
    rent_amount_per_month: Any,
    rent_move_ratio: Any,
    rent_overhang_months: Any,
    early_termination_share: Any,
    horizon_months: Any,
) -> Any:
    """Paid at the end of the horizon: a share of the rents that the contract still runs for, as the last month's."""
    return (
        rent_amount_per_month
        * rent_move_ratio ** ((horizon_months - 1) / MONTHS_PER_YEAR)
        * rent_overhang_months
        * early_termination_share
    )


@formula(unit="currency/month", label="Rent per month at the median eligible price", symbol="K_{med}", sources=_SOURCE)
def rent_median_amount_per_month(rented_cards: Any, rent_median_price_per_card_hour: Any) -> Any:
    """The same cards at the median of the eligible offers: the rent to expect when the cheapest is sold out."""
    return rented_cards * rent_median_price_per_card_hour * HOURS_PER_MONTH


FORMULAS = (
    stage_cards,
    rent_price_per_card_hour,
    rented_instances,
    rented_cards,
    rent_amount_per_month,
    rent_tax_amount_per_month,
    rent_egress_amount_per_month,
    rent_storage_amount_per_month,
    rent_extras_amount_per_month,
    rent_sla_credit_amount_per_month,
    rent_total_amount_per_month,
    rent_move_ratio,
    rent_overhang_months,
    early_termination_amount,
    rent_median_amount_per_month,
)
