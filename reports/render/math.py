"""Equations: LaTeX to SVG, broken into lines that fit the page, the same picture for the same text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import ziamath
from fontTools.ttLib import TTFont
from ziamath import operators
from ziamath.nodes.mrow import Mrow
from ziamath.nodes.nodetools import elementtext

from reports.errors import RenderError
from reports.render.glyphs import FONTS, MATH_FAMILIES, fonts_folder

SIZE_PT = 9.0
"""Height of the letters on paper: a little under the text, so that sub-scripts stay near 6 pt."""

LEAST_SCALE = 0.78
"""A wide equation shrinks this far before it is broken into lines."""

SYMBOL_EM = 12
"""Size of a letter in the typesetter's own symbols."""

UNITS = 25
"""Units of a picture in one point: coordinates are whole numbers, finer than a printer's dots, and small in a file."""


class _Row(Mrow, tag="mrow"):  # type: ignore[call-arg]
    """A row of ziamath that measures its parts only when a fence in it has to grow to their height.

    ziamath lays every row out twice, to know that height, so a deep fraction takes seconds. Registering a class for
    a tag is its own way of extending it.
    """

    def _get_height_nostretch(self, line: list[ElementTree.Element], **kwargs: object) -> tuple[float, float]:
        if kwargs.get("nostretch") or not any(_grows(child) for child in line):
            return 0.0, 0.0
        low, high = super()._get_height_nostretch(line, **kwargs)
        return float(low), float(high)


def _grows(element: ElementTree.Element) -> bool:
    if element.tag != "mo":
        return False
    known = operators.get_params(elementtext(element), element.get("form", "infix"))
    return str(element.get("stretchy", known.get("stretchy", "false"))) != "false"


@dataclass(frozen=True)
class Equation:
    """One line of an equation as a picture: its size in points, and how far it hangs below the baseline."""

    svg: str
    width_pt: float
    height_pt: float
    depth_pt: float


def typeset(latex: str, title: str = "", size_pt: float = SIZE_PT) -> Equation:
    """One line of LaTeX as an SVG in points; ``title`` is what a screen reader says."""
    left, top, width, height, body = _drawn(latex, size_pt)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" font-family="{MATH_FAMILIES[0]}" '
        f'width="{width:.2f}pt" height="{height:.2f}pt" '
        f'viewBox="{left * UNITS:.0f} {top * UNITS:.0f} {width * UNITS:.0f} {height * UNITS:.0f}">'
        f"<title>{escape(title or latex)}</title>{body}</svg>"
    )
    return Equation(svg, width, height, top + height)


@cache
def _drawn(latex: str, size_pt: float) -> tuple[float, float, float, float, str]:
    """Left, top, width and height in points, and the elements inside."""
    try:
        picture = ziamath.Latex(latex, size=size_pt, margin=0.5).svgxml()
    except Exception as problem:  # whatever the typesetter stumbles over, the document must not go out
        raise RenderError(f"an equation cannot be typeset ({problem}): {latex}") from problem
    left, top, width, height = (float(part) for part in picture.get("viewBox", "").split())
    return left, top, width, height, _body(picture)


@cache
def _characters() -> Mapping[int, tuple[str, str]]:
    """Glyph of the typesetter's font -> family and character of the packaged subset that draws it."""
    found: dict[int, tuple[str, str]] = {}
    with TTFont(Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf", lazy=True) as font:
        for family in MATH_FAMILIES:
            with TTFont(fonts_folder() / FONTS[family][400], lazy=True) as packaged:
                for code, glyph in sorted(packaged.getBestCmap().items()):
                    found.setdefault(font.getGlyphID(glyph), (family, chr(code)))
    return found


def _body(picture: ElementTree.Element) -> str:
    """Characters as text, the rest (rules, grown brackets) as one path: the PDF engine is slow with outlines."""
    symbols: dict[str, tuple[float, float, float, str]] = {}
    letters: dict[tuple[str, int, int], list[tuple[int, str]]] = {}
    parts: list[str] = []
    for element in picture:
        tag = element.tag.rpartition("}")[2]
        if tag == "symbol":
            left, top, width, _ = (float(part) for part in element.get("viewBox", "").split())
            path = "".join(part.get("d", "") for part in element.iter())
            symbols[element.get("id", "")] = left, top, width, path
        elif tag == "use":
            name = element.get("href", "").lstrip("#")
            left, top, width, path = symbols[name]
            if not width:
                continue  # a space draws nothing
            scale = _units(element, "width") / width
            x, y = _units(element, "x") - left * scale, _units(element, "y") - top * scale
            family, character = _characters().get(int(name.rpartition("_")[2]), ("", ""))
            if character:
                letters.setdefault((family, round(scale * SYMBOL_EM), round(y)), []).append((round(x), character))
            else:
                parts.append(_placed(path, scale, x, y))
        elif tag == "rect":
            x, y, right = _units(element, "x"), _units(element, "y"), _units(element, "width")
            parts.append(f"M{x:.0f} {y:.0f}h{right:.0f}v{_units(element, 'height'):.0f}h{-right:.0f}Z")
        else:
            raise RenderError(f"an equation contains a {tag}, which nobody knows how to draw")
    texts = [
        f'<text font-family="{family}" font-size="{size}" y="{y}" x="{" ".join(str(x) for x, _ in run)}">'
        f"{escape(''.join(character for _, character in run))}</text>"
        for (family, size, y), run in letters.items()
    ]
    return "".join(texts) + (f'<path d="{"".join(parts)}"/>' if parts else "")


def _units(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name, "0")) * UNITS


def _placed(path: str, scale: float, x: float, y: float) -> str:
    """A glyph's path scaled and moved, in whole units."""
    return "".join(
        command + " ".join(f"{value * scale + (y if odd else x):.0f}" for odd, value in zip(_XY, values, strict=False))
        for command, values in _commands(path)
    )


_XY = (False, True) * 3


@cache
def _commands(path: str) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Absolute M, L and C of a glyph's path; its quadratic curves as cubic ones, which is what a PDF draws."""
    commands: list[tuple[str, tuple[float, ...]]] = []
    x = y = 0.0
    for command, text in re.findall(r"([MLQCZ])([^MLQCZ]*)", path):
        values = tuple(float(value) for value in text.split())
        if command == "Q":
            cx, cy, ex, ey = values
            start, end = (x + 2 * (cx - x) / 3, y + 2 * (cy - y) / 3), (ex + 2 * (cx - ex) / 3, ey + 2 * (cy - ey) / 3)
            values = (*start, *end, ex, ey)
            command = "C"
        if command == "L" and values == (x, y):
            continue
        if values:
            x, y = values[-2:]
        commands.append((command, values))
    return tuple(commands)


def lines(left: str, right: str, width_pt: float, title: str = "") -> tuple[Equation, ...]:
    """``left = right`` within ``width_pt``: a little smaller if that is enough, else broken before terms of a sum."""
    start = f"{left} = " if left else "= "
    whole = typeset(start + right, title)
    if whole.width_pt * LEAST_SCALE <= width_pt:
        return (_fitted(whole, width_pt),)
    terms = _terms(right)
    if len(terms) == 1:
        return (_fitted(whole, width_pt),)
    room = width_pt / LEAST_SCALE - typeset(r"\qquad", title).width_pt
    filled: list[str] = []
    used = room
    for term in terms:
        width = typeset(term, title).width_pt
        if filled and used + width <= room:
            filled[-1] += f" {term}"
            used += width
        else:
            filled.append(term)
            used = width
    texts = [start + filled[0], *(rf"\qquad {term}" for term in filled[1:])]
    return tuple(_fitted(typeset(text, title), width_pt) for text in texts)


def _fitted(equation: Equation, width_pt: float) -> Equation:
    """The same picture, smaller where it is wider than ``width_pt``."""
    if equation.width_pt <= width_pt:
        return equation
    scale = width_pt / equation.width_pt
    old = f'width="{equation.width_pt:.2f}pt" height="{equation.height_pt:.2f}pt"'
    new = f'width="{width_pt:.2f}pt" height="{equation.height_pt * scale:.2f}pt"'
    return Equation(equation.svg.replace(old, new, 1), width_pt, equation.height_pt * scale, equation.depth_pt * scale)


def _terms(latex: str) -> list[str]:
    """The terms of the outermost sum (or factors of the outermost product), each with its sign in front."""
    for sign in (r"[+-]", r"\\cdot|\\,"):
        parts = _split(latex, re.compile(sign))
        if len(parts) > 1:
            return parts
    return [latex]


def _split(latex: str, sign: re.Pattern[str]) -> list[str]:
    parts, start, depth, position = [], 0, 0, 0
    opening = re.compile(r"\{|\\left\b|\\begin\b")
    closing = re.compile(r"\}|\\right\b|\\end\b")
    while position < len(latex):
        found = opening.match(latex, position)
        if found:
            depth += 1
        else:
            found = closing.match(latex, position)
            if found:
                depth -= 1
            else:
                found = sign.match(latex, position)
                if found and depth == 0 and latex[start:position].strip():
                    parts.append(latex[start:position])
                    start = position
        position = found.end() if found else position + 1
    return [*parts, latex[start:]]
