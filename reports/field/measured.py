"""Reads tables of measured servers (throughput-shaped, memory-shaped, or our own) into one canonical frame."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from reports.catalog.records import Catalog
from reports.errors import InputError, Problem
from reports.field.canonical import CANONICAL, LATENCIES, MEMORIES, METRICS, RATES, frame
from reports.field.packed import opened, opened_text
from reports.field.shapes import SHAPES, Resolver, add, canonical
from reports.field.traps import mark
from reports.paths import catalogs_folder
from reports.strict_yaml import did_you_mean

__all__ = ["CANONICAL", "LATENCIES", "MEMORIES", "METRICS", "RATES", "frame", "read", "shape_of", "shipped"]

MOST_ROWS = 250_000
MOST_FIELD = 1_000_000
PART_ROWS = 20_000
"""Rows become a frame in parts: as dictionaries they take several times the memory."""


def shape_of(header: list[str]) -> str:
    """``own``, ``throughput``, ``memory``, or nothing: by the columns that must be there."""
    return next((name for name, wanted in SHAPES if wanted <= set(header)), "")


def read(path: str | Path, catalog: Catalog) -> pd.DataFrame:
    """All rows of a measured file, in order; what cannot be answered says why in ``problem``.

    Raises InputError when the file is not one of the known shapes or is broken as a table.
    """
    path = Path(path)
    try:
        rows = _canonical(path, catalog)
        parts = [frame(part) for part in iter(lambda: list(islice(rows, PART_ROWS)), [])]
    except UnicodeDecodeError:
        raise InputError(
            Problem(str(path), "is not UTF-8 text", _first_bad_line(path), expected="a CSV file in UTF-8",
                    hint="save the file as CSV UTF-8 in a spreadsheet program")
        ) from None  # fmt: skip
    except (OSError, csv.Error) as error:
        if isinstance(error, OSError) and error.errno is None:  # a broken archive
            raise
        raise InputError(Problem(str(path), f"cannot be read: {error}", expected="a CSV file in UTF-8")) from error
    if not parts:
        raise InputError(Problem(str(path), "has a header and no rows", expected="one measured figure a line"))
    return mark(pd.concat(parts, ignore_index=True))


def shipped(catalog: Catalog) -> pd.DataFrame:
    """The measured rows that come with the program."""
    folder = catalogs_folder() / "measured"
    names = [name for name in ("throughput.csv", "memory.csv") if (folder / name).is_file()]
    parts = [read(folder / name, catalog).assign(file=name) for name in names]
    return pd.concat(parts, ignore_index=True) if parts else frame([])


def _canonical(path: Path, catalog: Catalog) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(MOST_FIELD)
    with opened_text(path, _encoding(path), "strict") as file:
        first = file.readline(MOST_FIELD)
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter(first))
        header = [name.strip() for name in next(reader, [])]
        shape = shape_of(header)
        if not shape:
            raise InputError(_unknown_shape(path, header))
        resolve = Resolver(catalog)
        for count, cells in enumerate(reader):
            if count >= MOST_ROWS:
                raise InputError(
                    Problem(str(path), f"more than {MOST_ROWS:,} rows", reader.line_num, expected="a smaller file",
                            hint="split it")
                )  # fmt: skip
            if not any(cells):
                continue
            row = dict(zip(header, cells, strict=False))
            made = canonical(shape, row, resolve)
            made["file"], made["line"] = str(path), reader.line_num
            if len(cells) != len(header):
                add(made, f"{len(cells)} cells under {len(header)} columns")
            yield made


def delimiter(header: str) -> str:
    """What separates the cells: a comma, or what spreadsheets of other countries write in its place."""
    return max((",", ";", "\t"), key=header.count)


def _encoding(path: Path) -> str:
    with opened(path) as file:
        return "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _first_bad_line(path: Path) -> int:
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


def _unknown_shape(path: Path, header: list[str]) -> Problem:
    best = max(SHAPES, key=lambda shape: len(shape[1] & set(header)))
    absent = sorted(best[1] - set(header))
    hints = [text for name in absent if (text := did_you_mean(name, header))]
    return Problem(
        str(path),
        "not a table of measured rows",
        line=1,
        read=", ".join(header[:12]) or "an empty file",
        expected=f"the columns {', '.join(sorted(best[1]))}",
        hint="; ".join(hints[:3]),
    )
