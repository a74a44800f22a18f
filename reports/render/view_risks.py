"""Risks and exclusions of a proposal: what may turn out otherwise, by how much, and what the amounts leave out."""

from __future__ import annotations

from typing import Any

from reports.render import view_money, view_sensitivity
from reports.render.wording import Wording, finite

Row = dict[str, Any]


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


OUTSIDE = (
    N_("Developing and running the application, and moving it."),
    N_("The network between users and the site, and identity, logging and backup systems."),
    N_("Licences of the model's weights and of the engine, where they ask for any."),
    N_("Quality of the answers: a smaller weight format or another model must be judged on own tasks."),
)
"""Never part of an amount here, whatever the scenario."""


def view(words: Wording, winners: list[Row]) -> Row:
    """The section; empty where nothing is recommended."""
    if not winners:
        return {}
    return {
        "risks": [*_capacity(words, winners), *_prices(words, winners), *view_sensitivity.turns(words)[:3]],
        "counted": view_money.counted(words),
        "outside": [words.translate(each) for each in OUTSIDE],
    }


def _capacity(words: Wording, winners: list[Row]) -> list[str]:
    """How many cards it is at either end of the band, where the method has one."""
    found = []
    for row in winners:
        low, high = finite(row.get("cards_needed_low")), finite(row.get("cards_needed_high"))
        if low is None or high is None or low == high:
            continue
        found.append(
            words.translate(
                "{service}: four of five measured servers say {low} to {high} cards where {cards} are planned.",
                service=words.service(row["service"]), low=words.count(low), high=words.count(high),
                cards=words.count(row["cards_needed"]),
            )
        )  # fmt: skip
    return found


def _prices(words: Wording, winners: list[Row]) -> list[str]:
    """What is tied to a day: prices move before an order is signed."""
    rented = [row for row in winners if row["way"] == "rent"]
    bought = [row for row in winners if row["way"] == "buy"]
    found = []
    if rented:
        said = "Rents are those of the day they were quoted; providers change them without notice."
        found.append(words.translate(said))
    if bought:
        said = "Server prices hold until the quote ends; what servers are worth later is judgement."
        found.append(words.translate(said))
    return found
