"""Which rental offers a scenario may use, one rule a mask, and why none is left for a card."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from reports.catalog.records import Catalog
from reports.constants import MONTHS_PER_YEAR
from reports.cost.quotes import Listed, expired, refused
from reports.scenario.schema import Scenario

REASONS: dict[str, str] = {
    "no-offer": "The price book has no rental offer of {gpu}.",
    "offers-unsound": "{offers} offers, all marked outlier, suspect, older or superseded.",
    "offers-too-old": "{offers} offers, the newest {age_days} days old; the limit is {limit_days} days.",
    "offers-elsewhere": "{offers} offers, none in an allowed region; they are in: {found}.",
    "offers-residency": "{offers} offers, none known to stand in {region} (data residency); they are in: {found}.",
    "offers-restricted": "{offers} offers in {region}, where {gpu} needs an export licence, which is refused.",
    "offers-expired": "{offers} offers, all expired; the last was valid until {valid_until}.",
    "offers-provider": "{offers} offers, none of an allowed provider; they are of: {found}.",
    "offers-marketplace": "{offers} offers, all of marketplaces, which the scenario does not allow.",
    "offers-term": "{offers} offers, none on an allowed term; they are: {found}.",
    "offers-beyond-horizon": "{offers} offers, all binding for longer than the horizon of {horizon_months} months.",
    "instances-too-small": "{offers} offers, at most {instance_cards} cards each; {stage_cards} must sit together.",
}
"""Why there is no offer: code -> sentence with the numbers that ``rent_reason_values`` holds."""

MARKETPLACE, SPOT = "marketplace", "spot"

_FOUND = {
    "offers-elsewhere": "region", "offers-residency": "region", "offers-provider": "provider", "offers-term": "term",
}  # fmt: skip


@dataclass(frozen=True)
class Rules:
    """The rules of one scenario in the order a reason is looked for: (reason code, mask over the price book)."""

    steps: tuple[tuple[str, pd.Series], ...]

    def eligible(self) -> pd.Series:
        """Offers that pass every rule but the size of an instance, which depends on the layout."""
        return pd.concat([mask for _, mask in self.steps], axis=1).all(axis=1)


def rules(rental: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> Rules:
    """One mask a rule. ``rental`` has the column ``age_days``; an offer dated after the scenario is not known yet."""
    prices = scenario.prices
    everything = pd.Series(True, index=rental.index)
    provider, region = (rental[name].astype(str).str.casefold() for name in ("provider", "region"))
    anywhere = not prices.regions and scenario.region == "global"
    regions = _folded(prices.regions or (scenario.region, "global"))
    allowed = provider.isin(_folded(prices.providers_allowed)) if prices.providers_allowed else everything
    young = rental["age_days"] <= prices.max_age_days  # what states its last day is judged by that
    resident = region == prices.data_residency if prices.data_residency else everything
    months = rental["term"].astype(str).map(term_months)
    within = everything if prices.longer_than_horizon else months <= scenario.costs.horizon_months
    return Rules(
        (
            ("offers-unsound", rental["status"] == "ok"),
            ("offers-too-old", (rental["age_days"] >= 0) & (young | (rental["valid_until"].astype(str) != ""))),
            ("offers-expired", ~expired(rental["valid_until"], scenario)),
            ("offers-elsewhere", everything if anywhere else region.isin(regions)),
            ("offers-residency", resident),
            ("offers-restricted", ~refused(rental["gpu"], rental["region"], scenario, catalog)),
            ("offers-provider", allowed & ~provider.isin(_folded(prices.providers_denied))),
            ("offers-marketplace", everything if prices.marketplaces else rental["segment"] != MARKETPLACE),
            ("offers-term", rental["term"].isin(prices.terms) if prices.terms else rental["term"] != SPOT),
            ("offers-beyond-horizon", within),
        )
    )


def term_months(term: str) -> int:
    """Months a rental term binds: ``reserved-3y`` 36, ``reserved-6m`` 6, on demand 0."""
    length = term.removeprefix("reserved-")
    if length == term or not length[:-1].isdecimal():
        return 0
    return int(length[:-1]) * (int(MONTHS_PER_YEAR) if length.endswith("y") else 1)


def _folded(words: Iterable[str]) -> list[str]:
    return [word.casefold() for word in words]


def reason(
    gpu: str, stage_cards: float, rental: pd.DataFrame, checked: Rules, scenario: Scenario
) -> tuple[str, dict[str, object]]:
    """The rule that removed the last offer of a card, and the numbers its sentence quotes."""
    left = rental[rental["gpu"] == gpu]
    if left.empty:
        return "no-offer", {"gpu": gpu}
    for code, mask in checked.steps:
        kept = left[mask[left.index]]
        if kept.empty:
            values: dict[str, object] = {"offers": len(left)}
            if code == "offers-too-old":
                values |= {"age_days": int(left["age_days"].min()), "limit_days": scenario.prices.max_age_days}
            if code == "offers-expired":
                values["valid_until"] = str(left["valid_until"].max())
            if code in ("offers-residency", "offers-restricted"):
                values |= {"region": scenario.prices.data_residency or scenario.region, "gpu": gpu}
            if code == "offers-beyond-horizon":
                values["horizon_months"] = scenario.costs.horizon_months
            if code in _FOUND:
                values["found"] = Listed(sorted(left[_FOUND[code]].astype(str).unique()))
            return code, values
        left = kept
    largest = int(left["instance_cards"].max())
    return "instances-too-small", {"offers": len(left), "instance_cards": largest, "stage_cards": int(stage_cards)}
