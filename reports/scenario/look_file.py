"""Reads a theme file and its logo; what cannot be read on paper or is no picture is refused."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Any

from reports.errors import InputError, Problem
from reports.scenario.beside import NotBeside, file_beside
from reports.scenario.look import Look, LookFile
from reports.scenario.merge import Merged
from reports.strict_yaml import read, validate
from reports.yaml_problems import KeyPath, where

LEAST_CONTRAST = 4.5
"""Of text on white: WCAG 2.2, 1.4.3."""
MOST_LOGO_BYTES, MOST_LOGO_PIXELS = 500_000, 2000
PNG = b"\x89PNG\r\n\x1a\n"


def read_look(name: str, merged: Merged, folder: Path) -> tuple[Look, tuple[tuple[str, str], ...], list[Problem]]:
    """The look of a scenario, the files it was read from with their SHA-256, and what is wrong with them."""
    if not name:
        return Look(), (), []
    used: list[tuple[str, str]] = []
    try:
        path = file_beside(folder, name, (".yaml", ".yml"))
    except NotBeside as refused:
        return Look(), (), [_problem(merged, ("theme",), refused.message, **refused.more)]
    try:
        document = read(path)
        own = Merged.of(document)
        file = validate(LookFile, own)
    except InputError as error:
        return Look(), (), list(error.problems)
    used.append((Path(name).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()))
    problems = []
    for part in ("title", "mark"):
        against = contrast_on_white(getattr(file.colours, part))
        if against < LEAST_CONTRAST:
            problems.append(_problem(own, ("colours", part), "is too light to be read on white",
                                     read=f"{getattr(file.colours, part)}, a contrast of {against:.1f}",
                                     expected=f"a contrast of {LEAST_CONTRAST} or more"))  # fmt: skip
    logo = b""
    if file.logo:
        try:
            picture = file_beside(path.parent, file.logo, (".png",))
            logo = picture.read_bytes() if picture.stat().st_size <= MOST_LOGO_BYTES else b""
            width, height = pixels(logo)
            if not 0 < max(width, height) <= MOST_LOGO_PIXELS:
                problems.append(_problem(own, ("logo",), "is no picture that can be used", read=f'"{file.logo}"',
                                         expected=f"a PNG file of at most {MOST_LOGO_BYTES // 1000} kB and "
                                         f"{MOST_LOGO_PIXELS} pixels a side"))  # fmt: skip
            used.append((Path(name).parent.joinpath(file.logo).as_posix(), hashlib.sha256(logo).hexdigest()))
        except NotBeside as refused:
            problems.append(_problem(own, ("logo",), refused.message, **refused.more))
    values = {field: getattr(file, field) for field in LookFile.model_fields}
    return Look.model_construct(logo_png=logo, **values), tuple(used), problems


def pixels(picture: bytes) -> tuple[int, int]:
    """Width and height that the header of a PNG file states; (0, 0) for anything else."""
    if len(picture) < 24 or not picture.startswith(PNG) or picture[12:16] != b"IHDR":
        return 0, 0
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def contrast_on_white(colour: str) -> float:
    """Contrast ratio of a colour with white: WCAG 2.2, relative luminance."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


def _problem(merged: Merged, path: KeyPath, message: str, **more: Any) -> Problem:
    file, line, column = merged.place(path)
    return Problem(file, message, line, column, where=where(path), **more)
