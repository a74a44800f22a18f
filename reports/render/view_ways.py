"""Every way to get the cards in words: one line a service, and from which traffic own cards beat a hosted API."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.cost.ways import API, BUY, HYBRID, LABELS, LEASE, LOAN
from reports.render.wording import Wording, finite

Row = dict[str, Any]


def table(words: Wording, winners: list[Row]) -> Row:
    """Equivalent monthly cost of each way for each winner, in one unit; the least is marked."""
    frame = words.run.ways
    if frame.empty:
        return {}
    shown = {row["option_id"] for row in winners}
    kept = frame[frame["option_id"].isin(shown) | (frame["way"] == API)]
    ways = [way for way in LABELS if (kept["way"] == way).any()]
    scale = words.scale(kept["equivalent_amount_per_month"])
    lines = []
    for row in winners:
        own = kept[(kept["service"] == row["service"])].set_index("way")["equivalent_amount_per_month"].to_dict()
        least = min(own.values(), default=None)
        lines.append(
            {
                "service": words.service(row["service"]),
                "card": words.gpu(row["gpu"]),
                "cells": [
                    {"text": words.scaled(own[way], scale) if way in own else "–", "best": own.get(way) == least}
                    for way in ways
                ],
            }
        )
    return {"ways": [words.translate(LABELS[way]) for way in ways], "unit": scale.unit, "rows": lines}


def sentences(words: Wording, winners: list[Row]) -> list[str]:
    """What the table means: hybrids that pay, what following the load saves, and where own cards beat the API."""
    frame = words.run.ways
    said = []
    for row in winners:
        ways = frame[(frame["service"] == row["service"]) & (frame["option_id"].isin([row["option_id"], ""]))]
        by_way = ways.set_index("way")
        said += [text for text in (_hybrid(words, row, by_way), _api(words, row, by_way)) if text]
    return said


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
