"""A company's own look: colours, fonts, logo, header, footer, disclaimer and classification, from a theme file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from reports.scenario.strict import Strict

Colour = Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{6}$", description="six hexadecimal digits, such as 0072B2")]
FontName = Annotated[str, Field(min_length=1, max_length=31, pattern=r"^[\w .-]+$", description="the name of a font")]


class Words(Strict):
    """A text in each language; English stands in where another is missing."""

    en: str = Field(default="", max_length=600)
    zh: str = Field(default="", max_length=600)

    def __getitem__(self, language: str) -> str:
        return getattr(self, language) or self.en


class Colours(Strict):
    """Colours of titles, of what is marked, and of bands behind headings."""

    title: Colour = "16324F"
    mark: Colour = "0072B2"
    band: Colour = "EEF2F6"


class Fonts(Strict):
    """Fonts of the workbook, as Excel knows them; documents keep the packaged fonts, which are known to be complete."""

    en: FontName = "Arial"
    zh: FontName = "Microsoft YaHei"

    def __getitem__(self, language: str) -> str:
        return str(getattr(self, language, self.en))


class LookFile(Strict):
    """What a theme file may say; what it leaves out looks as shipped."""

    company: Words = Words()
    """Read out in place of the logo."""
    colours: Colours = Colours()
    fonts: Fonts = Fonts()
    logo: str = Field(default="", max_length=200)
    """A PNG file beside the theme file."""
    header: Words = Words()
    """Printed at the top of every page."""
    footer: Words = Words()
    """Printed at the bottom of every page."""
    disclaimer: Words = Words()
    """At the end of a document and on the first sheet of a workbook."""
    classification: Words = Words()
    """Such as Internal; a scenario's own classification stands before it."""


class Look(LookFile):
    """A theme that was read."""

    logo_png: bytes = b""
