"""Sentences on candidates, prices and warnings: names for ids, rounded numbers, lists joined as the language does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from reports.constraints import SENTENCES
from reports.cost.offers import LONG_TERMS, OLD_OFFERS, WIDE_SPREADS
from reports.cost.purchases import OLD_PRICES, WIDE_PURCHASES
from reports.cost.quotes import PURCHASE_QUOTES, RENT_QUOTES, Listed, Measured
from reports.recommend import closest
from reports.render.wording import Wording, finite

_ONE = re.compile(r"(?<![\d.,])1 ((?:[a-z]+ )?(?:card|day|head|instance|month|offer|price|request|server|stage))s\b")


_ABOUT = {
    OLD_OFFERS: "rent", WIDE_SPREADS: "rent", LONG_TERMS: "rent", OLD_PRICES: "buy", WIDE_PURCHASES: "buy",
    **dict.fromkeys(RENT_QUOTES, "rent"), **dict.fromkeys(PURCHASE_QUOTES, "buy"),
}  # fmt: skip
"""Warnings about the prices of one way; beside the other way alone they would only confuse."""


def warnings(words: Wording) -> list[str]:
    """What a reader must know first, each sentence once."""
    shown = (
        said(words, message, values)
        for message, values in words.run.warnings
        if _ABOUT.get(message, words.ways[0]) in words.ways
    )
    return list(dict.fromkeys(shown))


def near_miss(words: Wording, service: str) -> str:
    """What came closest for a service that nothing can serve, and by how much it misses; empty where nothing did."""
    found = closest(words.run.excuses, service)
    if found is None or found["code"] not in SENTENCES:
        return ""
    option = words.run.options.set_index("option_id").loc[found["option_id"]]
    name = words.translate("{cards} × {card}, {format}, {link}", cards=words.count(option["unit_cards"]),
                           card=words.gpu(option["gpu"]), format=words.quantization(option["quantization"]),
                           link=words.link(option["interconnect"]))  # fmt: skip
    return words.translate("The closest is {option}: {why}", option=name,
                           why=said(words, SENTENCES[str(found["code"])], found["values"]))  # fmt: skip


def said(words: Wording, message: str, values: Mapping[str, Any]) -> str:
    """A message with its values in the document's language."""
    text = words.translate(message, **{name: quoted(words, name, value) for name, value in values.items()})
    return _ONE.sub(r"1 \1", text) if words.language == "en" else text


def quoted(words: Wording, name: str, value: Any) -> str:
    """One value of a sentence: what it is follows from its name."""
    if isinstance(value, Measured):
        known = words.run.catalog.gpus
        cards = (
            (
                words.gpu(name) if name in known else words.model(name),
                _ONE.sub(r"1 \1", words.translate(value.message, n=words.short(measure, 4))),
            )
            for name, measure in value.items
        )
        return words.listed(words.translate("{card} ({measure})", card=card, measure=said) for card, said in cards)
    if isinstance(value, Listed):
        return words.listed(_named(words, each) for each in value)
    naming = {"gpu": words.gpu, "model": words.model, "service": words.service, "interconnect": words.link,
              "host": words.host}  # fmt: skip
    if name in naming:
        return naming[name](value)
    number = finite(value)
    if number is None:
        return words.named(value) if isinstance(value, str) else words.number(value)
    if name.endswith("_amount"):
        return words.amount(number)
    if name.endswith("_tenths"):
        return words.tenths(number)
    return words.percent(number) if name.endswith("_share") else words.short(number, 4)


def _named(words: Wording, item: str) -> str:
    """A card, a service, a rental term, or a word that the catalogue may know (regions do, providers need not)."""
    if item in {each.name for each in words.run.scenario.service_axis}:
        return words.service(item)
    return words.gpu(item) if item in words.run.catalog.gpus else term(words, item)


def term(words: Wording, code: Any) -> str:
    """A rental term in words; any other word is translated where it can be."""
    text = str(code)
    length = text.removeprefix("reserved-")
    if length != text and length[:-1].isdecimal() and length[-1] in "my":
        if length.endswith("m"):
            return words.counted(int(length[:-1]), "reserved {n} month", "reserved {n} months")
        return words.counted(int(length[:-1]), "reserved {n} year", "reserved {n} years")
    names = {"on-demand": words.translate("on demand"), "spot": words.translate("spot")}
    return names.get(text) or words.translate.known(text)
