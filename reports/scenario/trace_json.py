"""Reads a trace that is JSON: a record a line, or one long list; conversations become estimated token counts."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from reports.scenario.trace_rows import MOST_BYTES_A_RECORD, Columns, Trouble, columns_of, whole_lines

PIECE_BYTES = 8_000_000
PIECE_ROWS = 65_536
CONVERSATIONS = "conversations"
ASKING, ANSWERING = ("human", "user"), ("gpt", "assistant", "chatgpt", "bing", "bard")

Piece = tuple[dict[str, Any], int]
"""Columns by name (Arrow arrays; the blocks of prefixes as a list) and the number of rows."""


@dataclass(frozen=True)
class CharactersPerToken:
    """How many characters a token has, where a file has texts and no counts."""

    latin: float
    cjk: float

    def tokens(self, text: str) -> int:
        """An estimate: Chinese, Japanese and Korean characters counted apart; at least 1 for any text."""
        wide = sum(1 for character in text if "\u2e7f" < character < "\uffe0")
        return max(round((len(text) - wide) / self.latin + wide / self.cjk), 1) if text else 0


class JsonTrace:
    """The records of one file, piece by piece."""

    def __init__(
        self, path: Path, trouble: Trouble, characters: CharactersPerToken, take: Callable[[Columns], None]
    ) -> None:
        self.path, self.trouble, self.characters, self.take = path, trouble, characters, take
        self.columns: Columns | None = None
        self.estimated = False
        self._rows = 0

    def pieces(self) -> Iterator[Piece]:
        """All pieces; a record that cannot be read is noted, a file that cannot raises InputError."""
        with self.path.open("rb") as stream:
            lines = self.path.suffix.casefold() == ".jsonl"
            for columns, rows in self._lines(stream) if lines else self._list(stream):
                yield columns, rows
                self._rows += rows

    def _lines(self, stream: Any) -> Iterator[Piece]:
        for block, before in whole_lines(stream, PIECE_BYTES, self.trouble):
            yield from self._block(block, before)

    def _block(self, block: bytes, at: int) -> Iterator[Piece]:
        """Whole lines; ``at`` is how many stand before them."""
        if self.columns is None:
            self._first(block, at)
        fast = None if self.estimated else self._fast(block)
        if fast is not None:
            first = self._rows + 1
            self.trouble.place = lambda row: {"line": at + row - first + 1}
            yield fast
            return
        records, numbers = [], []
        for number, line in enumerate(block.split(b"\n"), at + 1):
            if line.strip():
                records.append(self._parsed(line, number))
                numbers.append(number)
        yield from self._held(records, numbers)

    def _first(self, block: bytes, at: int) -> None:
        """Learn the columns from the first record."""
        for number, line in enumerate(block.split(b"\n"), at + 1):
            if line.strip():
                self._learn(self._parsed(line.removeprefix(b"\xef\xbb\xbf"), number), number)
                return

    def _fast(self, block: bytes) -> Piece | None:
        """The block by Arrow; None where it cannot say exactly what is wrong, or which line."""
        assert self.columns is not None
        names = {name: pa.float64() for name in self.columns.names}
        if self.columns.blocks:
            names[self.columns.blocks] = pa.list_(pa.int64())
        for kind in (pa.float64(), pa.string()):
            if self.columns.arrival:
                names[self.columns.arrival] = kind
            try:
                table = arrow_json.read_json(
                    pa.BufferReader(block),
                    read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
                    parse_options=arrow_json.ParseOptions(
                        explicit_schema=pa.schema(list(names.items())), unexpected_field_behavior="ignore"
                    ),
                )
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                continue
            if table.num_rows != block.count(b"\n") or any(column.null_count for column in table.columns):
                return None
            columns = {name: table.column(name).combine_chunks() for name in names}
            if self.columns.blocks:
                columns[self.columns.blocks] = columns[self.columns.blocks].to_pylist()
            return columns, table.num_rows
        return None

    def _parsed(self, line: bytes, number: int) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error).split(":")[0].lower()
            hint = "a file that holds one list ends in .json" if number == 1 and line.lstrip()[:1] == b"[" else ""
            raise self.trouble.refuse(f"is not a JSON record: {reason}", line=number,
                                      read=line[:40].decode(errors="replace").strip(), hint=hint) from None

    def _list(self, binary: Any) -> Iterator[Piece]:
        """The items of one long list, without holding it."""
        decoder, stream = json.JSONDecoder(), io.TextIOWrapper(binary, encoding="utf-8-sig")
        text = stream.read(PIECE_BYTES).lstrip()
        if not text.startswith("["):
            raise self.trouble.refuse("is not a list of records", read=text[:40], expected="[{…}, {…}]",
                                      hint="a file with one record a line ends in .jsonl")
        at = 1
        held: list[Any] = []
        while True:
            while at < len(text) and text[at] in " \t\r\n,":
                at += 1
            if text[at : at + 1] == "]":
                break
            try:
                record, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                short = isinstance(error, ValueError) and len(text) - at <= MOST_BYTES_A_RECORD
                more = stream.read(PIECE_BYTES) if short else ""
                if not more:
                    raise self.trouble.refuse("is not JSON", where=f"row {self._rows + len(held) + 1}",
                                              read=text[at : at + 40]) from None
                text, at = text[at:] + more, 0
                continue
            if self.columns is None:
                self._learn(record, None)
            held.append(record)
            if len(held) == PIECE_ROWS:
                yield from self._held(held, [])
                held = []
        if held:
            yield from self._held(held, [])

    def _learn(self, record: Any, line: int | None) -> None:
        if isinstance(record, dict) and CONVERSATIONS in record:
            self.estimated = True
            self.columns = Columns("", "input_tokens", "output_tokens", shape="sharegpt")
        else:
            self.columns = columns_of(list(record) if isinstance(record, dict) else [], self.trouble, line)
        self.take(self.columns)

    def _held(self, records: list[Any], lines: list[int]) -> Iterator[Piece]:
        """Records that were parsed one by one, as columns."""
        assert self.columns is not None
        first = self._rows + 1
        self.trouble.place = lambda row: {"line": lines[row - first]} if lines else {"where": f"row {row}"}
        for row, record in enumerate(records):
            if not isinstance(record, dict):
                self.trouble.row(first + row, "record", "is not a record", read=str(record)[:40],
                                 expected="keys with values")
                records[row] = {}
        if self.trouble.found:
            return
        if self.estimated:
            records = [self._exchange(record) for record in records]
        columns = {
            name: self._column(name, [each.get(name) for each in records], first) for name in self.columns.names
        }
        yield columns, len(records)

    def _exchange(self, record: dict[str, Any]) -> dict[str, Any]:
        """The first question and its answer, as vLLM's benchmark takes them, with estimated tokens."""
        turns = record.get(CONVERSATIONS)
        texts = [
            (str(turn.get("from", "")), str(turn.get("value") or ""))
            for turn in (turns if isinstance(turns, list) else ())
            if isinstance(turn, dict)
        ]
        for (asker, question), (answerer, answer) in pairwise(texts):
            if asker in ASKING and answerer in ANSWERING:
                tokens = self.characters.tokens
                return {"input_tokens": tokens(question), "output_tokens": tokens(answer)}
        return {"input_tokens": 0, "output_tokens": 0}

    def _column(self, name: str, values: list[Any], first: int) -> Any:
        """One column as an Arrow array; values that are no numbers are noted."""
        assert self.columns is not None
        if name == self.columns.blocks:
            for row, ids in enumerate(values, first):
                if not isinstance(ids, list) or not all(isinstance(each, int | str) for each in ids):
                    self.trouble.row(row, name, "is not a list of block ids", read=str(ids)[:40])
            return values
        kinds = {type(value) for value in values}
        times = name == self.columns.arrival and isinstance(values[0], str)
        wanted: tuple[type, ...] = (str,) if times else (int, float)
        if kinds <= set(wanted):
            return pa.array(values, pa.string() if times else pa.float64())
        wrong = np.array([type(value) not in wanted for value in values])
        shown = ["nothing" if value is None else json.dumps(value, ensure_ascii=False) for value in values]
        self.trouble.rows(first, wrong, name, "is missing" if kinds <= {*wanted, type(None)} else "is not a number",
                          shown, expected="a time" if times else "a number")
        return pa.array([0.0] * len(values))
