"""Growth and orders in words: the months ahead of every winner as a chart, and the list of orders."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.fleet.plan import PLAN
from reports.plan import orders as plan
from reports.plan.outlook import grows, period_of
from reports.render import growing
from reports.render.growth_chart import cards_by_month
from reports.render.wording import Wording, finite

Row = dict[str, Any]

MOST_ORDERS = 20
"""Rows of the table of orders; the workbook has all months."""

def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


WHY: dict[str, str] = {
    plan.NOW: N_("needed today"),
    plan.GROWTH: N_("growth"),
    plan.LEASE: N_("a lease ends"),
    plan.BUDGET: N_("budget of the quarter"),
}


def has_outlook(words: Wording) -> bool:
    """Whether there is anything to say: a demand that grows, or a fleet whose leases end."""
    scenario = words.run.scenario
    return len(words.run.growth) > 0 and (grows(scenario) or any(each.lease_ends for each in scenario.fleet))


def alone(words: Wording, winners: list[Row]) -> str:
    """That services are looked at one by one, where a plan for all of them together stands beside it."""
    if not len(words.run.fleet):
        return ""
    return words.joined(
        words.translate(
            "Each service by itself, on the card that is recommended for it alone; cards that are there go to the "
            "services that use that kind, by tier. The fleet plan decides for all services together, for today."
        ),
        *_other_cards(words, winners),
    )


def _other_cards(words: Wording, winners: list[Row]) -> list[str]:
    """Services that the fleet plan puts on other cards than the timeline does, with both numbers."""
    used = words.run.fleet
    used = used[(used["plan"] == PLAN) & (used["cards"] > 0)]
    said = []
    for row in winners:
        cards = used[used["service"] == row["service"]].groupby("gpu", sort=True)["cards"].sum().to_dict()
        if cards and set(cards) != {str(row["gpu"])}:
            said.append(
                words.translate(
                    "{service}: {alone} by itself, {together} in the fleet plan, which uses what is there and shared.",
                    service=words.service(row["service"]),
                    alone=f"{words.count(row['sized_cards'])} × {words.gpu(row['gpu'])}",
                    together=words.listed(f"{words.count(n)} × {words.gpu(gpu)}" for gpu, n in cards.items()),
                )
            )
    return said


def figures(words: Wording, winners: list[Row]) -> list[dict[str, Any]]:
    """One chart and its sentences a winner whose cards change."""
    shown = []
    for row in winners:
        months = words.run.growth[words.run.growth["option_id"] == row["option_id"]].sort_values("month")
        if len(months) and _changes(months):
            shown.append(_figure(words, row, months, len(winners) > 1))
    return shown


def _changes(months: pd.DataFrame) -> bool:
    return bool(months["month_cards"].nunique() > 1 or months["fleet_servers"].nunique() > 1)


def _figure(words: Wording, row: Row, months: pd.DataFrame, small: bool) -> dict[str, Any]:
    results = words.run.growth_results.set_index("option_id").loc[row["option_id"]]
    ordered = months[months["ordered_servers"] > 0]
    _ = words.translate
    title = _title(words, row, months)
    return {
        "title": title,
        "picture": cards_by_month(
            title,
            [str(period) for period in months["period"]],
            needed=[float(value) for value in months["month_cards"]],
            at_hand=[float(value) for value in months["owned_cards"]],
            rented=[float(value) for value in months["bridge_cards"]],
            orders=[(int(month), words.count(servers))
                    for month, servers in zip(ordered["month"], ordered["ordered_servers"], strict=True)],
            unit=_("cards"),
            number=lambda value: words.count(value),
            words=(_("needed"), _("at hand"), _("rented"), _("servers ordered")),
            height=160 if small else 190,
        ),
        "note": words.joined(*_sentences(words, row, months, results)),
    }  # fmt: skip


def _title(words: Wording, row: Row, months: pd.DataFrame) -> str:
    first, last = float(months["month_cards"].iloc[0]), float(months["month_cards"].max())
    at = months.loc[months["month_cards"].idxmax(), "period"]
    values = {
        "service": words.service(row["service"]), "card": words.gpu(row["gpu"]), "first": words.count(first),
        "last": words.count(last), "month": words.month(str(at)),
    }  # fmt: skip
    if last > first:
        return words.translate("{service}: from {first} to {last} × {card} by {month}", **values)
    return words.translate("{service}: {first} × {card}, and what is there gets less", **values)


def _sentences(words: Wording, row: Row, months: pd.DataFrame, results: Any) -> list[str]:
    said = []
    exhausted = finite(results["exhausted_month"])
    fleet = bool(months["fleet_servers"].max() > 0)
    if fleet and exhausted is not None:
        month = words.month(period_of(words.run.scenario, int(exhausted)))
        said.append(words.translate("Today's fleet is exhausted in {month}.", month=month))
    elif fleet:
        said.append(words.translate("Today's fleet lasts for the whole horizon."))
    servers = finite(results["orders_servers"])
    if servers:
        said.append(
            words.translate(
                "Ordered in total: {servers} for {amount}; a lead time of {weeks} weeks.",
                servers=words.counted(servers, "{n} server", "{n} servers"),
                amount=words.amount(results["orders_amount"]),
                weeks=words.short(row["lead_time_weeks"]),
            )
        )
    bridge = finite(results["bridge_largest_cards"])
    if bridge:
        said.append(
            words.translate(
                "Rented at most {cards} at once, {amount} in total."
                if servers
                else "All growth is rented: at most {cards} at once, {amount} in total.",
                cards=words.counted(bridge, "{n} card", "{n} cards"), amount=words.amount(results["bridge_amount"]),
            )
        )
    idle = finite(results["idle_share"])
    if idle and idle >= 0.005:
        said.append(words.translate("{share} of the card-months at hand stand idle.", share=words.percent(idle)))
    return [*said, *growing.sentences(words, row)]


def order_rows(words: Wording) -> list[dict[str, Any]]:
    """The orders, in order of time."""
    shown = []
    scenario = words.run.scenario
    for order in words.run.orders.head(MOST_ORDERS).to_dict("records"):
        late = int(order["late_months"])
        servers = words.counted(order["servers"], "{n} server", "{n} servers")
        shown.append(
            {
                "month": words.month(period_of(scenario, int(order["order_month"]))),
                "arrival": words.month(period_of(scenario, int(order["arrival_month"]))),
                "service": words.service(order["service"]),
                "what": f"{servers} ({words.count(order['cards'])} × {words.gpu(order['gpu'])})",
                "amount": words.amount(order["amount"]),
                "why": words.translate(WHY[str(order["why"])]),
                "late": words.translate("rented for {months} until then", months=words.months(late)) if late else "",
            }
        )
    return shown


def left_out(words: Wording) -> str:
    """How many orders the table leaves out."""
    more = len(words.run.orders) - MOST_ORDERS
    if more <= 0:
        return ""
    return words.counted(more, "{n} later order is in the workbook.", "{n} later orders are in the workbook.")
