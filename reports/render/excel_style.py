"""The looks of a cell: one look for one purpose, each registered once, so a workbook has few styles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from openpyxl import Workbook
from openpyxl.styles import Alignment, Border, Font, PatternFill, Protection, Side
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.styles.styleable import StyleableObject

from reports.render.formats import FLAG, GENERAL, NumberKind
from reports.scenario.look import Look as CompanyLook

INK, MUTED, RULE = "1F2933", "6B7280", "9AA5B1"
NAVY, BAND, PALE = "16324F", "EEF2F6", "F7F9FB"
BLUE, ORANGE, GREEN, PURPLE = "0072B2", "D55E00", "007A5A", "8172B3"
"""Buy, rent, hybrid and links, API: an order that stays apart for colour-blind readers and in grey print."""
INPUT_INK, INPUT_FILL = "0000FF", "FFFBE0"
SOLVED_FILL = "EDEDED"
GOOD_INK, GOOD_FILL, BAD_INK, BAD_FILL = "00603F", "E3F4EC", "A61B1B", "FBE4E4"


Rule = Literal["thin", "medium"]


@dataclass(frozen=True)
class Look:
    """Everything about a cell but its number format."""

    colour: str = INK
    bold: bool = False
    italic: bool = False
    size: float = 10
    fill: str = ""
    align: str = ""
    """Empty: text left, numbers right. Numbers keep a little room, so they do not touch the text to their right."""
    wrap: bool = False
    vertical: str = "center"
    top: Rule | None = None
    bottom: Rule | None = None
    indent: int = 0
    unlocked: bool = False


LOOKS: dict[str, Look] = {
    "blank": Look(),
    "title": Look(colour=NAVY, bold=True, size=18),
    "subtitle": Look(colour=MUTED, size=10),
    "headline": Look(colour=INK, bold=True, size=13, wrap=True),
    "figure": Look(colour=NAVY, bold=True, size=16, align="left"),
    "figure label": Look(colour=MUTED, size=9, align="left", vertical="top", wrap=True),
    "section": Look(colour=NAVY, bold=True, size=12, bottom="medium"),
    "heading": Look(colour=NAVY, bold=True, fill=BAND),
    "head": Look(bold=True, wrap=True, bottom="thin", vertical="bottom"),
    "head number": Look(bold=True, wrap=True, bottom="thin", align="right", vertical="bottom", indent=1),
    "spanner": Look(bold=True, wrap=True, align="right", vertical="bottom", indent=1),
    "text": Look(),
    "wrapped": Look(wrap=True),
    "listed": Look(align="left", indent=1),
    "head listed": Look(bold=True, wrap=True, bottom="thin", align="left", vertical="bottom", indent=1),
    "note": Look(colour=MUTED, size=9),
    "wrapped note": Look(colour=MUTED, size=9, wrap=True),
    "unit": Look(colour=MUTED, size=9),
    "strong": Look(bold=True),
    "value": Look(align="right", indent=1),
    "formula": Look(align="right", indent=1),
    "formula text": Look(align="left"),
    "total": Look(align="right", indent=1, bold=True, top="thin"),
    "total label": Look(bold=True, top="thin"),
    "link": Look(colour=GREEN, align="right", indent=1),
    "link text": Look(colour=GREEN),
    "input": Look(colour=INPUT_INK, fill=INPUT_FILL, align="right", indent=1, unlocked=True),
    "fixed input": Look(colour=INPUT_INK, align="right", indent=1),
    "solved": Look(fill=SOLVED_FILL, align="right", indent=1),
    "index": Look(colour=BLUE),
    "flag": Look(bold=True),
    "check": Look(bold=True, align="center"),
}
"""Blue on pale yellow is an input to edit, green a link to another sheet, black a formula, grey a solved value."""

DIFFERENCES: dict[str, DifferentialStyle] = {
    "good": DifferentialStyle(font=Font(color=GOOD_INK, bold=True), fill=PatternFill(bgColor=GOOD_FILL)),
    "bad": DifferentialStyle(font=Font(color=BAD_INK, bold=True), fill=PatternFill(bgColor=BAD_FILL)),
    "winner": DifferentialStyle(font=Font(bold=True), fill=PatternFill(bgColor="E6F0F8")),
    "quiet": DifferentialStyle(font=Font(color=MUTED)),
}
"""What conditional formats change."""

WORDS = {("zh", FLAG.name): '"是";;"否"'}
"""Number formats that say words, in other languages."""


class Styles:
    """Registers a look with a number format once and knows its id."""

    def __init__(self, workbook: Workbook, language: str, look: CompanyLook) -> None:
        self._font = look.fonts[language]
        self._own = {NAVY: look.colours.title, BLUE: look.colours.mark, BAND: look.colours.band}
        self._language = language
        self._sheet: Any = workbook.active
        self._ids: dict[tuple[str, str, bool], int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def id(self, look: str, kind: NumberKind = GENERAL, quoted: bool = False) -> int:
        """Style id of a look in a number format; ``quoted`` keeps text that looks like a formula text when edited."""
        key = (look, kind.excel, quoted)
        if key not in self._ids:
            self._ids[key] = self._register(LOOKS[look], kind, quoted)
        return self._ids[key]

    def _register(self, look: Look, kind: NumberKind, quoted: bool) -> int:
        styled: Any = StyleableObject(self._sheet)
        colour, fill = (self._own.get(each, each) for each in (look.colour, look.fill))
        styled.font = Font(name=self._font, size=look.size, bold=look.bold, italic=look.italic, color=colour)
        if fill:
            styled.fill = PatternFill("solid", start_color=fill)
        if look.top or look.bottom:
            top, bottom = (Side(each, RULE) if each else None for each in (look.top, look.bottom))
            styled.border = Border(top=top, bottom=bottom)
        styled.alignment = Alignment(
            horizontal=look.align or None, vertical=look.vertical, wrap_text=look.wrap or None, indent=look.indent
        )
        styled.number_format = WORDS.get((self._language, kind.name), kind.excel)
        if look.unlocked:
            styled.protection = Protection(locked=False)
        if quoted:
            styled._style.quotePrefix = 1
        return int(styled.style_id)
