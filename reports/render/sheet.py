"""The vocabulary a sheet is declared in: cells, rows, tables, charts; where they land is the renderer's business."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from string import Formatter
from typing import Any, Literal

from reports.catalog.records import CURRENCIES
from reports.columns import LEAVES, Leaf
from reports.constraints import CONSTRAINTS, LOAD
from reports.formulas.meta import Formula, info
from reports.render.formats import GENERAL, NumberKind, unit_label
from reports.render.i18n import Translator
from reports.render.live import Anchor, Call, Live, Ref
from reports.render.wording import Scale, Wording
from reports.run import Run

Translate = Translator


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


@dataclass(frozen=True)
class Cell:
    """One cell: what it holds, what it looks like, and the name others know it by."""

    content: object = None
    """A plain value, or something live."""
    look: str = "text"
    kind: NumberKind = GENERAL
    anchor: Anchor | None = None
    across: int = 1
    """Columns it spreads over."""
    sheet: str = ""
    """Name of the sheet it leads to when clicked, in English."""
    number_only: bool = False
    """Refuses anything but a number when edited."""


@dataclass(frozen=True)
class Row:
    """Cells by column, 1 is A."""

    cells: Mapping[int, Cell]
    height: float | None = None


@dataclass(frozen=True)
class Rows:
    """Rows under each other."""

    rows: Sequence[Row]


@dataclass(frozen=True)
class DataTable:
    """A large table of plain values with filters: a native table with a name of its own."""

    name: str
    header: Sequence[str]
    kinds: Sequence[NumberKind]
    rows: Iterable[Sequence[object]]
    count: int
    quiet: tuple[int, str] | None = None
    """Rows whose column (from 0) shows this text are printed in grey."""


@dataclass(frozen=True)
class Series:
    """One line of a chart, over a row or column of cells."""

    title: str
    first: Anchor
    last: Anchor
    colour: str
    dash: str = "solid"
    across: tuple[Anchor, Anchor] | None = None
    """Of points: the cells of their horizontal values."""
    symbol: str = "circle"
    """Of points."""


@dataclass(frozen=True)
class Chart:
    """A chart that takes the place of ``rows`` rows, from ``column`` on."""

    title: str
    x_title: str
    y_title: str
    categories: tuple[Anchor, Anchor]
    series: Sequence[Series]
    column: int = 1
    rows: int = 20
    width_cm: float = 26
    upright: bool = False
    """Values rise from zero; otherwise payments, which are negative, are drawn turned round."""
    value_format: str = ""
    """Number format of the vertical axis; default: whole numbers."""
    percent: bool = False
    """Shares, from 0 to all of it."""
    label_every: int = 6
    """Every how many categories have a label."""
    form: Literal["lines", "stacked", "columns", "bars", "points"] = "lines"
    """Columns on top of each other (a series without a colour only lifts those above it), columns side by side, bars
    to the left and right of zero, or points."""


@dataclass(frozen=True)
class Picture:
    """A PNG picture that takes the place of ``rows`` rows, its height theirs."""

    png: bytes
    rows: int = 4


Block = Rows | DataTable | Chart | Picture


@dataclass(frozen=True)
class Highlight:
    """Cells from one anchor to another that change their look: when equal to a value, or by a formula on the row."""

    first: Anchor
    last: Anchor
    look: str
    equals: object = None
    """A text, number or truth value."""
    row_cell: Anchor | None = None
    """With this, the whole row changes when the cell in this anchor's column equals ``equals``."""


@dataclass(frozen=True)
class Sheet:
    """One sheet: its blocks from top to bottom and how it opens and prints."""

    name: str
    """In English; its tab says it in the language of the workbook."""
    blocks: Sequence[Block]
    continues: str = ""
    """The sheet that this one goes on from; the tab has that sheet's word and the number at the end of the name."""
    widths: Mapping[int, float | tuple[float, float]] = field(default_factory=dict)
    """Column -> width, or (least, most) around what its text needs; other columns fit their text."""
    colour: str = "9AA5B1"
    freeze: tuple[int, int] = (0, 0)
    """Rows and columns that stay in view."""
    repeat_rows: tuple[int, int] | None = None
    """Rows printed on every page."""
    repeat_columns: int = 0
    gridlines: bool = False
    highlights: Sequence[Highlight] = ()
    pages_wide: int = 1
    one_page: bool = False
    large_paper: bool = False


@dataclass(frozen=True)
class Book:
    """What every sheet is declared from: the run, the words of its language, and shared names."""

    run: Run
    translate: Translate
    language: str

    @property
    def large_unit(self) -> Scale | None:
        """万 or 亿, in which Chinese readers count money: a column of its own beside the full amounts. None in English,
        and where amounts are small."""
        scale = self.words.scale(option["monthly_cost_amount"] for option in self.winners)
        return scale if self.language == "zh" and scale.factor > 1 else None

    @property
    def currency(self) -> str:
        """The scenario's currency as it stands beside a number."""
        return self.translate(self.run.scenario.currency)

    @property
    def classification(self) -> str:
        """What may be done with the workbook, as the scenario or the company's theme says."""
        scenario = self.run.scenario
        return self.known(scenario.classification) or scenario.look.classification[self.language]

    @cached_property
    def words(self) -> Wording:
        """Sentences, names and lists as the PDF writes them."""
        return Wording(self.run, self.language, self.translate)

    @cached_property
    def as_evaluated(self) -> str:
        """Heads what does not follow an edit."""
        return self.translate("As evaluated on {date}", date=self.words.day(self.run.scenario.as_of))

    def known(self, text: str) -> str:
        """A word of a catalog: translated where it can be, itself otherwise."""
        return self.translate.known(text)

    @cached_property
    def options(self) -> list[dict[str, Any]]:
        """The short list, services in the scenario's order, the best option of each first."""
        order = {each.name: index for index, each in enumerate(self.run.scenario.service_axis)}
        rows = self.run.shortlist.to_dict("records")
        return sorted(rows, key=lambda row: (order.get(str(row["service"]), len(order)), row["rank"]))

    @cached_property
    def services(self) -> list[str]:
        """Services that have a short-listed option."""
        return list(dict.fromkeys(str(option["service"]) for option in self.options))

    def options_of(self, service: str) -> list[dict[str, Any]]:
        return [option for option in self.options if str(option["service"]) == service]

    @cached_property
    def winners(self) -> list[dict[str, Any]]:
        return [option for option in self.options if option["winner"]]

    @cached_property
    def ways(self) -> tuple[str, ...]:
        """Ways of getting the cards that this scenario compares."""
        return tuple(self.run.scenario.costs.compare)

    @cached_property
    def made(self) -> dict[str, tuple[Formula, Any]]:
        """Column of the short list -> the formula and block that make it."""
        return {block.column(info(each).name): (each, block) for block in self.run.blocks for each in block.formulas}

    @cached_property
    def leaves(self) -> list[Leaf]:
        """Leaves that any formula or constraint of the run reads."""
        blocks = self.run.blocks
        read = {block.resolve(name) for block in blocks for each in block.formulas for name in info(each).inputs}
        records = CONSTRAINTS[self.run.method.name]
        read |= {name for record in records for name in (record.value, record.bound) if name != LOAD}
        return [leaf for leaf in LEAVES if leaf.name in read - set(self.made)]

    def unit(self, unit: str, column: str = "") -> str:
        """A unit as shown; amounts name their currency."""
        own = next((code for code in CURRENCIES if unit.startswith(code)), "")
        if own and unit.endswith(CURRENCIES):  # an exchange rate names both
            return "/".join(self.translate(code) for code in unit.split("/"))
        label = self.translate(unit_label(unit.replace(own, "currency", 1) if own else unit, "currency", column))
        # the currency of an offer or quote is its own, whatever the scenario counts in
        if unit.startswith(("offer", "quote")):
            return label
        return label.replace("currency", self.translate(own) if own else self.currency)

    def label(self, option: Mapping[str, Any]) -> str:
        """An option in a few words."""
        return f"{self.gpu(option)} · {option['quantization']} · {self.link(option)}"

    def gpu(self, option: Mapping[str, Any]) -> str:
        return self.run.catalog.gpus[str(option["gpu"])].name

    def model(self, model: str) -> str:
        return self.run.catalog.models[model].name

    @cached_property
    def axis(self) -> str:
        """Head of a column of services."""
        return self.translate("Service" if self.words.lists_services else "Model")

    def service(self, service: str) -> str:
        """A service with its model, or the model alone that it is named by."""
        return self.words.service(service)

    def link(self, option: Mapping[str, Any]) -> str:
        return {"nvlink": "NVLink", "pcie": "PCIe"}.get(str(option["interconnect"]), str(option["interconnect"]))

    def checks_flag(self) -> Cell:
        """The overall result of the Checks sheet, for the top of every sheet."""
        return Cell(Ref(("checks", "overall")), "link text", sheet="Checks")

    def top(self, name: str) -> Rows:
        """The three lines every sheet starts with."""
        scenario = self.run.scenario
        money = self.translate("Amounts in {currency}", currency=self.currency)
        return Rows(
            (
                Row({1: Cell(self.translate(name), "title")}, 28),
                Row({1: Cell(f"{scenario.title[self.language]} · {scenario.period} · {money}", "subtitle")}, 16),
                Row({1: self.checks_flag()}, 16),
                Row({}, 8),
            )
        )


TOP_ROWS = 4


def heading(text: str | Live, columns: int, look: str = "section") -> Row:
    """A heading whose rule runs over the columns of what it heads."""
    return Row({1: Cell(text, look), **{column: Cell(None, look) for column in range(2, columns + 1)}}, 22)


def gap(height: float = 10) -> Row:
    """White space."""
    return Row({}, height)


def sentence(pattern: str, **parts: Live | str) -> Live:
    """A translated pattern with live parts in the places of its ``{names}``."""
    pieces: list[Live | str] = []
    for text, name, _, _ in Formatter().parse(pattern):
        pieces += [text] if text else []
        pieces += [parts[name]] if name else []
    return Call("&", *pieces) if len(pieces) > 1 else Call("&", *pieces, "")


def missing(value: object) -> bool:
    """Whether a frame's value is no number."""
    return isinstance(value, float) and not math.isfinite(value)
