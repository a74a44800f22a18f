"""Against the previous run, in words: what to buy, rent or release, and what moved the money."""

from __future__ import annotations

import math
from typing import Any

from reports.history.attribute import OTHER, SAME
from reports.history.record import ANSWER, PRICE
from reports.history.steps import LABELS, NEW, RETIRED
from reports.render.formats import NOT_AVAILABLE
from reports.render.months_chart import Month, months
from reports.render.waterfall_chart import Fall, waterfall
from reports.render.wording import Wording, finite

Row = dict[str, Any]


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


CHANGES: dict[str, str] = {
    SAME: N_("as before"),
    OTHER: N_("another choice"),
    NEW: N_("new"),
    RETIRED: N_("ended"),
}
"""Change of a decision -> its words."""

ORDER_OF_CAUSES = N_(
    "Each cause is valued with the causes above it as they are now and those below it as they were, for the earlier "
    "choice of every service; choosing anew comes last. Amounts are whole cents and add up exactly."
)

ACTIONS: dict[tuple[str, bool], str] = {
    ("buy", True): N_("Buy {n} × {gpu} more: {after} instead of {before}."),
    ("buy", False): N_("Buy {n} × {gpu} fewer: {after} instead of {before}."),
    ("rent", True): N_("Rent {n} × {gpu} more: {after} instead of {before}."),
    ("rent", False): N_("Release {n} rented × {gpu}: {after} instead of {before}."),
}
"""Way, and whether there are more cards -> the sentence."""


def about(words: Wording) -> Row:
    """What the run was compared with."""
    frame = words.run.variance_about
    return dict(zip(frame["key"], frame["value"], strict=True))


def view(words: Wording) -> Row:
    """The section; empty where no comparison was asked for."""
    known = about(words)
    happened: Row = {}
    if len(words.run.actuals):
        axis = words.translate("Service" if words.lists_services else "Model")
        happened = {"actuals": actuals(words), "axis": axis}
    if not known:
        return happened
    if not known["period"]:
        return {"lead": words.translate("There is no earlier run of this scenario to compare with."), **happened}
    return {
        **happened,
        "lead": lead(words),
        "actions": actions(words),
        "figure": figure(words),
        "rows": services(words),
        "unit": scale(words).unit,
        "notes": notes(words),
        "course": course_figure(words),
        "prices": course_prices(words),
        "periods": [words.month(period) for period in periods(words)],
    }


def amounts(words: Wording) -> tuple[float, float]:
    """Money a month, before and now."""
    frame = words.run.variance_services
    return float(frame["amount_before"].sum()), float(frame["amount_after"].sum())


def scale(words: Wording) -> Any:
    """The unit of the amounts."""
    return words.scale(amounts(words))


def totals(words: Wording) -> list[Row]:
    """Amount and cards of every cause over all services, in the order of the waterfall."""
    summed = words.run.variance.groupby("cause", sort=False)[["amount", "cards"]].sum()
    kept = [name for name in LABELS if name in summed.index and (summed.loc[name] != 0).any()]
    return [{"cause": name, **summed.loc[name].round(2).to_dict()} for name in kept]


def lead(words: Wording) -> str:
    """How much more or less a month, and how many cards."""
    before, after = amounts(words)
    frame = words.run.variance_services
    values = {
        "period": words.month(str(about(words)["period"])), "before": words.amount(before),
        "after": words.amount(after), "change": words.amount(abs(after - before)),
        "share": words.percent(abs(after - before) / before, 1) if before else "",
        "cards": words.count(frame["cards_after"].sum()), "cards_before": words.count(frame["cards_before"].sum()),
    }  # fmt: skip
    if round(after - before, 2) == 0:
        text = words.translate("Against {period} the plan costs the same: {after} a month.", **values)
    elif not before:
        text = words.translate("The run of {period} had no answer; the plan costs {after} a month.", **values)
    elif after > before:
        text = words.translate(
            "Against {period} the plan costs {change} more a month ({share}): {after} instead of {before}.", **values
        )
    else:
        text = words.translate(
            "Against {period} the plan costs {change} less a month ({share}): {after} instead of {before}.", **values
        )
    cards = words.translate("It needs {cards} cards; it was {cards_before}.", **values)
    return words.joined(text, cards)


def actions(words: Wording) -> list[str]:
    """What to buy, rent or release against the earlier run: one sentence a card and way whose number changed."""
    counts: dict[tuple[str, str], list[float]] = {}
    for row in words.run.variance_services.to_dict("records"):
        for place, when in enumerate(("before", "after")):
            if row[f"gpu_{when}"]:
                key = (str(row[f"way_{when}"]), str(row[f"gpu_{when}"]))
                counts.setdefault(key, [0.0, 0.0])[place] += float(row[f"cards_{when}"])
    found = []
    for (way, gpu), (before, after) in sorted(counts.items()):
        if after != before:
            found.append(
                words.translate(ACTIONS[way, after > before], n=words.count(abs(after - before)), gpu=words.gpu(gpu),
                                before=words.count(before), after=words.count(after))
            )  # fmt: skip
    return found or [words.translate("Nothing to buy, rent or release: every number of cards is as before.")]


def signed(words: Wording, value: float, unit: Any) -> str:
    """An amount with its sign, in the unit of a table."""
    text = words.scaled(abs(value), unit)
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{text}"


def figure(words: Wording) -> Row:
    """The waterfall over all services."""
    before, after = amounts(words)
    rows = totals(words)
    if not rows:
        return {}
    unit = words.scale([row["amount"] for row in rows])
    falls = [
        Fall(words.translate(LABELS[row["cause"]]), row["amount"], signed(words, row["amount"], unit)) for row in rows
    ]
    total = Fall(words.translate("All together"), after - before, signed(words, after - before, unit))
    largest = max(rows, key=lambda row: abs(row["amount"]))
    title = words.translate(
        "What moved the cost a month, {unit}: most of it {cause}",
        unit=unit.unit, cause=words.translate(LABELS[largest["cause"]]),
    )  # fmt: skip
    base = words.translate("{amount} before", amount=words.amount(before))
    return {"title": title, "picture": waterfall(title, falls, total, base_label=base)}


def services(words: Wording) -> list[Row]:
    """One row a service: before, now, and the causes that moved it, the largest first."""
    unit = scale(words)
    known = words.run.variance
    rows = []
    for row in words.run.variance_services.to_dict("records"):
        own = known[known["service"] == row["service"]].sort_values("amount", key=abs, ascending=False, kind="stable")
        causes = [
            f"{words.translate(LABELS[str(each['cause'])])} {signed(words, float(each['amount']), unit)}"
            for each in own.to_dict("records") if each["amount"]
        ]  # fmt: skip
        rows.append(
            {
                "service": words.service(row["service"]),
                "change": words.translate(CHANGES[str(row["change"])]),
                "before": _choice(words, row, "before"),
                "after": _choice(words, row, "after"),
                "amount_before": words.scaled(row["amount_before"], unit),
                "amount_after": words.scaled(row["amount_after"], unit),
                "causes": words.listed(causes) or "–",
            }
        )
    return rows


def _choice(words: Wording, row: Row, when: str) -> str:
    if not row[f"option_{when}"]:
        return "–"
    way = words.translate("buy") if row[f"way_{when}"] == "buy" else words.translate("rent")
    return f"{words.count(row[f'cards_{when}'])}\u00a0×\u00a0{words.gpu(row[f'gpu_{when}'])}, {way}"


def periods(words: Wording) -> list[str]:
    """The months of the course; none where there are fewer than three."""
    return sorted(set(words.run.course["period"].astype(str)))


def course_answers(words: Wording) -> list[Row]:
    """Cost a month and cards of every month, over all services."""
    frame = words.run.course
    answers = frame[frame["kind"] == ANSWER]
    summed = answers.pivot_table(index="period", columns="name", values="value", aggfunc="sum")
    return [
        {"period": str(period), "amount": float(row.get("monthly_cost_amount", 0.0)),
         "cards": float(row.get("rented_cards", 0.0)) + float(row.get("bought_cards", 0.0))}
        for period, row in summed.fillna(0.0).iterrows()
    ]  # fmt: skip


def course_figure(words: Wording) -> Row:
    """Cost a month over the months there are, with the cards under each."""
    if not periods(words):
        return {}
    rows = course_answers(words)[-MOST_MONTHS:]
    unit = words.scale([row["amount"] for row in rows])
    title = words.translate("Cost a month over {n} months, {unit}", n=words.count(len(rows)), unit=unit.unit)
    columns = [
        Month(str(row["period"]), row["amount"], words.scaled(row["amount"], unit),
              words.with_unit(row["cards"], "cards"))
        for row in rows
    ]  # fmt: skip
    return {"title": title, "picture": months(title, columns)}


def course_prices(words: Wording) -> list[Row]:
    """Least eligible rent and least server price of the cards that were chosen at some time, month by month."""
    frame = words.run.course
    chosen = set(frame.loc[frame["kind"] == ANSWER, "gpu"])
    priced = frame[(frame["kind"] == PRICE) & frame["gpu"].isin(chosen)]
    found = []
    for (gpu, name), part in priced.groupby(["gpu", "name"], sort=True):
        known = dict(zip(part["period"], part["value"], strict=True))
        found.append(
            {
                "gpu": words.gpu(gpu),
                "what": words.translate(PRICED[str(name)]),
                "name": str(name),
                "numbers": [float(known.get(period, math.nan)) for period in periods(words)],
                "values": [
                    words.price(known.get(period)) if name == RENT else words.amount(known.get(period))
                    for period in periods(words)
                ],
            }
        )
    return found


MOST_MONTHS = 12
RENT = "rent_price_per_card_hour"
PRICED: dict[str, str] = {RENT: N_("Least rent of a card-hour"), "server_amount": N_("Least price of a server")}
"""Price in the history -> its words."""

MEASURED: dict[str, str] = {
    "peak_concurrency": N_("Requests at once, at the peak"),
    "requests_per_s": N_("Requests per second, at the peak"),
    "cards": N_("Cards"),
    "amount": N_("Money due in the month"),
}
"""Measure -> its words."""

DUE = N_(
    "Money due in a month is the rent, or the running cost of what was bought; the purchase itself is not in it. The "
    "error is what happened over what was forecast, less one."
)


def actuals(words: Wording) -> list[Row]:
    """Forecast and what happened, one row a month, service and measure."""
    return [
        {
            "month": words.month(str(row["month"])),
            "service": of(words, row),
            "measure": words.translate(MEASURED[str(row["measure"])]),
            "forecast": _measure(words, row, "forecast"),
            "actual": _measure(words, row, "actual"),
            "error": _error(words, row["error_share"]),
        }
        for row in words.run.actuals.to_dict("records")
    ]


def of(words: Wording, row: Row) -> str:
    """The service of a row, or all of them."""
    return words.service(row["service"]) if row["service"] else words.translate("All services")


def _measure(words: Wording, row: Row, which: str) -> str:
    if row["measure"] == "amount":
        return words.amount(row[which])
    return words.short(row[which], 4)


def _error(words: Wording, share: float) -> str:
    if finite(share) is None:
        return words.translate(NOT_AVAILABLE)
    sign = "+" if share > 0 else "−" if share < 0 else ""
    return f"{sign}{words.percent(abs(share), 1)}"


def notes(words: Wording) -> list[str]:
    """How the causes were found, and what limits them."""
    known = about(words)
    found = [words.translate(ORDER_OF_CAUSES)]
    if not known["exact"]:
        reason = words.translate(str(known["reason"]), problem=str(known["problem"]))
        found = [
            words.translate(
                "The inputs of the earlier run could not be evaluated again ({reason}): demand is valued at the "
                "earlier cost of a card, and the other causes cannot be told apart.",
                reason=reason,
            )
        ]
    left = words.run.variance
    for row in left[left["impossible"] != ""].to_dict("records") if len(left) else ():
        found.append(
            words.translate(
                "{service}: {cause} rule out the earlier choice; what replaced it is counted there.",
                service=words.service(row["service"]), cause=words.translate(LABELS[str(row["cause"])]),
            )
        )
    return found
