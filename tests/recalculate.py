"""Recalculates workbooks in LibreOffice, forced: by default it would trust the cached values it is meant to check."""

from __future__ import annotations

import math
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from openpyxl import load_workbook

_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode"><value>0</value></prop></item>
</oor:items>
"""
"""0 is "always recalculate"."""

Values = dict[tuple[str, str], Any]
"""(sheet, cell) -> value."""


def recalculate(paths: Sequence[Path], folder: Path, timeout_s: float = 180) -> list[Path]:
    """Converts each workbook to a recalculated copy in ``folder``, all in one call with a profile of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        settings = Path(profile, "user", "registrymodifications.xcu")
        settings.parent.mkdir()
        settings.write_text(_SETTINGS, encoding="utf-8")
        subprocess.run(
            ["soffice", f"-env:UserInstallation={Path(profile).as_uri()}", "--headless", "--norestore",
             "--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", str(folder), *map(str, paths)],
            check=True, capture_output=True, timeout=timeout_s,
        )  # fmt: skip
    return [folder / path.name for path in paths]


@cache
def values(path: Path) -> Values:
    """Every non-empty cell's stored value; a file is read once, so it must not change."""
    book = load_workbook(path, data_only=True, read_only=False)
    cells = ((sheet.title, cell) for sheet in book for row in sheet.iter_rows() for cell in row)
    return {(title, cell.coordinate): cell.value for title, cell in cells if cell.value is not None}


@cache
def formulas(path: Path) -> dict[tuple[str, str], str]:
    """Every formula cell's formula."""
    book = load_workbook(path)
    cells = ((sheet.title, cell) for sheet in book for row in sheet.iter_rows() for cell in row)
    return {(title, cell.coordinate): str(cell.value) for title, cell in cells if cell.data_type == "f"}


@dataclass(frozen=True)
class Difference:
    """A formula cell whose cached value is not what recalculation gives."""

    sheet: str
    cell: str
    formula: str
    cached: Any
    recalculated: Any


def differences(path: Path, recalculated: Path, relative: float = 1e-9) -> Iterator[Difference]:
    """Formula cells of ``path`` whose cached value differs from the recalculated one."""
    cached, fresh = values(path), values(recalculated)
    for place, formula in formulas(path).items():
        before, after = cached.get(place), fresh.get(place)
        if not same(before, after, relative):
            yield Difference(*place, formula, before, after)


def same(one: Any, other: Any, relative: float = 1e-9) -> bool:
    """Numbers within a relative tolerance, everything else exactly, and never a number for a truth value."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=relative, abs_tol=1e-12)
    return type(one) is type(other) and bool(one == other)


def part(path: Path, name: str) -> str:
    """The text of one part of the package."""
    with zipfile.ZipFile(path) as package:
        return package.read(name).decode("utf-8")


def with_part(path: Path, target: Path, name: str, text: str) -> Path:
    """A copy of the package with one part replaced: nothing else is touched, cached values stay."""
    with zipfile.ZipFile(path) as package, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for entry in package.infolist():
            copy.writestr(entry, text if entry.filename == name else package.read(entry.filename))
    return target
