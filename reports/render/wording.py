"""Numbers, units and names as one document writes them: one language, one currency."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from reports.catalog.records import CURRENCIES
from reports.constants import YUAN_PER_WAN, YUAN_PER_YI
from reports.constraints import CONSTRAINTS
from reports.cost.blocks import WAYS
from reports.render.formats import (
    NOT_AVAILABLE,
    UNIT_WORDS,
    format_day,
    format_money,
    format_month,
    format_number,
    significant,
    tenths,
)
from reports.render.i18n import Translator
from reports.run import Run
from reports.scenario.services import Service

COUNTED = frozenset(("cards", "servers", "instances", "units", "replicas", "requests", "months", "tokens"))
"""Units that are plural nouns."""


@dataclass(frozen=True)
class Scale:
    """The unit of the amounts of one table or chart: divide by ``factor``, print ``unit`` in the header."""

    factor: float
    unit: str
    places: int


@dataclass(frozen=True)
class Wording:
    """How a document of this run in this language writes things."""

    run: Run
    language: str
    translate: Translator

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways to get the cards that the scenario considers: rent, buy, or both."""
        return tuple(way for way in WAYS if way in self.run.scenario.costs.compare)

    @property
    def both_ways(self) -> bool:
        """Whether renting and buying are compared; with one of them alone nothing may be said of the other."""
        return len(self.ways) == len(WAYS)

    @property
    def has_targets(self) -> bool:
        """Whether the deciding method checks latency against the targets of the scenario."""
        return any(str(record.bound).endswith("_target_ms") for record in CONSTRAINTS[self.run.method.name])

    @property
    def currency(self) -> str:
        """The scenario's currency as it stands beside a number."""
        return self.currency_name(self.run.scenario.currency)

    def currency_name(self, code: str) -> str:
        """CNY in English, 元 in Chinese."""
        return self.translate(code)

    # ---- numbers ----

    def number(self, value: Any, unit: str = "", column: str = "", digits: int = 4) -> str:
        """A number without its unit; ``n/a`` where there is none."""
        known = finite(value)
        return (
            self.translate(NOT_AVAILABLE)
            if known is None
            else format_number(known, unit, self.language, column, digits)
        )

    def short(self, value: Any, digits: int = 3) -> str:
        """A measured or computed quantity with few digits, for headlines."""
        known = finite(value)
        return self.translate(NOT_AVAILABLE) if known is None else significant(known, self.language, digits)

    def tenths(self, value: Any) -> str:
        """A quantity with one decimal; ``n/a`` where there is none."""
        known = finite(value)
        return self.translate(NOT_AVAILABLE) if known is None else tenths(known, self.language)

    def count(self, value: Any) -> str:
        """A whole number."""
        return self.number(value, "cards")

    def percent(self, share: Any, places: int = 0) -> str:
        """A share of one as a percentage."""
        known = finite(share)
        if known is None:
            return self.translate(NOT_AVAILABLE)
        return f"{known * 100:.{places}f}{'%' if self.language == 'zh' else ' %'}"

    def unit(self, unit: str) -> str:
        """A unit as readers know it; empty for plain ratios."""
        if unit == "flag":
            return ""  # the value itself says yes or no
        plain = UNIT_WORDS.get(unit, unit)
        if set(plain.split("/")) <= set(CURRENCIES) and plain:
            return "/".join(self.currency_name(code) for code in plain.split("/"))
        code = next((code for code in CURRENCIES if re.match(rf"{code}\b", plain)), "")
        name = self.currency_name(code) if code else self.currency
        return self.translate(plain.replace(code, "currency", 1) if code else plain).replace("currency", name)

    def with_unit(self, value: Any, unit: str, column: str = "", digits: int = 4) -> str:
        """A number and its unit."""
        label = self.unit(unit)
        text = self.number(value, unit, column, digits)
        if text == "1" and self.language == "en" and unit in COUNTED:
            label = label.removesuffix("s")
        return f"{text}\u00a0{label}" if label and text != self.translate(NOT_AVAILABLE) else text

    # ---- money ----

    def amount(self, value: Any) -> str:
        """An amount with its unit, short enough for a sentence."""
        known = finite(value)
        if known is None:
            return self.translate(NOT_AVAILABLE)
        text = format_money(known, self.run.scenario.currency, self.language)
        if self.language == "zh":
            code = self.run.scenario.currency
            text = re.sub(rf"([万亿]) {code}$", rf"\1{self.currency}", text).replace(code, self.currency)
        return text.replace(" ", "\u00a0")

    def price(self, value: Any) -> str:
        """A small amount to the cent, without its unit."""
        return self.number(value, "currency/card-h")

    def scale(self, values: Iterable[Any]) -> Scale:
        """The unit that keeps the largest of the values readable: k and M in English, 万 and 亿 in Chinese."""
        largest = max((abs(known) for known in map(finite, values) if known is not None), default=0.0)
        if self.language == "zh":
            steps = [(YUAN_PER_YI, f"亿{self.currency}"), (YUAN_PER_WAN, f"万{self.currency}")]
        else:
            steps = [(1e9, f"bn {self.currency}"), (1e6, f"M {self.currency}"), (1e3, f"k {self.currency}")]
        factor, unit = next((step for step in steps if largest >= 2 * step[0]), (1.0, self.currency))
        shown = largest / factor
        whole = shown >= 1000 or (factor == 1.0 and shown >= 100)
        return Scale(factor, unit, 0 if whole else 1 if shown >= 100 else 2)

    def scaled(self, value: Any, scale: Scale) -> str:
        """An amount in the unit of a table; negative ones in parentheses."""
        known = finite(value)
        if known is None:
            return self.translate(NOT_AVAILABLE)
        text = f"{abs(known) / scale.factor:,.{scale.places}f}"
        return f"({text})" if known < 0 and float(text.replace(",", "")) else text

    # ---- dates ----

    def day(self, value: date | str) -> str:
        """A date; a month or a year where the text names no day."""
        if isinstance(value, date):
            return format_day(value, self.language)
        parts = str(value)[:10].split("-")
        if len(parts) == 3 and all(part.isdecimal() for part in parts):
            return format_day(date(*(int(part) for part in parts)), self.language)
        if len(parts) == 2 and all(part.isdecimal() for part in parts):
            return format_month(str(value), self.language)
        return str(value)

    def month(self, period: str) -> str:
        """A ``YYYY-MM`` in words."""
        return format_month(period, self.language)

    # ---- names ----

    def gpu(self, slug: Any) -> str:
        """A card's name."""
        found = self.run.catalog.gpus.get(str(slug))
        return found.name if found else str(slug)

    def model(self, slug: Any) -> str:
        """A model's name."""
        found = self.run.catalog.models.get(str(slug))
        return found.name if found else str(slug)

    def service(self, name: Any) -> str:
        """A service as documents call it: its name with its model beside it, or the model alone that it is named by."""
        found = self._services.get(str(name))
        if found is None or found.name == found.model:
            return self.model(name)
        return self.translate("{service} ({model})", service=found.name, model=self.model(found.model))

    @cached_property
    def _services(self) -> dict[str, Service]:
        return {each.name: each for each in self.run.scenario.service_axis}

    @property
    def lists_services(self) -> bool:
        """Whether the first axis is a list of services rather than of models."""
        return bool(self.run.scenario.services)

    def services_counted(self, number: Any) -> str:
        """So many models, or services where the scenario lists them."""
        if self.lists_services:
            return self.counted(number, "{n} service", "{n} services")
        return self.counted(number, "{n} model", "{n} models")

    def named(self, text: str) -> str:
        """A text with the ids of cards in it replaced by their names."""
        for slug in sorted(self.run.catalog.gpus, key=len, reverse=True):
            if slug in text:
                text = re.sub(rf"(?<![\w.-]){re.escape(slug)}(?![\w.-])", self.gpu(slug), text)
        return text

    def link(self, slug: Any) -> str:
        """NVLink, PCIe, or nothing for a single card."""
        return {"nvlink": "NVLink", "pcie": "PCIe"}.get(str(slug), str(slug))

    def quantization(self, slug: Any) -> str:
        """A weight format, short."""
        return str(slug).upper()

    def layout(self, row: Mapping[str, Any]) -> str:
        """Replicas of one unit and how each is split: 2 × TP4."""
        parts = [
            f"{short}{int(row[column])}"
            for short, column in (("TP", "tensor_parallel"), ("DP", "data_parallel"), ("PP", "pipeline_parallel"))
            if finite(row.get(column)) is not None and (short == "TP" or row[column] > 1)
        ]
        replicas = finite(row.get("replicas"))
        return f"{int(replicas)}\u00a0×\u00a0{' '.join(parts)}" if replicas is not None and parts else "–"

    def counted(self, number: Any, one: str, many: str) -> str:
        """``one`` or ``many`` with the number filled in; both are messages with ``{n}``."""
        return self.translate(one if number == 1 else many, n=self.count(number))

    def months(self, number: Any) -> str:
        """A span of months."""
        return self.counted(number, "{n} month", "{n} months")

    def listed(self, words: Iterable[str]) -> str:
        """A list inside a sentence."""
        return ("、" if self.language == "zh" else ", ").join(words)

    def joined(self, *sentences: str) -> str:
        """Sentences after each other."""
        return ("" if self.language == "zh" else " ").join(each for each in sentences if each)

    def host(self, slug: Any) -> str:
        """A server's name."""
        found = self.run.catalog.hosts.get(str(slug))
        return found.name if found else str(slug)


def finite(value: Any) -> float | None:
    """The number, or None for blanks and what is not a number."""
    if value is None or isinstance(value, str):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
