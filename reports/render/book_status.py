"""Whether a finished workbook's checks hold, among its properties, where a document reads it without the sheets."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import BadZipFile, ZipFile

PROPERTIES = "docProps/core.xml"
_STATUS = re.compile(r"(\d+) of (\d+) checks fail")


def status(failed: float, count: int) -> str:
    """The property's text."""
    return f"{failed:.0f} of {count} checks fail"


def read_status(path: Path) -> tuple[int, int] | None:
    """How many of how many checks fail; None where there is no such workbook or it has no checks."""
    try:
        with ZipFile(path) as package:
            found = _STATUS.search(package.read(PROPERTIES).decode("utf-8"))
    except (OSError, BadZipFile, KeyError):
        return None
    return (int(found[1]), int(found[2])) if found else None
