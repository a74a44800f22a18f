"""The hosted price of the same open-weight model: eligible rows, and the one in the middle of the market."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from reports.catalog.exchange import exchange_rate
from reports.catalog.records import Catalog
from reports.cost.quotes import DAYS, Warnings, ages, worst_first
from reports.formulas import hosted, rent
from reports.scenario.schema import Scenario

SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?b)(?![a-z0-9])")
"""A number of parameters in a name: ``8b``, ``1.5b``. Price lists put relatives of a model under its name."""


AGEING = "Hosted prices older than half of the {limit_days} days allowed: {models}."
TOO_OLD = "Hosted prices older than the {limit_days} days allowed, hence not compared: {models}."


def warnings(scenario: Scenario, catalog: Catalog) -> Warnings:
    """What the cover says of hosted prices that are getting old, or are too old to compare, by model."""
    limit = scenario.prices.max_age_days
    rows = catalog.api[catalog.api["model"].isin({each.model for each in scenario.service_axis})]
    age = ages(rows["as_of"], scenario)
    newest = age[age >= 0].groupby(rows["model"].astype(str)).min()
    found = ((AGEING, newest[(newest * 2 > limit) & (newest <= limit)]), (TOO_OLD, newest[newest > limit]))
    return tuple(
        (message, {"limit_days": limit, "models": worst_first(((str(k), float(v)) for k, v in days.items()), DAYS)})
        for message, days in found if len(days)
    )  # fmt: skip


def eligible(model: str, scenario: Scenario, catalog: Catalog) -> pd.DataFrame:
    """Rows for a model that are dated within the scenario's limits, are billed, and are not of a smaller relative."""
    rows = catalog.api[catalog.api["model"] == model]
    rows = rows.assign(age_days=ages(rows["as_of"], scenario))
    rows = rows[rows["age_days"].between(0, scenario.prices.max_age_days)]
    rows = rows[(rows["input_per_mtok"] > 0) & (rows["output_per_mtok"] > 0)]
    sizes = set(SIZE.findall(f"{model} {catalog.models[model].id}".casefold()))
    named = rows["provider_model"].astype(str).str.casefold().map(lambda text: set(SIZE.findall(text)))
    return rows[[found <= sizes for found in named]]


def middle(model: str, input_share: float, scenario: Scenario, catalog: Catalog) -> dict[str, object] | None:
    """The row whose price for this mix of tokens is the (lower) median of its providers' cheapest; None without any.

    ``input_share``: input tokens of all billed tokens. The median, since the cheapest row of a market of this kind is
    often a relative, a trial, or sold out.
    """
    rows = eligible(model, scenario, catalog)
    if rows.empty:
        return None
    rates = {
        str(currency): exchange_rate(catalog.exchange, str(currency), scenario.currency, scenario.as_of).rate
        for currency in sorted(set(rows["currency"].astype(str)))
    }
    rate = rows["currency"].astype(str).map(rates).astype(float)
    blended = (rows["input_per_mtok"] * input_share + rows["output_per_mtok"] * (1 - input_share)) * rate
    ordered = rows.assign(rate=rate, blended=blended).sort_values(
        ["blended", "age_days", "provider", "provider_model"], kind="stable"
    )
    each = ordered.drop_duplicates("provider").reset_index(drop=True)
    row = each.iloc[(len(each) - 1) // 2].to_dict()
    return {str(name): value for name, value in row.items()} | {"providers": len(each)}


def amount_per_month(row: dict[str, object], option: dict[str, object]) -> dict[str, float]:
    """What the traffic of an option costs a month at a price row: input (cached included), output, tax not recovered,
    and their sum."""
    rate = float(row["rate"])  # type: ignore[arg-type]
    cached = float(row["cached_input_per_mtok"])  # type: ignore[arg-type]
    full = float(row["input_per_mtok"])  # type: ignore[arg-type]
    number = {name: float(value) for name, value in option.items() if isinstance(value, int | float | np.number)}
    tokens = hosted.input_mtok_per_month(
        number["output_mtok_per_month"], number["input_mean_tokens"], number["output_mean_tokens"]
    )
    inputs = hosted.api_input_amount_per_month(
        tokens,
        number.get("prefix_hit_share", 0.0),
        hosted.api_input_amount_per_mtok(full, rate),
        hosted.api_cached_amount_per_mtok(cached if np.isfinite(cached) else full, rate),
    )
    outputs = hosted.api_output_amount_per_month(
        number["output_mtok_per_month"],
        hosted.api_output_amount_per_mtok(float(row["output_per_mtok"]), rate),  # type: ignore[arg-type]
    )
    taxed = (number.get("vat_services_ratio", 0.0), number.get("vat_recoverable_share", 0.0))
    tax = rent.rent_tax_amount_per_month(inputs + outputs, *taxed)
    total = hosted.api_amount_per_month(inputs, outputs, tax)
    found = {"input": inputs, "output": outputs, "tax": tax, "total": total, "mtok": tokens}
    return {name: float(value) for name, value in found.items()}
