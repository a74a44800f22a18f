"""Figures and tables about money and limits: charts with their titles, cost lines of a winner, break-even in words."""

from __future__ import annotations

from typing import Any

from reports.constraints import CONSTRAINTS, applies
from reports.cost.lines import BUY, LINES, RENT, included, not_included
from reports.render import charts, growing
from reports.render.wording import Wording, finite

Row = dict[str, Any]


def break_even(words: Wording, row: Row, *, short: bool = False) -> str:
    """The break-even month, or why there is none."""
    even = finite(row.get("break_even_month"))
    if even is not None:
        return words.translate("month {month}", month=words.number(even, "month"))
    if row.get("break_even_code") == "not-compared":
        return words.translate("not compared")
    return words.translate("never") if short else words.translate("never within the horizon")


def cost_figure(words: Wording, row: Row, *, small: bool = False) -> dict[str, Any]:
    """Cumulative discounted cost of renting against buying, for one winner; as its demand grows where it does."""
    followed = growing.months(words, row)
    grown = "" if followed is None else "growing_"
    months = words.run.timelines[words.run.timelines["option_id"] == row["option_id"]].sort_values("month")
    months = months if followed is None else followed
    title = growing.title(words, row) or _cost_title(words, row)
    lines = []
    scale = words.scale(value for way in words.ways for value in months[f"{grown}{way}_cumulative_amount"])
    for kind in words.ways:
        column, name = f"{grown}{kind}_cumulative_amount", words.translate("Buy" if kind == "buy" else "Rent")
        values = [abs(float(value)) / scale.factor for value in months[column]]
        if values and all(finite(value) is not None for value in values):
            lines.append(
                charts.Line(kind, f"{name} {words.scaled(abs(float(months[column].iloc[-1])), scale)}", values)
            )
    even = (
        finite(row.get("break_even_month")) if followed is None
        else growing.result(words, row, "growing_break_even_month")
    )  # fmt: skip
    picture = (
        charts.cumulative_cost(
            title,
            lines,
            unit=scale.unit,
            month_label=words.translate("months after purchase" if "buy" in words.ways else "months"),
            number=lambda value: f"{value:,.10g}",
            break_even_month=even if words.both_ways and len(lines) > 1 else None,
            break_even_label=words.translate("break-even, month {month}", month=words.number(even, "month")),
            width=232 if small else 490,
            height=130 if small else 200,
        )
        if lines
        else ""
    )
    return {
        "title": title,
        "model": words.service(row["service"]),
        "picture": picture,
        "note": words.joined(_cost_note(words, row), *growing.sentences(words, row)),
    }


def _cost_note(words: Wording, row: Row) -> str:
    values = {
        "rate": words.percent(row["annual_discount_rate"], 1),
        "price": words.amount(row["server_amount"]),
        "rent": words.price(row["rent_price_per_card_hour"]),
        "currency": words.currency,
        "provider": str(row.get("rent_provider") or "–"),
    }
    if words.both_ways:
        return words.translate(
            "Discounted at {rate} a year, whole servers, residual value at the end of the horizon. "
            "Servers {price}, rent {rent} {currency} per card-hour ({provider}).",
            **values,
        )
    if "buy" in words.ways:
        return words.translate(
            "Discounted at {rate} a year, whole servers of {price}, residual value at the end of the horizon.", **values
        )
    return words.translate(
        "Discounted at {rate} a year; {rent} {currency} per card-hour ({provider}).", **values
    )


def _cost_title(words: Wording, row: Row) -> str:
    even = finite(row.get("break_even_month"))
    saving = finite(row.get("saving_share"))
    values = {"months": words.months(row["horizon_months"]), "model": words.service(row["service"])}
    if not words.both_ways:
        return words.translate(
            "{model}: what owning costs over {months}"
            if row["way"] == "buy"
            else "{model}: what renting costs over {months}",
            **values,
        )
    if saving is None:
        return words.translate("{model}: only one way has a price, so nothing is compared", **values)
    values["share"] = words.percent(abs(saving))
    if even is not None and saving > 0:
        return words.translate(
            "{model}: buying breaks even in month {month} and saves {share} over {months}",
            month=words.number(even, "month"),
            **values,
        )
    return words.translate("{model}: buying never breaks even within {months}; it costs {share} more", **values)


def changes(words: Wording, row: Row) -> list[str]:
    """At which rent, and at which use, the other way would be the cheaper one."""
    price, share = finite(row.get("break_even_price_per_card_hour")), finite(row.get("break_even_utilisation"))
    if price is None or share is None or not words.both_ways:
        return []
    values = {
        "price": words.price(price),
        "now": words.price(row["rent_price_per_card_hour"]),
        "currency": words.currency,
        "share": words.percent(share),
    }
    if row["way"] == "buy":
        return [
            words.translate(
                "Renting becomes cheaper below {price} {currency} per card-hour; the cheapest offer is {now}.", **values
            ),
            words.translate(
                "Renting by the hour becomes cheaper when the cards are needed in less than {share} of all hours.",
                **values,
            ),
        ]
    return [
        words.translate(
            "Buying becomes cheaper when the rent exceeds {price} {currency} per card-hour; the offer is {now}.",
            **values,
        )
    ]


def ways_figure(words: Wording, winners: list[Row]) -> dict[str, Any]:
    """Monthly cost of renting and of buying, side by side for every service."""
    scale = words.scale(row[f"{way}_equivalent_amount_per_month"] for row in winners for way in words.ways)
    rows = []
    for row in winners:
        for way in words.ways:
            value = finite(row[f"{way}_equivalent_amount_per_month"])
            chosen = row["way"] == way and words.both_ways
            text = words.scaled(value, scale) if value is not None else words.translate("no price")
            rows.append(
                charts.Bar(
                    label=words.translate("Buy" if way == "buy" else "Rent"),
                    kind=way,
                    value=None if value is None else value / scale.factor,
                    text=f"{text} ✓" if chosen else text,
                    strong=chosen,
                    group=words.service(row["service"]),
                )
            )
    if words.both_ways:
        title = words.translate(
            "Cost a month of renting and of buying, by service; the cheaper way is chosen"
            if words.lists_services
            else "Cost a month of renting and of buying, by model; the cheaper way is chosen"
        )
    elif words.lists_services:
        title = words.translate(
            "Cost a month of buying, by service" if "buy" in words.ways else "Cost a month of renting, by service"
        )
    else:
        title = words.translate(
            "Cost a month of buying, by model" if "buy" in words.ways else "Cost a month of renting, by model"
        )
    unit = words.translate("{unit} a month, equivalent", unit=scale.unit)
    return {
        "title": title,
        "picture": charts.bars(title, rows, unit=unit) if rows else "",
        "note": words.translate(
            "Equivalent cost: the level monthly payment with the same present cost over the horizon."
        ),
    }


def bottleneck_figure(words: Wording, row: Row) -> dict[str, Any]:
    """How many requests each limit alone would allow one replica, the least of them binding."""
    limits = []
    for record in CONSTRAINTS[words.run.method.name]:
        if not record.capacity or not applies(record, row):
            continue
        value = finite(row.get(record.capacity))
        binding = record.name == row["binding_constraint"]
        limits.append(
            charts.Bar(
                label=words.translate(record.label),
                kind="binding" if binding else "other",
                value=value,
                text=words.count(value),
                strong=binding,
            )
        )
    label = next((bar.label for bar in limits if bar.kind == "binding"), "")
    title = words.translate("{model}: the limit is {limit}", model=words.service(row["service"]), limit=label)
    recommended = finite(row.get("recommended_requests", row.get("recommended_concurrency")))
    picture = charts.bars(
        title, limits, unit=words.translate("requests at once, one replica"), target=recommended,
        target_label=words.translate("recommended {n}", n=words.count(recommended)), width=232,
    )  # fmt: skip
    return {"title": title, "picture": picture}


def counted(words: Wording) -> str:
    """What renting and owning are charged with, and what is left out, from the cost lines themselves."""
    parts = {
        RENT: words.translate("Renting counts: {rent}.", rent=_in_a_sentence(words, included(RENT))),
        BUY: words.translate("Owning counts: {buy}.", buy=_in_a_sentence(words, included(BUY))),
    }
    said = words.joined(*(parts[way] for way in words.ways))
    absent = not_included()
    if absent:
        costs = _in_a_sentence(words, absent)
        said = words.joined(said, words.translate("Not included: {costs}.", costs=costs))
    return said


def _in_a_sentence(words: Wording, labels: list[str]) -> str:
    return words.listed(each[:1].lower() + each[1:] for each in map(words.translate, labels))


def cost_lines(words: Wording, row: Row) -> dict[str, Any]:
    """What renting and buying cost by line: on day 0, every month, at the end of the horizon."""
    amounts = words.run.cost_lines
    own = amounts[amounts["candidate_id"] == row["candidate_id"]]
    own = own[own["option"].isin(words.ways) & (own["view"] == "cash")]
    scale = words.scale(own["amount"])
    shown, nothing = [], []
    for kind in LINES:
        lines = own[(own["line"] == kind.line) & (own["option"] == kind.option)]
        if lines.empty:
            continue
        line = lines.iloc[0]
        if not line["amount"]:
            nothing.append(words.translate(kind.label))
            continue
        shown.append(
            {
                "way": words.translate("Buy" if kind.option == "buy" else "Rent"),
                "line": words.translate(kind.label),
                "when": words.translate(kind.when),
                "quantity": words.short(line["quantity"], 4),
                "unit": words.translate(str(line["unit"])),
                "unit_price": words.number(line["unit_price"], "currency/card-h"),
                "amount": words.scaled(line["amount"], scale),
            }
        )
    return {
        "model": words.service(row["service"]), "unit": scale.unit, "currency": words.currency, "rows": shown,
        "nothing": words.translate("Nothing is paid for: {lines}.", lines=words.listed(dict.fromkeys(nothing)))
        if nothing
        else "",
    }  # fmt: skip
