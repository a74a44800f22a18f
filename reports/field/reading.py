"""From files of any kind to rows that can be compared: each file once, names matched, units read, traps marked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd

from reports.catalog.records import Catalog
from reports.errors import InputError, Problem
from reports.field import physics
from reports.field.canonical import frame
from reports.field.match import Given, match
from reports.field.measured import shipped
from reports.field.misread import read_units
from reports.field.readers import detect
from reports.field.readers.text import telling
from reports.field.traps import DUPLICATE, duplicates, repeated

Say = Callable[[str], None]

BLOCK_BYTES = 1 << 22


def load(
    paths: Sequence[Path], catalog: Catalog, given: Given | None = None, say: Say = lambda step: None
) -> pd.DataFrame:  # fmt: skip
    """All rows of the files with traps marked; the shipped table when no file is named.

    A benchmark result is matched to the catalog; a card that its name leaves open is answered with the default, which
    ``note`` names.
    """
    if not paths:
        return physics.mark(shipped(catalog), catalog)
    return physics.mark(read_units(once(read_all(paths, catalog, given, say, ask=False)), catalog), catalog)


def read_all(
    paths: Iterable[Path], catalog: Catalog, given: Given | None = None, say: Say = lambda step: None, *,
    ask: bool = True,
) -> pd.DataFrame:  # fmt: skip
    """Matched rows of several files; InputError lists the problems of all that cannot be read.

    ``ask``: a name that several cards share is a problem, not answered with a default.
    """
    as_written: list[pd.DataFrame] = []
    open_names: list[pd.DataFrame] = []
    problems: list[Problem] = []
    for path in paths:
        say(path.name)
        try:
            with telling(say):
                rows, complete = detect.read(path, catalog), detect.is_table(path)
        except InputError as error:
            problems += error.problems
            continue
        (as_written if complete and not ask and given in (None, Given()) else open_names).append(rows)
    if problems:
        raise InputError(problems)
    matched = [match(pd.concat(open_names, ignore_index=True), catalog, given, ask=ask)] if open_names else []
    return pd.concat([*as_written, *matched], ignore_index=True) if as_written or matched else frame([])


def once(rows: pd.DataFrame) -> pd.DataFrame:
    """The same rows, those that repeat one of another file marked: a figure counts once."""
    rows = rows.copy()
    rows.loc[(duplicates(rows) | repeated(rows)) & (rows["trap"] == ""), "trap"] = DUPLICATE
    return rows


def distinct(paths: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Each content once, in the order given, and a sentence for every file left out. Files that cannot be read stay."""
    sizes: dict[int, list[Path]] = {}
    for path in paths:
        if path.is_file():
            sizes.setdefault(path.stat().st_size, []).append(path)
    seen: dict[str, Path] = {}
    kept: list[Path] = []
    said: list[str] = []
    for path in paths:
        alike = sizes.get(path.stat().st_size, []) if path.is_file() else []
        digest = file_hash(path) if len(alike) > 1 else str(path)
        if digest in seen:
            said.append(f"{path}: the same content as {seen[digest]}, read once")
        else:
            seen[digest] = path
            kept.append(path)
    return tuple(kept), tuple(said)


def file_hash(path: Path) -> str:
    """SHA-256 of a file's content, however large."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
