"""The packaged fonts: their family name, their style sheet, and whether they can draw a document's text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from fontTools.ttLib import TTFont

from reports.errors import RenderError
from reports.paths import templates_folder

FONT_FAMILY = "Gpubook Sans"
"""A name of our own: no font of the machine can answer to it."""

FONT_FILES = {400: "NotoSansSC-Regular.otf", 700: "NotoSansSC-Bold.otf"}

_INVISIBLE = frozenset("\n\r\t\u00ad\u200b\u2060")
_UNSHOWN = frozenset({"style", "script", "head"})


def fonts_folder() -> Path:
    """Folder of the packaged fonts."""
    return templates_folder() / "fonts"


def font_faces() -> str:
    """Style sheet that declares the packaged fonts."""
    return "\n".join(
        f"@font-face {{ font-family: '{FONT_FAMILY}'; font-weight: {weight}; src: url('{(fonts_folder() / name).as_uri()}') }}"
        for weight, name in FONT_FILES.items()
    )


@cache
def _drawable() -> frozenset[int]:
    covered: frozenset[int] | None = None
    for name in FONT_FILES.values():
        font = TTFont(fonts_folder() / name, lazy=True)
        characters = frozenset(font.getBestCmap())
        covered = characters if covered is None else covered & characters
        font.close()
    return covered or frozenset()


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
            named = ", ".join(f"U+{ord(c):04X} {unicodedata.name(c, '')}".strip() for c in lacking)
            problems.append(f"{text.strip()!r} has characters without a glyph in the packaged fonts: {named}")
    if problems:
        raise RenderError("\n".join(problems))


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skipped += tag in _UNSHOWN

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= tag in _UNSHOWN

    def handle_data(self, data: str) -> None:
        if not self._skipped and data.strip():
            self.texts.append(data)


def texts_of(html: str) -> list[str]:
    """Every text a page shows."""
    parser = _Texts()
    parser.feed(html)
    parser.close()
    return parser.texts
