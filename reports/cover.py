"""What a reader must know before the numbers: targets this method cannot judge, and facts nobody confirmed."""

from __future__ import annotations

import pandas as pd

from reports import bottleneck
from reports.catalog.records import Catalog
from reports.cost.quotes import Listed, Warnings
from reports.field import own
from reports.scenario.schema import Scenario

LICENCES = (
    "{cards}: export to the region {region} needs a licence by rules known on {as_of}; "
    "ask the vendor for it before ordering."
)


def warnings(scenario: Scenario, catalog: Catalog, shortlist: pd.DataFrame, facts: pd.DataFrame) -> Warnings:
    """Messages with their values, for the cover of every document."""
    found = [*bottleneck.warnings(scenario, catalog, shortlist)]
    for targets in dict.fromkeys(each.targets for each in scenario.service_axis if each.targets):
        for label, statistic in (("TTFT", targets.ttft_statistic), ("TPOT", targets.tpot_statistic)):
            if statistic != "mean":
                found.append(
                    (
                        "The {label} target is a {statistic}: a closed form finds the load, and a simulation checks "
                        "the short list.",
                        {"label": label, "statistic": statistic.upper()},
                    )
                )
    winners = shortlist[shortlist["winner"]] if len(shortlist) else shortlist
    cards = sorted(set(winners["gpu"].astype(str))) if len(winners) else []
    doubtful = facts[~facts["confirmed"].astype(bool)]
    unconfirmed = sorted(set(doubtful.loc[doubtful["scope"] == "gpu", "key"]) & set(cards))
    if unconfirmed:
        found.append(("Data-sheet figures of {cards} are not confirmed by a source.", {"cards": Listed(unconfirmed)}))
    split = winners[winners["tensor_parallel"] > 1] if len(winners) else winners
    links = set(doubtful.loc[doubtful["scope"] == "link", "key"])
    guessed = sorted(set(split.loc[split["link_key"].isin(links), "gpu"].astype(str))) if len(split) else []
    if guessed:
        found.append(
            (
                "The link between cards of {cards} was not measured: latency is extrapolated.",
                {"cards": Listed(guessed)},
            )
        )
    consumer = [card for card in cards if "consumer" in catalog.gpus[card].form_factor]
    if consumer:
        found.append(
            (
                "{cards}: consumer cards. The vendor's driver licence excludes data centres; check before ordering.",
                {"cards": Listed(consumer)},
            )
        )
    found += [*_licences(scenario, catalog, shortlist), *own.warnings(scenario, catalog)]
    return tuple({str(each): each for each in found}.values())


def _licences(scenario: Scenario, catalog: Catalog, shortlist: pd.DataFrame) -> list[tuple[str, dict[str, object]]]:
    """Short-listed cards that need an export licence where they shall stand; a refused card is on no short list."""
    if scenario.prices.export_restrictions == "ignore" or shortlist.empty:
        return []
    rules = catalog.restrictions
    rules = rules[(rules["region"] == scenario.region) & rules["gpu"].isin(shortlist["gpu"].astype(str))]
    if rules.empty:
        return []
    cards = Listed(sorted(rules["gpu"]))
    return [(LICENCES, {"cards": cards, "region": Listed([scenario.region]), "as_of": str(rules["as_of"].max())[:10]})]
