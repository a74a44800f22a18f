"""The purchase on two pages: what is ordered, when it is paid, what fits the budget, quotes, and unit costs."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

from reports.cost.bill import CONTRACTS, ITEMS, OUTLAY, Item
from reports.cost.payments import PAYMENTS, in_order, over_in, quarters
from reports.render import view_quotes
from reports.render.wording import Wording, finite
from reports.units import day_of

Row = dict[str, Any]

SENTENCES = 4
"""Services with a sentence of their own; the others are in the workbook."""

QUOTED = ("Quote", "Seller or source", "Price as quoted", "Currency and unit", "Dated", "Valid until", "Term",
          "Cards for the demand", "Net present value, {currency}", "Equivalent a month, {currency}",
          "Not stated, taken from the assumptions")  # fmt: skip
"""Lines of the table of quotes that a page has room for."""


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


def view(words: Wording, winners: list[Row]) -> Row:
    """The section; empty where there is no winner."""
    if not winners:
        return {}
    options = in_order(words.run) if "buy" in words.ways else []
    return {
        "lead": _lead(words, options),
        "bill": bill(words, options),
        "plan": plan(words),
        "budget": budget(words, options),
        "quotes": quotes(words, winners),
        "units": units(words, winners),
        "left_out": words.translate("All of it for every option, live: in the attached workbook."),
    }  # fmt: skip


def _lead(words: Wording, options: list[Row]) -> str:
    if not options:
        return words.translate("Nothing is bought: the cards are rented.") if "buy" in words.ways else ""
    servers = sum(float(each["servers_needed"]) for each in options)
    first = min(_orders(options))
    late = [each for each in options if each["late_days"] > 0]
    said = words.translate(
        "{servers} for {outlay}, and {contracts} of licences and support over {months}; the first order by {day}.",
        servers=words.counted(servers, "{n} server", "{n} servers"),
        outlay=words.amount(sum(each["bill_outlay_amount"] for each in options)),
        contracts=words.amount(sum(each["bill_total_amount"] - each["bill_outlay_amount"] for each in options)),
        months=words.months(words.run.scenario.costs.horizon_months), day=words.day(first),
    )  # fmt: skip
    if not late:
        return said
    worst = words.counted(max(float(each["late_days"]) for each in late), "{n} day", "{n} days")
    return words.joined(said, words.translate(
        "Ordered today, the servers are there {days} after the day on which they are needed.", days=worst))


def _orders(options: Iterable[Row]) -> list[datetime.date]:
    return [day_of(each[name]) for each in options
            for name, quantity in (("server_order_day", 1), ("network_order_day", each["network_adapter_pieces"]))
            if quantity]  # fmt: skip


def bill(words: Wording, options: list[Row]) -> Row:
    """The whole purchase, each item once, servers and cards by kind."""
    if not options:
        return {}
    scale = words.scale([sum(each["bill_total_amount"] for each in options)])
    rows = [line for part in (OUTLAY, CONTRACTS) for line in _part(words, options, part, scale)]
    return {"unit": scale.unit, "rows": rows}


def _part(words: Wording, options: list[Row], part: str, scale: Any) -> Iterable[Row]:
    _ = words.translate
    for item in ITEMS:
        if item.part != part:
            continue
        kinds = list(dict.fromkeys(str(each["gpu"]) for each in options)) if item.item in ("servers", "cards") else [""]
        for gpu in kinds:
            own = [each for each in options if not gpu or str(each["gpu"]) == gpu]
            quantity = sum(float(each[item.quantity]) for each in own)
            amount = sum(float(each[item.amount]) for each in own) if item.amount else np.nan
            if not quantity or amount == 0:
                continue  # lines of nothing are not printed
            yield {
                "item": f"{_(item.label)} · {words.gpu(gpu)}" if gpu else _(item.label),
                "quantity": words.counted(quantity, *COUNTED[item.unit]),
                "amount": words.scaled(amount, scale) if item.amount else "",
                **_when(words, item, own), "total": False,
            }  # fmt: skip
    total = sum(float(each["bill_outlay_amount" if part == OUTLAY else "bill_total_amount"]) for each in options)
    label = "Paid for the purchase" if part == OUTLAY else "Signed for, contracts of the horizon included"
    yield {"item": _(label), "quantity": "", "amount": words.scaled(total, scale), "lead": "", "order": "",
           "total": True}  # fmt: skip


def _when(words: Wording, item: Item, own: list[Row]) -> Row:
    return {
        "lead": words.short(max(float(each[item.lead]) for each in own)) if item.lead else "",
        "order": day_of(min(float(each[item.order]) for each in own)).isoformat() if item.order else "",
    }


COUNTED = {
    "server": (N_("{n} server"), N_("{n} servers")),
    "card": (N_("{n} card"), N_("{n} cards")),
    "piece": (N_("{n} piece"), N_("{n} pieces")),
    "card-year": (N_("{n} card-year"), N_("{n} card-years")),
    "server-year": (N_("{n} server-year"), N_("{n} server-years")),
}


def plan(words: Wording) -> Row:
    """Payments by quarter against the budget of each quarter."""
    frame, limits = words.run.cash_plan, words.run.scenario.budget.by_quarter
    if frame.empty:
        return {}
    _ = words.translate
    names = quarters(words.run.scenario, frame)
    paid = frame.groupby(["payment", "quarter"])["amount"].sum()
    totals = frame.groupby("quarter")["amount"].sum()
    scale = words.scale(totals)
    rows = [
        {"label": _(each.label), "total": False,
         "cells": [words.scaled(paid.get((each.payment, name), 0.0), scale) for name in names]}
        for each in PAYMENTS
    ]  # fmt: skip
    rows.append({"label": _("Total"), "total": True,
                 "cells": [words.scaled(totals.get(name, 0.0), scale) for name in names]})  # fmt: skip
    if limits:
        left = {name: limits[name] - float(totals.get(name, 0.0)) for name in limits}
        for label, values in ((N_("Budget of the quarter"), limits), (N_("Left of the budget"), left)):
            rows.append({"label": _(label), "total": False,
                         "cells": [words.scaled(values[name], scale) if name in values else "–" for name in names]})
    return {"unit": scale.unit, "quarters": names, "rows": rows}  # fmt: skip


def budget(words: Wording, options: list[Row]) -> list[str]:
    """What fits and what does not, quarters that are overdrawn, and what the next money would buy."""
    if not options:
        return []
    _, stated, found = words.translate, words.run.scenario.budget, []
    fits = {str(row["option_id"]): row for row in words.run.budget_fits.to_dict("records")}
    short = [each for each in options if not fits[str(each["option_id"])]["fits"]]
    if stated.amount is not None and not short:
        found.append(_("Everything fits the budget of {amount}.", amount=words.amount(stated.amount)))
    for each in short[:SENTENCES]:
        row = fits[str(each["option_id"])]
        found.append(_(
            "{service}: {servers} of {needed} fit the budget of {amount}; {lacking} is missing.",
            service=words.service(each["service"]), servers=words.count(row["fitting_servers"]),
            needed=words.counted(row["servers_needed"], "{n} server", "{n} servers"),
            amount=words.amount(stated.amount), lacking=words.amount(row["lacking_amount"])))  # fmt: skip
    for quarter, more in over_in(words.run.scenario, words.run.cash_plan).items():
        over = words.amount(more)
        found.append(_("{quarter}: payments exceed the budget by {amount}.", quarter=quarter, amount=over))
    for each in options[:SENTENCES]:
        if not each["next_servers"]:
            found.append(_(
                "{service}: the next {amount} buys no server; one costs {outlay}.",
                service=words.service(each["service"]), amount=words.amount(stated.next),
                outlay=words.amount(each["outlay_per_server_amount"])))  # fmt: skip
            continue
        found.append(_(
            "{service}: the next {amount} would buy {servers} ({cards}), which carry {requests} more requests at once.",
            service=words.service(each["service"]), amount=words.amount(stated.next),
            servers=words.counted(each["next_servers"], "{n} server", "{n} servers"),
            cards=words.counted(each["next_cards"], "{n} card", "{n} cards"),
            requests=words.count(each["next_concurrency"])))  # fmt: skip
    return found


def quotes(words: Wording, winners: list[Row]) -> Row:
    """The table of quotes of the dearest service, and why other prices are not compared."""
    dearest = max(winners, key=lambda row: row["monthly_cost_amount"])
    table = view_quotes.table(words, dearest)
    if not table["columns"]:
        return {}
    wanted = {words.translate(text, currency=words.currency) for text in QUOTED}
    lines = [
        {"label": line["label"], "head": line["head"], "number": bool(line["kind"]),
         "cells": [_cell(words, value, line["kind"]) for value in line["values"]]}
        for line in table["lines"] if line["label"] in wanted
    ]  # fmt: skip
    return {"service": f"{words.service(dearest['service'])} · {words.gpu(dearest['gpu'])}", "lines": lines,
            "excuses": view_quotes.not_comparable(words, dearest)}  # fmt: skip


def _cell(words: Wording, value: Any, kind: str) -> str:
    unit = {"amount": "currency", "price": "currency/card-h", "count": "cards"}.get(kind, "")
    return words.number(value, unit) if kind else str(value)


UNITS = (
    ("amount_per_mtok", N_("million output tokens")),
    ("all_amount_per_mtok", N_("million tokens")),
    ("amount_per_seat_month", N_("seat and month")),
    ("amount_per_card_month", N_("card and month")),
    ("energy_kwh_per_mtok", N_("kWh a million output tokens")),
    ("emissions_kg_per_mtok", N_("kg CO2e a million output tokens")),
)


def units(words: Wording, winners: list[Row]) -> Row:
    """What each winner costs, draws and emits per unit, the way it is got."""
    rows = [
        {"service": words.service(row["service"]), "card": words.gpu(row["gpu"]),
         "cells": [words.short(finite(row[f"{row['way']}_{name}"])) if name.endswith(("kwh_per_mtok", "kg_per_mtok"))
                   else words.price(row[f"{row['way']}_{name}"]) for name, _label in UNITS]}
        for row in winners
    ]  # fmt: skip
    return {"heads": [words.translate(label) for _name, label in UNITS], "rows": rows, "currency": words.currency}
