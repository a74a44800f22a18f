"""Rent against buy in closed form: present costs (positive), equivalent monthly costs and the prices at which they tie.

The monthly cash flow of ``cashflow`` gives the same present values with the opposite sign; both are shown as a check.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import HOURS_PER_DAY, MONTHS_PER_YEAR
from reports.formulas.meta import formula

_SOURCE = ("methods-note",)


@formula(unit="ratio", label="Discount rate per month", symbol="i", sources=_SOURCE)
def monthly_discount_rate(annual_discount_rate: Any) -> Any:
    """Twelve months compound to the yearly rate."""
    return (1 + annual_discount_rate) ** (1 / MONTHS_PER_YEAR) - 1


@formula(unit="ratio", label="Annuity factor", symbol="a", sources=_SOURCE)
def annuity_factor(monthly_discount_rate: Any, horizon_months: Any) -> Any:
    """Present value of 1 paid at the end of every month; the number of months when nothing is discounted."""
    return np.where(
        monthly_discount_rate == 0,
        horizon_months,
        (1 - 1 / (1 + monthly_discount_rate) ** horizon_months)
        / np.where(monthly_discount_rate == 0, 1, monthly_discount_rate),
    )


@formula(unit="ratio", label="Rent, change of a month with discount", symbol="q_{rent}", sources=_SOURCE)
def rent_step_ratio(rent_move_ratio: Any, annual_discount_rate: Any) -> Any:
    """One month later a rent has moved by its own rate and is discounted by one more month."""
    return (rent_move_ratio / (1 + annual_discount_rate)) ** (1 / MONTHS_PER_YEAR)


@formula(unit="ratio", label="Annuity factor of a moving rent", symbol="a_{g}", sources=_SOURCE)
def rent_annuity_factor(rent_step_ratio: Any, monthly_discount_rate: Any, horizon_months: Any) -> Any:
    """Present value of a rent of 1 in the first month that moves every month: a geometric sum."""
    return np.where(
        rent_step_ratio == 1,
        horizon_months,
        (1 - rent_step_ratio**horizon_months) / np.where(rent_step_ratio == 1, 1, 1 - rent_step_ratio),
    ) / (1 + monthly_discount_rate)


@formula(unit="currency", label="Present cost of renting", symbol="PC_{rent}", sources=_SOURCE)
def rent_present_cost_amount(
    rent_total_amount_per_month: Any,
    rent_annuity_factor: Any,
    early_termination_amount: Any,
    monthly_discount_rate: Any,
    horizon_months: Any,
) -> Any:
    """A cost is positive here; the net present value of the cash flow is its negative."""
    return (
        rent_total_amount_per_month * rent_annuity_factor
        + early_termination_amount / (1 + monthly_discount_rate) ** horizon_months
    )


@formula(unit="ratio", label="Purchases, discounted", symbol="a_{new}", sources=_SOURCE)
def purchase_annuity_factor(monthly_discount_rate: Any, service_life_months: Any, renewal_times: Any) -> Any:
    """Present value of 1 paid on day 0 and at every renewal; powers as exponentials, for spreadsheets overflow."""
    return np.where(
        monthly_discount_rate == 0,
        1 + renewal_times,
        (1 - np.exp(0 - service_life_months * (1 + renewal_times) * np.log(1 + monthly_discount_rate)))
        / np.where(
            monthly_discount_rate == 0, 1, 1 - np.exp(0 - service_life_months * np.log(1 + monthly_discount_rate))
        ),
    )


@formula(unit="currency", label="Present cost of owning", symbol="PC_{buy}", sources=_SOURCE)
def buy_present_cost_amount(
    capex_amount: Any,
    purchase_annuity_factor: Any,
    running_amount_per_month: Any,
    annuity_factor: Any,
    residual_amount: Any,
    monthly_discount_rate: Any,
    horizon_months: Any,
) -> Any:
    """Outlay on day 0 and at renewals, running cost at the end of every month, less the value left at the end."""
    return (
        capex_amount * purchase_annuity_factor
        + running_amount_per_month * annuity_factor
        - residual_amount / (1 + monthly_discount_rate) ** horizon_months
    )


@formula(unit="currency/month", label="Renting, equivalent cost per month", symbol="m_{rent}", sources=_SOURCE)
def rent_equivalent_amount_per_month(rent_present_cost_amount: Any, annuity_factor: Any) -> Any:
    """The level payment at the end of every month with the same present cost."""
    return rent_present_cost_amount / annuity_factor


@formula(unit="currency/month", label="Owning, equivalent cost per month", symbol="m_{buy}", sources=_SOURCE)
def buy_equivalent_amount_per_month(buy_present_cost_amount: Any, annuity_factor: Any) -> Any:
    """The level payment at the end of every month with the same present cost."""
    return buy_present_cost_amount / annuity_factor


@formula(unit="currency/Mtok", label="Renting, per million output tokens", symbol="k_{rent}", sources=_SOURCE)
def rent_amount_per_mtok(rent_equivalent_amount_per_month: Any, output_mtok_per_month: Any) -> Any:
    """Equivalent monthly cost over the output of an average month."""
    return rent_equivalent_amount_per_month / output_mtok_per_month


@formula(unit="currency/Mtok", label="Owning, per million output tokens", symbol="k_{buy}", sources=_SOURCE)
def buy_amount_per_mtok(buy_equivalent_amount_per_month: Any, output_mtok_per_month: Any) -> Any:
    """Equivalent monthly cost over the output of an average month."""
    return buy_equivalent_amount_per_month / output_mtok_per_month


@formula(unit="currency", label="Advantage of owning over the horizon", symbol="\\Delta", sources=_SOURCE)
def saving_amount(rent_present_cost_amount: Any, buy_present_cost_amount: Any) -> Any:
    """Difference of the present costs; negative when renting is cheaper."""
    return rent_present_cost_amount - buy_present_cost_amount


@formula(unit="ratio", label="Advantage of owning, share of the rent", symbol="\\delta", sources=_SOURCE)
def saving_share(saving_amount: Any, rent_present_cost_amount: Any) -> Any:
    """Negative when renting is cheaper."""
    return saving_amount / rent_present_cost_amount


@formula(unit="ratio", label="Share of hours at which renting costs the same", symbol="u^*", sources=_SOURCE)
def break_even_utilisation(buy_present_cost_amount: Any, rent_present_cost_amount: Any) -> Any:
    """Rent by the hour and only for this share of all hours, and it costs what owning costs; above 1: renting is
    cheaper even all day."""
    return buy_present_cost_amount / rent_present_cost_amount


@formula(unit="h/day", label="Hours a day at which renting costs the same", symbol="h^*", sources=_SOURCE)
def break_even_hours_per_day(break_even_utilisation: Any) -> Any:
    """The same as hours of a day; more than 24 means never."""
    return break_even_utilisation * HOURS_PER_DAY


@formula(unit="currency/card-h", label="Rent per card-hour at which both cost the same", symbol="p^*", sources=_SOURCE)
def break_even_price_per_card_hour(
    rent_price_per_card_hour: Any,
    buy_present_cost_amount: Any,
    rent_present_cost_amount: Any,
    rent_extras_amount_per_month: Any,
    rent_annuity_factor: Any,
) -> Any:
    """Put back as the rent of the first month, it makes the present costs equal: below it rent, above it buy."""
    return (
        rent_price_per_card_hour
        * (buy_present_cost_amount - rent_extras_amount_per_month * rent_annuity_factor)
        / (rent_present_cost_amount - rent_extras_amount_per_month * rent_annuity_factor)
    )


@formula(unit="ratio", label="Value left at which both cost the same", symbol="\\rho^*", sources=_SOURCE)
def break_even_residual_share(
    residual_share: Any,
    saving_amount: Any,
    hardware_amount: Any,
    monthly_discount_rate: Any,
    horizon_months: Any,
) -> Any:
    """Put back as the value left, it makes the present costs equal; below 0: owning wins even when nothing is left,
    above 1: never."""
    return residual_share - saving_amount * (1 + monthly_discount_rate) ** horizon_months / hardware_amount


FORMULAS = (
    monthly_discount_rate,
    annuity_factor,
    rent_step_ratio,
    rent_annuity_factor,
    rent_present_cost_amount,
    purchase_annuity_factor,
    buy_present_cost_amount,
    rent_equivalent_amount_per_month,
    buy_equivalent_amount_per_month,
    rent_amount_per_mtok,
    buy_amount_per_mtok,
    saving_amount,
    saving_share,
    break_even_utilisation,
    break_even_hours_per_day,
    break_even_price_per_card_hour,
    break_even_residual_share,
)
