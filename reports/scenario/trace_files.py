"""Streams the rows of a trace from CSV, Parquet, JSON lines or JSON, in pieces, so that its size does not matter."""

from __future__ import annotations

import csv as text_csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from reports.errors import InputError, Problem
from reports.scenario.trace_json import PIECE_BYTES, PIECE_ROWS, CharactersPerToken, JsonTrace
from reports.scenario.trace_rows import (
    BLOCK_TOKENS,
    MOST_ROWS,
    Blocks,
    Clock,
    Columns,
    Rows,
    Trouble,
    Whole,
    columns_of,
    counts,
    numbers,
    whole_lines,
)
from reports.strict_yaml import did_you_mean

SUFFIXES = (".csv", ".parquet", ".jsonl", ".json")
MOST_BYTES = 8_000_000_000
MOST_BYTES_UNPACKED = 2_000_000_000
"""Of one column in one row group of a Parquet file."""


class TraceStream:
    """One open trace: iterate over its rows once, then read what kind of trace it was."""

    def __init__(self, path: Path, name: str, characters: CharactersPerToken) -> None:
        self.path, self.name, self.characters = path, name, characters
        self.trouble = Trouble(name)
        self.columns = Columns("", "", "")
        self.estimated = False
        """Whether token counts were estimated from texts."""
        self._clock: Clock | None = None
        self._blocks = Blocks()
        self._rows = 0

    @property
    def dated(self) -> bool:
        """Whether arrivals are dates, so that weekday and hour are known."""
        return self._clock is not None and self._clock.dated

    def __iter__(self) -> Iterator[Rows]:
        """Good rows, piece by piece; InputError at the end when any row was wrong."""
        kind = self._kind()
        try:
            pieces = {".csv": self._csv, ".parquet": self._parquet}.get(kind, self._records)()
            for piece in pieces:
                rows = self._checked(*piece)
                if not self.trouble.found:
                    yield rows
        except pa.ArrowException as error:
            reason = str(error).splitlines()[0][:120].replace(str(self.path), self.name)
            raise self.trouble.refuse(f"is not a readable {kind[1:]} file: {reason}") from None
        except UnicodeDecodeError as error:
            raise self.trouble.refuse("is not UTF-8 text", read=f"byte 0x{error.object[error.start]:02x}") from None
        if self.trouble.found:
            raise self.trouble.error()
        if not self._rows:
            raise self.trouble.refuse("has no rows", expected="one row a request")

    def _kind(self) -> str:
        kind = self.path.suffix.casefold()
        try:
            size = self.path.stat().st_size
            with self.path.open("rb") as stream:
                head = stream.read(4096)
        except OSError as error:
            reason = "is a folder" if self.path.is_dir() else f"cannot be read: {error.strerror or error}"
            raise InputError(Problem(self.name, reason, expected="a trace file")) from None
        if kind not in SUFFIXES:
            raise self.trouble.refuse("is no kind of trace", read=f'"{kind}"', expected=", ".join(SUFFIXES),
                                      hint=did_you_mean(kind, SUFFIXES))
        if size > MOST_BYTES:
            raise self.trouble.refuse("is too large", read=f"{size:,} bytes", expected=f"at most {MOST_BYTES:,} bytes")
        if not head.strip():
            raise self.trouble.refuse("is empty", expected="one row a request")
        if kind == ".parquet" and head[:4] != b"PAR1":
            raise self.trouble.refuse("is not a Parquet file", expected="a file that starts with PAR1")
        if kind != ".parquet" and b"\0" in head:
            raise self.trouble.refuse("is not a text file", expected=f"{kind[1:].upper()} text",
                                      hint="a Parquet file ends in .parquet" if head[:4] == b"PAR1" else "")
        return kind

    def _take(self, columns: Columns) -> None:
        self.columns = columns
        self._clock = Clock(columns, self.trouble) if columns.arrival else None

    def _count(self, rows: int) -> int:
        """Number of the first of so many more rows."""
        first = self._rows + 1
        self._rows += rows
        if self._rows > MOST_ROWS:
            raise self.trouble.refuse("holds too many rows", expected=f"at most {MOST_ROWS:,}",
                                      hint="a shorter period or every tenth request says the same")
        return first

    def _csv(self) -> Iterator[tuple[Any, int]]:
        names: list[str] = []
        with self.path.open("rb") as stream:
            for block, before in whole_lines(stream, PIECE_BYTES, self.trouble):
                if not names:
                    head, _, block = block.lstrip(b"\xef\xbb\xbf").partition(b"\n")
                    names = next(text_csv.reader([head.decode("utf-8").strip("\r")]), [])
                    self._take(columns_of(names, self.trouble))
                    before += 1
                if block.strip():
                    yield from self._csv_block(block, before, names)

    def _csv_block(self, block: bytes, before: int, names: list[str]) -> Iterator[tuple[Any, int]]:
        """Whole lines without the head; ``before`` is how many lines of the file stand before them."""
        skipped: set[int] = set()  # which of the lines that are not empty are no rows

        def lines() -> list[int]:
            return [before + at for at, line in enumerate(block.split(b"\n"), 1) if line.rstrip(b"\r")]

        def malformed(row: Any) -> str:
            if row.text.strip():
                self.trouble.add("has the wrong number of cells", line=lines()[row.number - 1],
                                 read=str(row.actual_columns), expected=str(row.expected_columns))
            skipped.add(row.number)
            return "skip"

        first = self._rows + 1
        self.trouble.place = lambda row: {
            "line": [line for at, line in enumerate(lines(), 1) if at not in skipped][row - first]
        }
        wanted = self.columns.names
        table = csv.read_csv(
            pa.BufferReader(block),
            read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=len(block) + 1),
            parse_options=csv.ParseOptions(invalid_row_handler=malformed),
            convert_options=csv.ConvertOptions(
                include_columns=wanted, column_types={name: pa.string() for name in wanted}, strings_can_be_null=False
            ),
        ).combine_chunks()
        for batch in table.to_batches():
            yield batch, self._count(batch.num_rows)

    def _parquet(self) -> Iterator[tuple[Any, int]]:
        with parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=PIECE_BYTES // 8) as file:
            held = file.metadata
            if held.num_rows > MOST_ROWS:
                self._rows = held.num_rows
                self._count(0)
            self._take(columns_of(file.schema_arrow.names, self.trouble, None))
            wanted = self.columns.names
            for group in range(held.num_row_groups):
                columns = (held.row_group(group).column(index) for index in range(held.num_columns))
                largest = max((each.total_uncompressed_size for each in columns), default=0)
                if largest > MOST_BYTES_UNPACKED:
                    raise self.trouble.refuse("is too large when unpacked", read=f"{largest:,} bytes in one column",
                                              expected=f"at most {MOST_BYTES_UNPACKED:,} in each row group")
            for batch in file.iter_batches(batch_size=PIECE_ROWS, columns=wanted, use_threads=False):
                yield batch, self._count(batch.num_rows)

    def _records(self) -> Iterator[tuple[Any, int]]:
        file = JsonTrace(self.path, self.trouble, self.characters, self._take)
        for columns, rows in file.pieces():
            self.estimated = file.estimated
            yield columns, self._count(rows)

    def _checked(self, piece: Any, first: int) -> Rows:
        columns, trouble = self.columns, self.trouble
        taken = {name: piece[name] for name in columns.names}
        given, wanted = (self._counts(taken[name], name, first) for name in (columns.input, columns.output))
        arrival = self._clock.read(taken[columns.arrival], first) if self._clock else None
        prefix = None
        if columns.prefix:
            prefix = self._counts(taken[columns.prefix], columns.prefix, first)
            trouble.rows(first, prefix > given, columns.prefix, "is more than the input", prefix.tolist(),
                         expected="at most the input tokens")
        elif columns.blocks and not trouble.found:
            prefix = self._prefix(taken[columns.blocks], given)
        kept = (given > 0) & (wanted > 0)
        if trouble.found or kept.all():
            return Rows(arrival, self.dated, given, wanted, prefix, 0)
        return Rows(
            None if arrival is None else arrival[kept], self.dated, given[kept], wanted[kept],
            None if prefix is None else prefix[kept], int((~kept).sum()),
        )  # fmt: skip

    def _counts(self, column: Any, name: str, first: int) -> Whole:
        return counts(numbers(column, name, first, self.trouble), name, first, self.trouble)

    def _prefix(self, blocks: Any, given: Any) -> Any:
        ids = blocks if isinstance(blocks, list) else blocks.to_pylist()
        hits = [self._blocks.hits(each if isinstance(each, list) else ()) for each in ids]
        return np.minimum(np.array(hits, dtype=np.int64) * BLOCK_TOKENS, given)
