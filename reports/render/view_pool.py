"""What page one says where all services share one pool of cards: the plan's figures in place of the sums."""

from __future__ import annotations

from typing import Any

from reports.fleet.plan import PLAN
from reports.render import view_fleet
from reports.render.wording import Wording


def figures(words: Wording) -> list[dict[str, str]]:
    """Services served, cards, their use, and money of the plan; empty without one."""
    known = view_fleet.summary(words, PLAN)
    if not known:
        return []
    return [
        {
            "value": words.translate(
                "{answered} of {asked}", answered=words.count(known["services_served"]),
                asked=words.count(known["services"]),
            ),
            "unit": words.translate("services served in full" if words.lists_services else "models served in full"),
            "note": words.translate("{share} of all requests at once",
                                    share=_share(words, known["demand_served_share"])),
        },
        {
            "value": words.count(known["cards"]),
            "unit": words.translate("cards in the pool"),
            "note": words.translate(
                "{kept} kept, {bought} bought, {rented} rented", kept=words.count(known["keep_cards"]),
                bought=words.count(known["buy_cards"]), rented=words.count(known["rent_cards"]),
            ),
        },
        {
            "value": words.percent(known["used_cards"] / known["cards"] if known["cards"] else None),
            "unit": words.translate("of these cards in use"),
            "note": words.translate("{n} released", n=words.count(known["release_cards"])),
        },
        {
            "value": words.amount(known["amount_per_month"]),
            "unit": words.translate("a month, equivalent"),
            "note": words.translate("{amount} paid now", amount=words.amount(known["capex_amount"]))
            if known["capex_amount"]
            else words.translate("{amount} of it committed before", amount=words.amount(known["committed_amount"])),
        },
    ]  # fmt: skip


def _share(words: Wording, share: Any) -> str:
    return words.percent(share, 0 if share == 1 else 1)


def alone(words: Wording, answer: str) -> str:
    """The answer for each service by itself, which charts and tables compare; empty without a plan."""
    if not view_fleet.summary(words, PLAN):
        return ""
    return words.translate("Each service alone, without the present cards: {answer}", answer=answer)
