"""Where catalogs/ and templates/ are: in a checkout at the top level, in an installed wheel inside the package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _data_folder(name: str) -> Path:
    installed = _PACKAGE / f"_{name}"
    return installed if installed.is_dir() else _PACKAGE.parent / name


def catalogs_folder() -> Path:
    """Folder of the shipped catalogs."""
    return _data_folder("catalogs")


def templates_folder() -> Path:
    """Folder of the shipped templates, styles, fonts and message catalogues."""
    return _data_folder("templates")
