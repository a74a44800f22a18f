"""Writes the rows of a quote into an overlay catalog of one's own: appended, checked by reading it, all or nothing."""

from __future__ import annotations

import csv
import hashlib
import io
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.catalog.tables import TABLES
from reports.errors import InputError, Problem
from reports.paths import catalogs_folder
from reports.pricebook.lines import read_quote
from reports.pricebook.match import Rows, rows_of
from reports.pricebook.words import read_mapping
from reports.writing import replace_folder, write_atomically

SOURCES, PURCHASE, RENTAL = "sources.csv", "prices/purchase.csv", "prices/rental.csv"


def import_quote(path: Path, mapping_path: Path | None, catalog: Catalog, as_of: str = "") -> Rows:
    """A vendor's list as rows of the price book; nothing is written. InputError lists all that is wrong."""
    mapping = read_mapping(mapping_path)
    quote = read_quote(path, mapping, catalog.exchange)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    rows = rows_of(quote, catalog, mapping.items, digest, as_of)
    if not any(each.table for each in rows.lines):
        reasons = "; ".join(dict.fromkeys(each.left_out for each in rows.lines[:3])) or "it has no lines"
        raise InputError(Problem(str(path), "has no price that can be used", where=quote.sheet, read=reasons,
                                 expected="a line with a card of the catalog"))
    return rows


def write(rows: Rows, folder: Path, catalogs: Sequence[Path] = ()) -> list[Path]:
    """Append the rows to the overlay ``folder``; the files written. ``catalogs`` are overlays it is laid over."""
    shipped = catalogs_folder().resolve()
    target = folder.resolve()
    if target == shipped or target.is_relative_to(shipped):
        raise InputError(Problem(str(folder), "is the shipped catalog", expected="a folder of your own",
                                 hint="choose another with --out"))
    source = str(rows.source["id"])
    if source in _column(folder / SOURCES, "id"):
        raise InputError(Problem(str(folder), "has this quote already", read=source, expected="a quote once",
                                 hint="a corrected quote is a new file with a new date"))
    written = {SOURCES: [rows.source], PURCHASE: rows.of(PURCHASE), RENTAL: rows.of(RENTAL)}
    with replace_folder(folder) as draft:
        if folder.is_dir():
            shutil.copytree(folder, draft, dirs_exist_ok=True)
        (draft / "prices").mkdir(exist_ok=True)
        for table, records in written.items():
            if records:
                write_atomically(draft / table, _appended(draft / table, table, records))
        under = [each for each in catalogs if each.resolve() != target]
        _checked(read_catalog, [*under, draft], str(folder), draft.name)
    return [folder / table for table, records in written.items() if records]


def _checked(read: object, folders: list[Path], name: str, draft: str) -> None:
    """What was written must be readable; a problem is told by the name of the folder that people know."""
    try:
        read(folders)  # type: ignore[operator]
    except InputError as error:
        raise InputError(
            Problem(each.file.replace(draft, name), each.message, each.line, each.column, where=each.where,
                    read=each.read, expected=each.expected, hint=each.hint.replace(draft, name))
            for each in error.problems
        ) from None


def _column(path: Path, name: str) -> set[str]:
    if not path.is_file():
        return set()
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return {row.get(name) or "" for row in csv.DictReader(stream)}


def _appended(path: Path, table: str, records: Sequence[Mapping[str, object]]) -> str:
    """The table with more rows; one that lacks newer columns gets them."""
    before: list[Mapping[str, object]] = []
    if path.is_file():
        with path.open(encoding="utf-8-sig", newline="") as stream:
            before = list(csv.DictReader(stream))
    text = io.StringIO()
    writer = csv.DictWriter(text, list(TABLES[table]), lineterminator="\n", extrasaction="ignore", restval="")
    writer.writeheader()
    writer.writerows([*before, *records])
    return text.getvalue()
