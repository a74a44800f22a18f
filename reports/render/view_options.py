"""Options side by side, why each of the others was not chosen, and the proof that the limit is the limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reports.constraints import CONSTRAINTS, SENTENCES, TOLERANCE, applies
from reports.cost import eligibility, purchases
from reports.render.pareto_chart import Point, front
from reports.render.sentences import said
from reports.render.wording import Scale, Wording, finite

Row = dict[str, Any]
Reasons = Mapping[str, tuple[str, Mapping[str, Any]]]

FEW_OPTIONS = 24
"""Up to this many options of a service are all shown; beyond, the best one of each card."""

MOST_ROWS = 10

DEAREST = 4.0
"""The chart shows options up to this many times the cost of the cheapest; beyond, the near ones would be one spot."""

AMOUNTS = (
    "rent_equivalent_amount_per_month", "rent_median_amount_per_month", "buy_equivalent_amount_per_month",
)  # fmt: skip


def lead(words: Wording) -> str:
    """How to read the costs of the tables."""
    level = words.translate(
        "Cost a month is the level payment with the same present cost over {months}.",
        months=words.months(words.run.scenario.costs.horizon_months),
    )
    said = {
        ("rent", "buy"): words.translate(
            "Whole servers are bought and whole instances rented: the cheapest eligible offer, and the same cards at "
            "the median of the eligible offers."
        ),
        ("rent",): words.translate(
            "Whole instances are rented: the cheapest eligible offer, and the same cards at the median of the eligible "
            "offers."
        ),
        ("buy",): words.translate("Whole servers are bought."),
    }
    return words.joined(level, said[words.ways], words.translate("What is paid for is what the cost counts."))


def by_service(words: Wording) -> list[dict[str, Any]]:
    """For each service of the scenario: its options in a table, then a sentence for each that cannot be used."""
    run = words.run
    reasons = _reasons(run.excuses)
    shown = []
    for service in run.scenario.service_axis:
        options = run.options[run.options["service"].astype(str) == service.name]
        each_card = len(options) > FEW_OPTIONS
        chosen = _best_of_each_card(options) if each_card else options
        ranked = chosen[chosen["rank"].notna()].sort_values("rank", kind="stable").head(MOST_ROWS)
        rows = [{str(k): v for k, v in row.items()} for row in ranked.to_dict("records")]
        scale = words.scale(row[name] for row in rows for name in AMOUNTS if name.startswith(words.ways))
        shown.append(
            {
                "model": words.service(service.name),
                "demand": _demand(words, options),
                "unit": scale.unit,
                "rows": [_option(words, row, scale, reasons) for row in rows],
                "selection": _selection(words, len(options), int(chosen["rank"].notna().sum()) - len(rows), each_card),
                "rejected": _rejected(words, chosen[chosen["rank"].isna()], reasons, each_card),
                "no_price": _without_price(words, rows),
            }
        )
    return shown


def front_figure(words: Wording) -> dict[str, str]:
    """Cost against time per token of every priced option, where the report is about one service."""
    services = words.run.scenario.service_axis
    priced = words.run.options[words.run.options["rank"].notna()]
    if len(services) != 1 or not len(priced):
        return {}
    near = priced[priced["monthly_cost_amount"] <= DEAREST * priced["monthly_cost_amount"].min()]
    scale = words.scale(near["monthly_cost_amount"])
    points = [
        Point(
            label=", ".join(
                (words.gpu(row["gpu"]), words.quantization(row["quantization"]), words.link(row["interconnect"]))
            ),
            cost=row["monthly_cost_amount"] / scale.factor,
            tpot_ms=row["tpot_ms"],
            front=bool(row["pareto"]),
            winner=bool(row["winner"]),
        )
        for row in near.to_dict("records")
    ]
    target = finite(priced["tpot_target_ms"].iloc[0]) if words.has_targets else None
    title = words.translate("{model}: cost against time per token", model=words.service(services[0].name))
    picture = front(
        title, points,
        cost_unit=words.translate("{unit} a month, equivalent", unit=scale.unit),
        time_unit=words.translate("TPOT, ms"), target_ms=target,
        target_label=words.translate("target {n} ms", n=words.short(target)), number=words.short,
    )  # fmt: skip
    note = words.translate(
        "Blue: no other option is both cheaper and faster. The large mark is the recommendation; "
        "hollow ones are beaten. Options dearer than {n} times the cheapest are left out.", n=words.count(DEAREST),
    )  # fmt: skip
    return {"title": title, "picture": picture, "note": note} if picture else {}


def _selection(words: Wording, options: int, left_out: int, each_card: bool) -> list[str]:
    """Which options the table leaves out."""
    said = []
    if each_card:
        said.append(words.translate("Of {n} options the best on each card is shown.", n=words.count(options)))
    if left_out:
        said.append(
            words.counted(left_out, "{n} dearer one is in the workbook.", "{n} dearer ones are in the workbook.")
        )
    return said


def _best_of_each_card(options: pd.DataFrame) -> pd.DataFrame:
    order = options.assign(_last=options["rank"].fillna(float("inf")), _infeasible=~options["feasible"].astype(bool))
    order = order.sort_values(["_last", "_infeasible"], kind="stable")
    return order.drop_duplicates("gpu").drop(columns=["_last", "_infeasible"])


def _reasons(excuses: pd.DataFrame) -> Reasons:
    about_options = excuses[excuses["option_id"] != ""]
    return {
        str(option): (str(code), values)
        for option, code, values in zip(
            about_options["option_id"], about_options["code"], about_options["values"], strict=True
        )
    }


def _demand(words: Wording, options: pd.DataFrame) -> str:
    row = options.iloc[0]
    peak, rate = finite(row.get("demand_peak_concurrency")), finite(row.get("demand_requests_per_s"))
    parts = []
    if peak:
        parts.append(words.translate("{n} requests at once", n=words.short(peak, 4)))
    if rate:
        parts.append(words.translate("{n} requests a second", n=words.short(rate, 4)))
    run = finite(row.get("demand_run_requests"))
    if run:
        parts.append(words.translate("{n} requests within {hours}", n=words.count(run),
                                     hours=words.with_unit(row["demand_run_hours"], "h", digits=3)))  # fmt: skip
    return words.listed(parts)


def _option(words: Wording, row: Row, scale: Scale, reasons: Reasons) -> dict[str, Any]:
    _, values = reasons.get(str(row["option_id"]), ("", {}))
    more = finite(values.get("more_share"))
    return {
        "winner": bool(row["winner"]),
        "gpu": words.gpu(row["gpu"]),
        "format": words.quantization(row["quantization"]),
        "link": words.link(row["interconnect"]),
        "cards": words.count(row["demand_cards"]),
        "rented": _paid(words, row["rented_cards"], row["rented_instances"], row["rent_instance_cards"]),
        "bought": _paid(words, row["bought_cards"], row["servers_needed"], row["server_cards"]),
        "layout": words.layout(row),
        "tpot": words.short(row["tpot_ms"]),
        "ttft": words.short(row["ttft_ms"], 4),
        "rent": words.scaled(row["rent_equivalent_amount_per_month"], scale),
        "median": words.scaled(row["rent_median_amount_per_month"], scale),
        "buy": words.scaled(row["buy_equivalent_amount_per_month"], scale),
        "way": words.translate("Buy" if row["way"] == "buy" else "Rent"),
        "way_code": str(row["way"]),
        "per_mtok": words.price(row[f"{row['way']}_amount_per_mtok"]),
        "more": "–" if row["winner"] or more is None else f"+{words.percent(more)}",
        "even_price": words.price(row.get("break_even_price_per_card_hour")),
    }


def _paid(words: Wording, cards: Any, pieces: Any, cards_of_one: Any) -> dict[str, str]:
    """Cards that are paid for, and the instances or servers they come in."""
    if finite(cards) is None:
        return {"cards": words.count(cards), "pieces": ""}
    return {"cards": words.count(cards), "pieces": f"{words.count(pieces)} × {words.count(cards_of_one)}"}


def _rejected(
    words: Wording,
    options: pd.DataFrame,
    reasons: Reasons,
    each_card: bool,
) -> list[dict[str, str]]:
    """One sentence an option; options of one card with the same reason share it."""
    sentences: dict[tuple[str, str], list[str]] = {}
    for row in options.to_dict("records"):
        code, values = reasons.get(str(row["option_id"]), ("", {}))
        if code not in SENTENCES:
            continue
        text = _no_price(words, row, values) if code == "no-price" else said(words, SENTENCES[code], values)
        name = words.quantization(row["quantization"])
        link = words.link(row["interconnect"])
        sentences.setdefault((words.gpu(row["gpu"]), text), []).append(f"{name} {link}")
    return [
        {"name": gpu if each_card else f"{gpu}, {words.listed(dict.fromkeys(which))}", "text": text}
        for (gpu, text), which in sentences.items()
    ]


def _without_price(words: Wording, rows: list[Row]) -> list[dict[str, str]]:
    """Why an option that is shown has no rent or no purchase price."""
    found = dict.fromkeys((words.gpu(row["gpu"]), text) for row in rows for text in _price_reasons(words, row))
    return [{"name": gpu, "text": text} for gpu, text in found]


def _price_reasons(words: Wording, row: Row) -> list[str]:
    """Why the price of each way that the scenario considers is missing."""
    sentences = {**eligibility.REASONS, **purchases.REASONS}
    return [
        said(words, sentences[str(row[f"{way}_reason"])], row[f"{way}_reason_values"])
        for way in words.ways
        if str(row.get(f"{way}_reason") or "") in sentences and isinstance(row.get(f"{way}_reason_values"), dict)
    ]


def _no_price(words: Wording, row: Row, values: Mapping[str, Any]) -> str:
    """An option that would do and cannot be priced: what it needs, and why there is no price."""
    needs = said(
        words,
        "Meets the targets with {cards} cards, but has no price."
        if words.has_targets
        else "Can run on {cards} cards, but has no price.",
        values,
    )
    return words.joined(needs, *_price_reasons(words, row))


# ---- proof ----


def proof(words: Wording, row: Row) -> dict[str, Any]:
    """Every constraint at the recommended load, at the limit, and with one request more, where one must fail."""
    method = words.run.method
    if not method.proofs or any(point.batch not in row for point in method.points()):
        return {}
    records = [record for record in CONSTRAINTS[method.name] if applies(record, row)]
    titles = ("Recommended load", "At the limit", "One request more")
    shown = []
    for title, point in zip(titles, method.points(), strict=True):
        cells = []
        for record in records:
            value, bound = float(row[record.value_at(point)]), float(row[record.bound])
            holds = value <= bound * (1 + TOLERANCE)
            cells.append({"text": words.short(value, 4), "bound": words.short(bound, 4), "holds": holds})
        shown.append({"title": words.translate(title), "requests": words.count(row[point.batch]), "cells": cells})
    heads = [f"{words.translate(record.label)}, {words.unit(record.unit)}" for record in records]
    return {"heads": heads, "points": shown}
