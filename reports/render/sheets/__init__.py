"""The sheets of the workbook, one file each: a sheet is a module with ``ORDER`` and ``declare(book)``."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from reports.render.sheet import Book, Sheet


def declare(book: Book) -> tuple[Sheet, ...]:
    """Every sheet in its order; a new sheet is a new module here; one with nothing to say is left out, and one that is
    too long for a sheet is several."""
    modules = [import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    declared = (module.declare(book) for module in sorted(modules, key=lambda module: module.ORDER))
    several = (found if isinstance(found, tuple) else (found,) for found in declared)
    return tuple(sheet for found in several for sheet in found if sheet is not None)
