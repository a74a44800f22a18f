"""What the headers and labels of a price list mean: words of ``catalogs/prices/headers.csv``, and a mapping file."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field

from reports.errors import InputError, Problem
from reports.paths import catalogs_folder
from reports.scenario.strict import Strict
from reports.strict_yaml import did_you_mean, read, validate

ColumnName = Literal[
    "item", "gpu", "cards", "quantity", "unit", "unit_price", "unit_price_excluded", "unit_price_included",
    "line_total", "line_discount", "currency", "provider", "region", "term", "least_quantity", "note",
]  # fmt: skip
LabelName = Literal[
    "quote_id", "date", "valid_until", "tax", "tax_rate", "discount", "deposit", "payment", "provider", "currency",
    "region", "term", "gpu", "unit", "cards", "item", "price_kind",
]  # fmt: skip
COLUMNS: tuple[str, ...] = get_args(ColumnName)
LABELS: tuple[str, ...] = ("quote_id", "date", "valid_until", "tax", "tax_rate", "discount", "deposit", "payment",
                           "provider", "currency", "region", "term")  # fmt: skip


class ListMapping(Strict):
    """How one vendor's list is read; everything is optional."""

    sheet: str = ""
    """Name of the sheet; default: the first one with a table of prices."""
    header_row: int | None = Field(default=None, ge=1, le=5_000)
    """Row with the headers, as the spreadsheet counts; default: the first one that looks like it."""
    columns: Mapping[ColumnName, str] = Field(default_factory=dict)
    """Column -> its header in the file."""
    constants: Mapping[LabelName, str | float] = Field(default_factory=dict)
    """What the file does not say, or says wrongly."""
    items: Mapping[str, str] = Field(default_factory=dict)
    """Name in the file -> the card it is, or ``ignore``."""


def read_mapping(path: Path | None) -> ListMapping:
    """The mapping file, strictly read; an empty one without a path."""
    if path is None:
        return ListMapping()
    document = read(path)
    return validate(ListMapping, document)


def plain(text: str) -> str:
    """A header as it is compared: case, line breaks, stars, colons and what stands in brackets make no difference."""
    text = re.sub(r"[（(][^）)]*[）)]", "", text)
    return " ".join(text.casefold().replace("*", " ").split()).strip(" :：") or text.casefold().strip()


@dataclass(frozen=True)
class Words:
    """Known words by field."""

    fields: Mapping[str, tuple[str, ...]]

    def field_of(self, text: str, among: tuple[str, ...]) -> str:
        """The field whose word a header is, as written or without what stands in brackets; blank: none."""
        whole, bare = " ".join(text.casefold().split()).strip(" :："), plain(text)
        for candidate in (whole, bare):
            for field in among:
                if candidate in self.fields.get(field, ()):
                    return field
        return ""

    def inside(self, text: str, prefix: str) -> str:
        """The field of the longest word of a group (``line:``, ``unit:``, …) that a text contains; blank: none."""
        folded = " ".join(text.casefold().split())
        found = [
            (len(word), name.removeprefix(prefix))
            for name, words in self.fields.items()
            if name.startswith(prefix)
            for word in words
            if _contains(folded, word)
        ]
        return max(found)[1] if found else ""


def _contains(text: str, word: str) -> bool:
    if not word.isascii():
        return word in text
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text) is not None


def known_words() -> Words:
    """The words that ship with the catalog."""
    path = catalogs_folder() / "prices" / "headers.csv"
    found: dict[str, list[str]] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            found.setdefault(row["field"], []).append(row["word"].casefold())
    return Words({name: tuple(words) for name, words in found.items()})


def no_header(file: str, headers: list[str], wanted: Mapping[str, str]) -> InputError:
    """No table was found: which header of the mapping is not there, or what a table needs."""
    lacking = [text for text in wanted.values() if plain(text) not in {plain(each) for each in headers}]
    if lacking:
        return InputError(Problem(file, "has no column with this header", read=f'"{each}"',
                                  hint=did_you_mean(each, headers)) for each in lacking)
    return InputError(
        Problem(file, "has no table of prices", expected="a row of headers with an item and a unit price or total",
                hint="name the headers in a mapping file, see docs/QUOTES.md")
    )
