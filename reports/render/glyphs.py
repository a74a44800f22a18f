"""The packaged fonts: their family name, their style sheet, and whether they can draw a document's text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from fontTools.ttLib import TTFont

from reports.errors import InputError, Problem, RenderError
from reports.paths import templates_folder
from reports.scenario.schema import Scenario

FONTS: dict[str, dict[int, str]] = {
    "Gpubook Latin": {400: "GpubookLatin-Regular.ttf", 700: "GpubookLatin-Bold.ttf"},
    "Gpubook Punctuation": {400: "GpubookPunctuation-Regular.ttf", 700: "GpubookPunctuation-Bold.ttf"},
    "Gpubook Sans": {400: "NotoSansSC-Regular.otf", 700: "NotoSansSC-Bold.otf"},
    "Gpubook Math": {400: "GpubookMath-Regular.ttf"},
    "Gpubook Math Script": {400: "GpubookMathScript-Regular.ttf"},
}
"""Family -> weight -> file. The names are our own: no font of the machine can answer to them."""

TEXT_FAMILIES = ("Gpubook Latin", "Gpubook Punctuation", "Gpubook Sans")
TEXT_STACK = "Gpubook Latin, Gpubook Sans"
"""Fonts of text in pictures, which do not inherit them from the page."""
MATH_FAMILIES = ("Gpubook Math", "Gpubook Math Script")
"""Letters of equations: full size, and drawn for sub- and superscripts."""

_INVISIBLE = frozenset("\n\r\t\u00ad\u200b\u2060")
_UNSHOWN = frozenset({"style", "script", "head"})
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "col", "wbr"})


def fonts_folder() -> Path:
    """Folder of the packaged fonts."""
    return templates_folder() / "fonts"


def font_files() -> dict[tuple[str, int], Path]:
    """Path of every packaged font by family and weight."""
    return {
        (family, weight): fonts_folder() / name for family, files in FONTS.items() for weight, name in files.items()
    }


def font_faces() -> str:
    """Style sheet that declares the packaged fonts."""
    return "\n".join(
        f"@font-face {{ font-family: '{family}'; font-weight: {weight}; src: url('{path.as_uri()}') }}"
        for (family, weight), path in font_files().items()
    )


@cache
def _drawable() -> frozenset[int]:
    """Characters that text can show in both weights."""
    covered = {400: set[int](), 700: set[int]()}
    for family in TEXT_FAMILIES:
        for weight, name in FONTS[family].items():
            with TTFont(fonts_folder() / name, lazy=True) as font:
                covered[weight].update(font.getBestCmap())
    return frozenset(covered[400] & covered[700])


def missing(text: str) -> list[str]:
    """The characters of a text that a packaged font lacks, each once, in order."""
    drawable = _drawable()
    return [c for c in dict.fromkeys(text) if ord(c) not in drawable and c not in _INVISIBLE]


def require_drawable(texts: Iterable[str]) -> None:
    """RenderError naming every text with a character that the packaged fonts cannot draw."""
    problems = []
    for text in dict.fromkeys(texts):
        lacking = missing(text)
        if lacking:
            problems.append(f"{text.strip()!r} has characters without a glyph in the packaged fonts: {_named(lacking)}")
    if problems:
        raise RenderError("\n".join(problems))


def require_drawable_scenario(scenario: Scenario, file: str) -> None:
    """InputError naming every text of a scenario that its documents would show and the packaged fonts cannot draw."""
    if not scenario.reports:
        return
    titles = {f"title.{each if getattr(scenario.title, each) else 'en'}": scenario.title[each]
              for each in scenario.languages}  # fmt: skip
    texts = {**titles, **{name: getattr(scenario, name) for name in ("client", "version", "classification")}}
    problems = [
        Problem(
            file,
            "has characters that no packaged font can draw, so no document could show it",
            where=field,
            read=f"{text.strip()!r} with {_named(missing(text))}",
            expected="Latin or Chinese letters, digits and punctuation",
        )
        for field, text in texts.items()
        if missing(text)
    ]
    if problems:
        raise InputError(problems)


def _named(characters: Iterable[str]) -> str:
    return ", ".join(f"U+{ord(c):04X} {unicodedata.name(c, '')}".strip() for c in characters)


class _Texts(HTMLParser):
    """Collects the text of a well-formed page of our own."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._open: list[bool] = []
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        equation = tag == "text" and dict(attrs).get("font-family") in MATH_FAMILIES  # chosen from what the font has
        self._open.append(tag in _UNSHOWN or equation)
        self._skipped += self._open[-1]
        if tag in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open:
            self._skipped -= self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._skipped and data.strip():
            self.texts.append(data)


def texts_of(html: str) -> list[str]:
    """Every text a page shows."""
    parser = _Texts()
    parser.feed(html)
    parser.close()
    return parser.texts
