"""Every way to get the cards in words: one line a service, and from which traffic own cards beat a hosted API."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.cost.ways import ALWAYS, API, BUSINESS, BUY, HYBRID, KEEP, LABELS, LEASE, LOAN
from reports.render.wording import Scale, Wording, finite

Row = dict[str, Any]


MOST_COLUMNS = 5
"""Services side by side in one table."""


def tables(words: Wording, winners: list[Row]) -> list[Row]:
    """Equivalent monthly cost of each way for each winner, in one unit, a row a way; the least is marked.

    A way that does not serve the whole load says which share it does, and is not marked.
    """
    frame = words.run.ways
    if frame.empty:
        return []
    shown = {row["option_id"] for row in winners}
    kept = frame[frame["option_id"].isin(shown) | (frame["option_id"] == "")]
    ways = [way for way in LABELS if (kept["way"] == way).any()]
    scale = words.scale(kept["equivalent_amount_per_month"])
    by_service = [kept[kept["service"] == row["service"]].set_index("way") for row in winners]
    least = [own.loc[own["served_share"] >= 1, "equivalent_amount_per_month"].min() for own in by_service]
    columns = list(zip(winners, by_service, least, strict=True))
    parts = [columns[at : at + MOST_COLUMNS] for at in range(0, len(columns), MOST_COLUMNS)]
    return [
        {
            "unit": scale.unit,
            "heads": [{"service": words.service(row["service"]), "card": words.gpu(row["gpu"])} for row, *_ in part],
            "rows": [
                {
                    "way": words.translate(LABELS[way]),
                    "cells": [_cell(words, own, way, best, scale) for _, own, best in part],
                }
                for way in ways
            ],
        }
        for part in parts
    ]


def _cell(words: Wording, own: pd.DataFrame, way: str, least: float, scale: Scale) -> Row:
    if way not in own.index:
        return {"text": "–", "best": False, "served": ""}
    amount, served = float(own.loc[way, "equivalent_amount_per_month"]), float(own.loc[way, "served_share"])
    whole = served >= 1
    return {
        "text": words.scaled(amount, scale),
        "best": whole and amount == least,
        "served": "" if whole else words.translate("serves {share}", share=words.percent(served)),
    }


def sentences(words: Wording, winners: list[Row]) -> list[str]:
    """What the table means: hybrids that pay, what following the load saves, and where own cards beat the API."""
    frame = words.run.ways
    said = []
    for row in winners:
        ways = frame[(frame["service"] == row["service"]) & (frame["option_id"].isin([row["option_id"], ""]))]
        by_way = ways.set_index("way")
        texts = (
            _cheapest(words, row), _hybrid(words, row, by_way), _business(words, row, by_way), _api(words, row, by_way),
            _kept(words, row, by_way),
        )  # fmt: skip
        said += [text for text in texts if text]
    return said


def _cheapest(words: Wording, row: Row) -> str:
    """The cheapest way over the whole short list, where it is not what the ranking chose."""
    frame = words.run.ways
    best = frame[(frame["service"] == row["service"]) & frame["best"]].head(1).to_dict("records")
    against = float(row["monthly_cost_amount"])
    if not best or not float(best[0]["equivalent_amount_per_month"]) < against * (1 - 1e-9):
        return ""
    options = words.run.shortlist.set_index("option_id")
    option = str(best[0]["option_id"])
    values = {
        "service": words.service(row["service"]), "way": words.translate(LABELS[str(best[0]["way"])]),
        "amount": words.amount(best[0]["equivalent_amount_per_month"]),
        "share": words.percent(1 - float(best[0]["equivalent_amount_per_month"]) / against),
    }  # fmt: skip
    if not option:
        return words.translate(
            "{service}: cheapest of all ways over the short list: {way}; {amount} a month, {share} less than the "
            "choice of the ranking.", **values)  # fmt: skip
    return words.translate(
        "{service}: cheapest of all ways over the short list: {way}, {card}; {amount} a month, {share} less than the "
        "choice of the ranking.", card=words.gpu(options.loc[option, "gpu"]), **values)  # fmt: skip


def _business(words: Wording, row: Row, by_way: pd.DataFrame) -> str:
    if BUSINESS not in by_way.index or not len(words.run.load):
        return ""
    way = by_way.loc[BUSINESS]
    served = float(way["served_share"])
    values = {"service": words.service(row["service"]), "amount": words.amount(way["equivalent_amount_per_month"])}
    if served >= 1:
        return words.translate(
            "{service}: business hours alone carry the whole load: {amount} a month.", **values
        )
    return words.translate(
        "{service}: cards in business hours alone cost {amount} a month, and {share} of the load falls outside.",
        share=words.percent(1 - served), **values,
    )  # fmt: skip


def _kept(words: Wording, row: Row, by_way: pd.DataFrame) -> str:
    served = float(by_way.loc[KEEP, "served_share"]) if KEEP in by_way.index else 1.0
    if served >= 1:
        return ""
    return words.translate(
        "{service}: the present fleet alone serves {share} of it today for {amount} a month; {rest} is not served.",
        service=words.service(row["service"]), share=words.percent(served), rest=words.percent(1 - served),
        amount=words.amount(by_way.loc[KEEP, "equivalent_amount_per_month"]),
    )  # fmt: skip


def kept_note(words: Wording) -> str:
    """What keeping the present fleet counts, where it is one of the ways."""
    if not (words.run.ways["way"] == KEEP).any():
        return ""
    return words.translate(
        "The present fleet as it is serves what it can of all services at once, today: running cost of the cards that "
        "a service takes, without spares and without the price already paid; leases are paid to their end either way."
    )


FIRST_YEAR = 12


def books(words: Wording, winners: list[Row]) -> list[str]:
    """What the books show of a winner's first year, and the lease liability where the rent may be a lease."""
    lines = words.run.cost_lines
    year = lines[(lines["view"] == "pnl") & (lines["month"] <= FIRST_YEAR)]
    said = []
    for row in winners:
        own = year[year["candidate_id"] == row["candidate_id"]].groupby("option")["amount"].sum().to_dict()
        if {BUY, LOAN, LEASE} <= set(own):
            said.append(
                words.translate(
                    "{service}: the first year costs {buy} when owned (running cost and depreciation), {loan} on a "
                    "loan, {lease} leased (right of use and interest, IFRS 16).",
                    service=words.service(row["service"]), buy=words.amount(-own[BUY]), loan=words.amount(-own[LOAN]),
                    lease=words.amount(-own[LEASE]),
                )
            )  # fmt: skip
        liability = finite(row.get("initial_liability_amount"))
        if liability:
            said.append(
                words.translate(
                    "{service}: the rent binds for {months}; if it is of identified servers and longer than twelve "
                    "months, IFRS 16 shows a liability of {liability} on the first day.",
                    service=words.service(row["service"]), months=words.months(row["rent_term_months"]),
                    liability=words.amount(liability),
                )
            )  # fmt: skip
    return said


def full_and_marginal(words: Wording, winners: list[Row]) -> list[str]:
    """What owning costs in full and for being used alone, and what is left after tax where the scenario asks for it."""
    said = []
    for row in winners:
        full, marginal = (finite(row.get(name)) for name in ("buy_equivalent_amount_per_month", MARGINAL))
        if full is not None and marginal is not None:
            said.append(
                words.translate(
                    "{service}: owning costs {full} a month in full; servers that are there already cost {marginal} a "
                    "month more in use than idle.",
                    service=words.service(row["service"]), full=words.amount(full), marginal=words.amount(marginal),
                )
            )  # fmt: skip
        rent, buy = (finite(row.get(f"{way}_after_tax_npv_amount")) for way in (ALWAYS, BUY))
        if words.run.scenario.costs.tax_shield and rent is not None and buy is not None:
            said.append(
                words.translate(
                    "{service}: after income tax, present cost {rent} rented and {buy} owned.",
                    service=words.service(row["service"]), rent=words.amount(-rent), buy=words.amount(-buy),
                )
            )  # fmt: skip
    return said


MARGINAL = "marginal_amount_per_month"


def _hybrid(words: Wording, row: Row, by_way: pd.DataFrame) -> str:
    if HYBRID not in by_way.index:
        return ""
    best = by_way.loc[HYBRID]
    owned, cost = float(best["owned_servers"]), float(best["equivalent_amount_per_month"])
    mixed = owned and (float(best["reserved_instances"]) or float(best["card_hours_per_month"]))
    against = float(row["monthly_cost_amount"])
    if not mixed or cost >= against * (1 - 1e-9):
        return ""
    return words.translate(
        "{service}: own {servers} and rent the peak: {amount} a month, {share} less than {way} alone.",
        service=words.service(row["service"]),
        servers=words.counted(owned, "{n} server", "{n} servers"),
        amount=words.amount(cost),
        share=words.percent(1 - cost / against),
        way=words.translate("renting" if row["way"] == "rent" else "buying"),
    )


def _api(words: Wording, row: Row, by_way: pd.DataFrame) -> str:
    if API not in by_way.index:
        return ""
    cost, own = float(by_way.loc[API, "equivalent_amount_per_month"]), float(row["monthly_cost_amount"])
    values = {
        "service": words.service(row["service"]), "api": words.amount(cost), "own": words.amount(own),
        "provider": str(by_way.loc[API, "source"]).split("/")[0],
    }  # fmt: skip
    first = finite(by_way.loc[API, "own_wins_from_mtok"])
    if first is None:
        return words.translate(
            "{service}: the same tokens cost {api} a month at a hosted API ({provider}), own cards {own}; "
            "at no traffic do own cards win.", **values)  # fmt: skip
    return words.translate(
        "{service}: the same tokens cost {api} a month at a hosted API ({provider}), own cards {own}; "
        "own cards win from {tokens} million tokens a month.",
        tokens=words.short(first), **values,
    )  # fmt: skip
