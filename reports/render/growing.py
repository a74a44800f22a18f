"""Rent against buy as the demand grows, for pages: the timeline of a winner, its figures, and its sentence."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.render.wording import Wording, finite

Row = dict[str, Any]


def months(words: Wording, row: Row) -> pd.DataFrame | None:
    """The growth timeline of a winner by month; None where its demand and fleet stay as they are."""
    timeline = words.run.growth
    if "growing_rent_npv_amount" not in words.run.growth_results.columns:
        return None
    own = timeline[timeline["option_id"] == row["option_id"]].sort_values("month")
    return own if len(own) and own["month_cards"].nunique() + own["fleet_servers"].nunique() > 2 else None


def result(words: Wording, row: Row, name: str) -> float | None:
    """A figure of the comparison; None where one of the two ways has no price."""
    return finite(words.run.growth_results.set_index("option_id").loc[row["option_id"], name])


def saving_share(words: Wording, row: Row) -> float | None:
    """What owning saves of the rents as the demand grows; negative when renting is cheaper."""
    rent, buy = (result(words, row, f"growing_{way}_equivalent_amount_per_month") for way in ("rent", "buy"))
    return None if rent is None or buy is None or not rent else (rent - buy) / rent


def sentences(words: Wording, row: Row) -> list[str]:
    """What both ways cost a month as the demand grows, and what the ranking counts."""
    saving = saving_share(words, row) if months(words, row) is not None and words.both_ways else None
    if saving is None:
        return []
    rent, buy = (result(words, row, f"growing_{way}_equivalent_amount_per_month") for way in ("rent", "buy"))
    even = result(words, row, "growing_break_even_month")
    said = [
        words.translate(
            "As the demand grows, renting costs {rent} a month and buying {buy}: level payments over {months}, with "
            "orders on their dates and cards rented until they arrive.",
            rent=words.amount(rent), buy=words.amount(buy), months=words.months(row["horizon_months"]),
        )
    ]  # fmt: skip
    if even is not None and saving > 0:
        said.append(words.translate("Buying pays off from month {month} on.", month=words.number(even, "month")))
    said.append(
        words.translate(
            "The ranking and the cost lines take today's demand for every month: {rent} and {buy}.",
            rent=words.amount(row["rent_equivalent_amount_per_month"]),
            buy=words.amount(row["buy_equivalent_amount_per_month"]),
        )
    )
    return said


def short(words: Wording, row: Row) -> str:
    """What growth makes of a decision that takes today's demand for every month; empty where nothing grows."""
    saving = saving_share(words, row) if months(words, row) is not None and words.both_ways else None
    if saving is None:
        return ""
    return words.translate(
        "As the demand grows, buying saves {share}."
        if saving > 0
        else "As the demand grows, buying costs {share} more.",
        share=words.percent(abs(saving)),
    )


def title(words: Wording, row: Row) -> str:
    """Which way is cheaper as the demand grows; empty where that is not compared."""
    saving = saving_share(words, row) if months(words, row) is not None and words.both_ways else None
    if saving is None:
        return ""
    even = result(words, row, "growing_break_even_month")
    values = {"model": words.service(row["service"]), "share": words.percent(abs(saving)),
              "months": words.months(row["horizon_months"])}  # fmt: skip
    if saving > 0 and even is not None:
        return words.translate(
            "{model}: as the demand grows, buying breaks even in month {month} and saves {share} over {months}",
            month=words.number(even, "month"), **values,
        )  # fmt: skip
    return words.translate(
        "{model}: as the demand grows, buying costs {share} more than renting over {months}", **values
    )
