"""The fleet plan in words and tables: what to keep, buy, rent and release, who runs where, and what is not served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from reports.constraints import SENTENCES
from reports.fleet.frames import BUY, KEEP, RELEASE, RENT
from reports.fleet.plan import LATER, NO_OPTION, NOT_REACHED, PLAN, PRESENT_ONLY, REASONS
from reports.fleet.problem import BUDGET, COOLING, LEASED, OWNED, POWER, RACKS, RESERVED
from reports.fleet.program import OPTIMAL, TIME_LIMIT
from reports.render.sentences import said, term
from reports.render.wording import Scale, Wording, finite

Row = dict[str, Any]

FINE_GAP = 1e-4
"""A gap below this is said to be this."""


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


ACTIONS: dict[str, str] = {KEEP: N_("Keep"), BUY: N_("Buy"), RENT: N_("Rent"), RELEASE: N_("Release")}

HEADLINES: dict[str, str] = {
    KEEP: N_("keep {n} cards"), BUY: N_("buy {n}"), RENT: N_("rent {n}"), RELEASE: N_("release {n}"),
}  # fmt: skip
"""Parts of the plan's sentence, in this order."""

RESOURCES: dict[str, str] = {
    POWER: N_("Power, cooling included, kW"), COOLING: N_("Heat, kW"), RACKS: N_("Racks"), BUDGET: N_("Budget"),
}  # fmt: skip

LACKS: dict[str, str] = {
    POWER: N_("{lacking} kW more power ({limit} kW are there)"),
    COOLING: N_("{lacking} kW more cooling ({limit} kW are there)"),
    RACKS: N_("{lacking} more racks ({limit} are there)"),
    BUDGET: N_("{lacking_amount} more budget ({limit_amount} are there)"),
}
"""What would be enough; of sources it is said in machines."""

_LACKS_MACHINE = N_("{n} more machine of {cards} {gpu}")
_LACKS_MACHINES = N_("{n} more machines of {cards} {gpu}")
MANY_TIMES = 10
"""From this many times the demand on, a share is said in times."""
_KINDS: dict[str, str] = {OWNED: N_("owned"), LEASED: N_("leased"), RESERVED: N_("reserved")}


def of_plan(frame: pd.DataFrame, plan: str) -> list[Row]:
    """Rows of one plan as dictionaries."""
    rows = frame[frame["plan"] == plan] if len(frame) else frame
    return [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]


def summary(words: Wording, plan: str) -> dict[str, Any]:
    """Figures of a plan by name; empty where there is no such plan."""
    found = words.run.fleet_summary
    prefix = f"{plan}."
    return {
        str(key).removeprefix(prefix): value
        for key, value in zip(found["key"], found["value"], strict=True)
        if str(key).startswith(prefix)
    }


def headline(words: Wording) -> str:
    """What to do with the pool, in one sentence; empty without a plan."""
    figures = summary(words, PLAN)
    return words.joined(does(words, figures), serves(words, figures)) if figures else ""


def does(words: Wording, figures: Mapping[str, Any]) -> str:
    """Keep, buy, rent, release, with the cost of a month."""
    parts = [
        words.translate(HEADLINES[action], n=words.count(figures[f"{action}_cards"]))
        for action in HEADLINES
        if figures[f"{action}_cards"]
    ]
    listed = words.listed(parts) or words.translate("no card is needed")
    text = words.translate("{actions}: {amount} a month.", actions=listed,
                           amount=words.amount(figures["amount_per_month"]))  # fmt: skip
    return text[:1].upper() + text[1:]


def serves(words: Wording, figures: Mapping[str, Any]) -> str:
    """How many services are served in full, and which are not."""
    missing = list(figures["not_served"])
    if not missing:
        return words.translate("All {services} are served.", services=words.services_counted(figures["services"]))
    return words.translate(
        "{n} of {services} are served in full; not, or not wholly: {names}.",
        n=words.count(figures["services_served"]), services=words.services_counted(figures["services"]),
        names=words.listed(words.service(name) for name in missing),
    )  # fmt: skip


def proved(words: Wording, figures: Mapping[str, Any]) -> str:
    """How far from the best the plan may be."""
    status, gap = str(figures["status"]), finite(figures["gap"])
    if status.endswith(TIME_LIMIT) and gap is None:
        return words.translate("The solver found no plan in its time.")
    if status.startswith("most-served"):
        best = words.translate("Not all demand can be served: the plan serves as much as possible of tier 1, then of "
                               "tier 2, and so on.")  # fmt: skip
        return words.joined(best, _gap(words, gap, N_("At most {gap} more could be served.")))
    if status == OPTIMAL:
        return words.translate("No plan within these limits costs less.")
    return _gap(words, gap, N_("Any cheaper plan saves at most {gap}."))


def _gap(words: Wording, gap: float | None, message: str) -> str:
    if not gap:
        return ""
    return words.translate(message, gap=words.percent(max(gap, FINE_GAP), 2))


def pool_rows(words: Wording, plan: str) -> list[Row]:
    """What happens to each source, one row each; amounts in one unit."""
    rows = of_plan(words.run.fleet_pools, plan)
    scale = words.scale(row["amount"] for row in rows)
    order = {action: index for index, action in enumerate(ACTIONS)}
    return [_pool(words, row, scale) for row in sorted(rows, key=lambda row: order[row["source"]])]


def pool_scale(words: Wording, plan: str) -> Scale:
    """The unit of the amounts of ``pool_rows``."""
    return words.scale(row["amount"] for row in of_plan(words.run.fleet_pools, plan))


def _pool(words: Wording, row: Row, scale: Scale) -> Row:
    released = row["source"] == RELEASE
    return {
        "action": words.translate(ACTIONS[row["source"]]),
        "code": row["source"],
        "gpu": words.gpu(row["gpu"]),
        "about": about(words, row),
        "machines": f"{words.count(row['machines'])} × {words.count(row['machine_cards'])}",
        "cards": words.count(row["cards"]),
        "used": "–" if released else words.count(row["used_cards"]),
        "share": "–" if released else words.percent(row["used_share"]),
        "amount": words.scaled(row["amount"], scale),
        "power": "–" if not row["power_kw"] else words.short(row["power_kw"]),
    }


def about(words: Wording, row: Row) -> str:
    """Whose the cards are, and until when; what becomes of those that are released."""
    parts: list[str] = []
    kind, ends = str(row["kind"]), str(row["ends"] or "")
    if kind in _KINDS:
        parts.append(words.translate(_KINDS[kind]))
    if kind == OWNED and finite(row["age_months"]):
        parts.append(words.translate("{months} old", months=words.months(row["age_months"])))
    if kind == OWNED and finite(row["book_value"]):
        parts.append(words.translate("book value {amount}", amount=words.amount(row["book_value"])))
    if ends:
        parts.append(words.translate("until {date}", date=words.day(ends)))
    if row["source"] == RELEASE:
        if ends:
            parts.append(words.translate("paid until then"))
        elif finite(row["residual_amount"]) is not None:
            parts.append(words.translate("fetches about {amount}", amount=words.amount(row["residual_amount"])))
    if row["source"] == RENT:
        parts += [str(row["provider"]), term(words, row["term"])]
    if row["source"] == BUY:
        parts.append(words.translate("outlay {amount}", amount=words.amount(row["capex_amount"])))
    return words.listed(each for each in parts if each)


def service_rows(words: Wording, plan: str) -> list[Row]:
    """Every service with what it runs on, what it is served, and what that costs."""
    uses = of_plan(words.run.fleet, plan)
    shown = []
    rows = of_plan(words.run.fleet_services, plan)
    scale = service_scale(words, plan)
    for row in rows:
        own = [use for use in uses if use["service"] == row["service"]]
        shown.append(
            {
                "name": words.service(row["service"]),
                "tier": words.count(row["tier"]),
                "demand": words.short(row["demand_concurrency"], 4),
                "uses": [use_text(words, use) for use in own],
                "share": words.percent(row["served_share"]),
                "missed": row["served_share"] < 1,
                "cards": words.number(round(float(row["cards"]), 1), "", digits=3),
                "amount": words.scaled(row["amount"], scale),
            }
        )
    return shown


def service_scale(words: Wording, plan: str) -> Scale:
    """The unit of the amounts of ``service_rows``."""
    return words.scale(row["amount"] for row in of_plan(words.run.fleet_services, plan))


def use_text(words: Wording, use: Row) -> str:
    """So many units on so many cards of a kind, and where these come from."""
    unit = option_row(words, use)
    text = words.translate(
        "{units} × {layout} on {gpu}, {format} ({source})",
        units=words.count(use["units"]), layout=unit, gpu=words.gpu(use["gpu"]),
        format=words.quantization(str(use["option_id"]).split(".")[-3] if use["option_id"] else ""),
        source=words.translate({KEEP: N_("kept"), BUY: N_("bought"), RENT: N_("rented")}[use["source"]]),
    )  # fmt: skip
    return words.joined(text, words.translate("Shares its cards.")) if use["shared"] else text


def option_row(words: Wording, use: Row) -> str:
    """The split of one unit: TP4."""
    found = words.run.candidates
    row = found[found["candidate_id"] == use["candidate_id"]].iloc[0]
    return words.layout({**row.to_dict(), "replicas": 1}).partition("×")[2].strip() or "TP1"


def unserved(words: Wording, plan: str) -> list[str]:
    """One sentence a service that is not served in full."""
    return [
        words.translate("{name}: {reason}", name=words.service(row["service"]), reason=why(words, row))
        for row in of_plan(words.run.fleet_services, plan)
        if row["served_share"] < 1
    ]


def why(words: Wording, row: Row) -> str:
    """Why a service is not served, or what part of it is."""
    code, values = str(row["reason"]), row["reason_values"]
    if code == NO_OPTION and values:
        closest = said(words, REASONS[code], {"option": values["option"]})
        return words.joined(closest, said(words, SENTENCES[values["code"]], values["values"]))
    if code == NOT_REACHED:
        share = words.translate("{share} of its demand is served.", share=words.percent(row["served_share"]))
        return words.joined(share, words.translate(REASONS[code]))
    return said(words, REASONS[code], values) if code in REASONS else ""


def lacking(words: Wording, plan: str) -> str:
    """What would have to be added so that all demand is served."""
    rows = [row for row in of_plan(words.run.fleet_limits, plan) if row["lacking"] > 0]
    alone = [row for row in rows if row["alone"]]
    if alone:
        texts = [_lack(words, row) for row in alone]
        return words.translate("All demand would take {either}.", either=words.translate(" or ").join(texts))
    if rows:
        return words.translate("All demand would take, together, {all}.",
                               all=words.listed(_lack(words, row) for row in rows))  # fmt: skip
    return ""


def _lack(words: Wording, row: Row) -> str:
    name = str(row["resource"])
    if name not in LACKS:
        source = next(each for each in of_sources(words) if each["source_id"] == name.removeprefix("source:"))
        message = _LACKS_MACHINE if row["lacking"] == 1 else _LACKS_MACHINES
        return words.translate(message, n=words.count(row["lacking"]), gpu=words.gpu(source["gpu"]),
                               cards=words.count(source["machine_cards"]))  # fmt: skip
    return words.translate(
        LACKS[name], lacking=words.short(row["lacking"]), limit=words.short(row["limit"], 4),
        lacking_amount=words.amount(row["lacking"]), limit_amount=words.amount(row["limit"]),
    )  # fmt: skip


def of_sources(words: Wording) -> Iterator[Row]:
    """Every source of any plan."""
    yield from (dict(row) for row in words.run.fleet_pools.to_dict("records"))


def limits(words: Wording, plan: str) -> list[str]:
    """What the plan takes of each limit of the site."""
    shown = []
    for row in of_plan(words.run.fleet_limits, plan):
        if row["resource"] in RESOURCES:
            money = row["resource"] == BUDGET
            used, limit = (
                words.amount(row[name]) if money else words.short(row[name], 4) for name in ("used", "limit")
            )
            shown.append(words.translate("{resource}: {used} of {limit}",
                                         resource=words.translate(RESOURCES[row["resource"]]), used=used, limit=limit))
    return shown


def by_tier(words: Wording, plan: str) -> str:
    """The share of demand that each tier is served."""
    rows = pd.DataFrame(of_plan(words.run.fleet_services, plan))
    rows = rows[rows["demand_concurrency"].notna()]
    parts = []
    for tier, group in rows.groupby("tier"):
        demand = group["demand_concurrency"]
        share = float((group["served_share"] * demand).sum() / demand.sum())
        parts.append(words.translate("{share} of tier {tier}", share=words.percent(share, 0 if share >= 1 else 1),
                                     tier=words.count(tier)))  # fmt: skip
    return words.listed(parts)


def do_nothing(words: Wording) -> str:
    """What the present fleet alone serves; empty where there is none."""
    figures = summary(words, PRESENT_ONLY)
    if not figures:
        return ""
    text = words.translate(
        "If nothing is bought and nothing rented, the {n} cards that are there serve {tiers}, for {amount} a month.",
        n=words.count(figures["keep_cards"] + figures["release_cards"]), tiers=by_tier(words, PRESENT_ONLY),
        amount=words.amount(figures["amount_per_month"]),
    )  # fmt: skip
    return words.joined(text, lacking(words, PRESENT_ONLY))


def ahead(words: Wording) -> Row:
    """The pool a year on; empty where nothing changes until then."""
    figures = summary(words, LATER)
    rows = of_plan(words.run.fleet_services, LATER)
    if not figures or not rows:
        return {}
    month = words.month(str(rows[0]["month"]))
    lead = words.joined(
        words.translate("{month}, with the demand expected then and without what has ended by then.", month=month),
        does(words, figures), serves(words, figures), lacking(words, LATER),
    )  # fmt: skip
    return {
        "title": words.translate("The pool in {month}", month=month), "lead": lead, "rows": pool_rows(words, LATER),
        "unit": pool_scale(words, LATER).unit,
    }  # fmt: skip


def given(words: Wording) -> Row:
    """What all present cards of one kind would carry of each service, as a share of its demand."""
    found = words.run.given
    if found.empty:
        return {}
    gpus = list(dict.fromkeys(found["gpu"].astype(str)))
    cards = found.drop_duplicates("gpu").set_index(found.drop_duplicates("gpu")["gpu"].astype(str))["given_cards"]
    shares = {(str(row.service), str(row.gpu)): row for row in found.itertuples()}
    rows = []
    for service in dict.fromkeys(found["service"].astype(str)):
        cells = [shares.get((service, gpu)) for gpu in gpus]
        rows.append({"name": words.service(service), "cells": [_given(words, cell) for cell in cells]})
    heads = [words.translate("{n} × {gpu}", n=words.count(cards[gpu]), gpu=words.gpu(gpu)) for gpu in gpus]
    return {"heads": heads, "rows": rows}


def _given(words: Wording, cell: Any) -> Row:
    if cell is None:
        return {"requests": "–", "share": ""}
    share = float(cell.given_demand_share)
    said_share = words.percent(share) if share < MANY_TIMES else f"{words.count(share)} ×"
    return {"requests": words.short(cell.given_concurrency, 4), "share": said_share if share else ""}


def view(words: Wording) -> Row:
    """Everything the section shows; empty without a plan."""
    figures = summary(words, PLAN)
    if not figures:
        return {}
    return {
        "lead": headline(words),
        "proved": proved(words, figures),
        "committed": committed(words),
        "pool": pool_rows(words, PLAN),
        "pool_unit": pool_scale(words, PLAN).unit,
        "services": service_rows(words, PLAN),
        "service_unit": service_scale(words, PLAN).unit,
        "tiers": words.lists_services,
        "limits": limits(words, PLAN),
        "unserved": unserved(words, PLAN),
        "lacking": lacking(words, PLAN),
        "nothing": do_nothing(words),
        "ahead": ahead(words),
        "given": given(words),
    }


def committed(words: Wording) -> str:
    """The part of the amount that no decision of this month changes."""
    rows = of_plan(words.run.fleet_pools, PLAN)
    amount = sum(float(row["committed_amount"]) for row in rows)
    if not amount:
        return ""
    return words.translate("Of this, {amount} are leases and reservations that are paid until they end.",
                           amount=words.amount(amount))  # fmt: skip
