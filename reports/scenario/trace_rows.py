"""What the rows of a trace mean: which column holds arrival, prompt, answer and cached prefix, checked row by row.

Shapes that are read as they are: Azure (TIMESTAMP, ContextTokens, GeneratedTokens), Mooncake (timestamp in ms,
input_length, output_length, hash_ids of 512-token blocks), BurstGPT (Timestamp in s, Request tokens, Response tokens),
ShareGPT (conversations, as vLLM's benchmark reads them), and our own (arrival_s, input_tokens, output_tokens,
prefix_hit_tokens). Lengths without arrivals are a trace too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from reports.errors import InputError, Problem
from reports.strict_yaml import did_you_mean

Values = NDArray[np.float64]
Whole = NDArray[np.int64]

MOST_ROWS = 50_000_000
MOST_TOKENS = 20_000_000
"""More than any context; such a number is no token count."""
MOST_BYTES_A_RECORD = 16_000_000
MOST_PROBLEMS = 20
"""Rows quoted of one trace; more are counted."""
MOST_NANOSECONDS = 9e18
"""Times further from 1970, or from zero, do not fit."""
BLOCK_TOKENS = 512
"""Tokens of one block of ``hash_ids`` in the Mooncake traces."""
MOST_BLOCKS = 2_000_000
"""Blocks remembered for prefix hits: the latest two to four million, more than two billion tokens."""

NAMES: dict[str, tuple[str, ...]] = {
    "arrival": ("arrival_s", "arrival_ms", "arrival", "arrival_time", "arrived_at", "timestamp",
                "request_time", "start_time"),
    "input": ("input_tokens", "ContextTokens", "Request tokens", "input_length", "input_len", "prompt_tokens",
              "prompt_len", "num_prompt_tokens", "num_prefill_tokens"),
    "output": ("output_tokens", "GeneratedTokens", "Response tokens", "output_length", "output_len",
               "completion_tokens", "num_generated_tokens", "num_decode_tokens"),
    "prefix": ("prefix_hit_tokens", "cached_prefix_tokens", "cached_tokens", "prefix_tokens", "num_cached_tokens"),
    "blocks": ("hash_ids",),
}  # fmt: skip
"""What a column holds -> how it may be called; case, spaces and underscores make no difference."""

_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")


@dataclass
class Trouble:
    """The problems of one file, the first few in full and the rest counted."""

    file: str
    found: list[Problem] = field(default_factory=list)
    more: int = 0
    place: Callable[[int], dict[str, Any]] = lambda row: {"where": f"row {row}"}
    """Row number, from 1, to how a problem names it: its line, or the row itself."""

    def add(self, message: str, **more: Any) -> None:
        """Note one problem."""
        if len(self.found) < MOST_PROBLEMS:
            self.found.append(Problem(self.file, message, **more))
        else:
            self.more += 1

    def row(self, row: int, column: str, message: str, **more: Any) -> None:
        """Note one problem of a row."""
        place = self.place(row)
        where = f"{place['where']}, {column}" if "where" in place else column
        self.add(message, **{**place, "where": where, **more})

    def rows(
        self, first: int, wrong: NDArray[np.bool_], column: str, message: str, read: Sequence[Any], **more: Any
    ) -> None:
        """Note a problem of every row that is marked."""
        marked = np.flatnonzero(wrong)
        room = max(MOST_PROBLEMS - len(self.found), 0)
        for index in marked[:room]:
            self.row(first + int(index), column, message, read=_shown(read[int(index)]), **more)
        self.more += len(marked) - len(marked[:room])

    def refuse(self, message: str, **more: Any) -> InputError:
        """What was found so far and one more, which ends the reading."""
        self.found.append(Problem(self.file, message, **more))
        return self.error()

    def error(self) -> InputError:
        """Everything that was found."""
        rest = [Problem(self.file, f"and {self.more:,} more rows with such problems")] if self.more else []
        return InputError([*self.found, *rest])


def _shown(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)[:40]


@dataclass(frozen=True)
class Columns:
    """Which columns of a file hold what; a blank name is not there."""

    arrival: str
    input: str
    output: str
    prefix: str = ""
    blocks: str = ""
    unit: str = ""
    """Unit of a numeric arrival: s, ms, or blank where its size decides."""
    shape: str = "own"

    @property
    def names(self) -> list[str]:
        """Names of the columns to read."""
        return [name for name in (self.arrival, self.input, self.output, self.prefix, self.blocks) if name]


def columns_of(names: Sequence[str], trouble: Trouble, line: int | None = 1) -> Columns:
    """What the columns with these names hold; InputError with a suggestion where lengths are missing."""
    plain = {_plain(name): name for name in reversed(names)}
    found = {
        kind: next((plain[_plain(each)] for each in known if _plain(each) in plain), "")
        for kind, known in NAMES.items()
    }
    if len(names) == 1 and ";" in names[0]:
        raise trouble.refuse("has no commas", line=line, read=f'"{names[0][:40]}"',
                             expected="columns separated by commas")
    for kind in ("input", "output"):
        if not found[kind]:
            free = [name for name in names if name not in found.values()]
            close = next((name for name in free if did_you_mean(name, NAMES[kind])), "")
            trouble.add(f"has no column for the {kind} tokens", line=line, read=", ".join(map(str, names))[:120],
                        expected=f"{NAMES[kind][0]} (or {', '.join(NAMES[kind][1:])})",
                        hint=f'rename "{close}"; {did_you_mean(close, NAMES[kind])}' if close else "")
    doubled = {name for name in names if list(names).count(name) > 1} & set(found.values())
    for name in sorted(doubled):
        trouble.add("has a column twice", line=line, read=f'"{name}"')
    if trouble.found:
        raise trouble.error()
    shape = _shape(found)
    unit = "ms" if shape == "mooncake" or _plain(found["arrival"]).endswith("ms") else ""
    if _plain(found["arrival"]) == "arrivals" or shape == "burstgpt":
        unit = "s"
    return Columns(**found, unit=unit, shape=shape)


def _shape(found: dict[str, str]) -> str:
    named = {kind: _plain(name) for kind, name in found.items()}
    if named["input"] == "inputlength":
        return "mooncake"
    if named["input"] == "contexttokens":
        return "azure"
    return "burstgpt" if named["input"] == "requesttokens" else "own"


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", str(name)).casefold()


@dataclass(frozen=True)
class Rows:
    """Some consecutive rows of a trace that are good; arrays of one length."""

    arrival_ns: Whole | None
    """Nanoseconds since 1970 where the trace has dates, else since its zero; None without arrivals."""
    dated: bool
    input: Whole
    output: Whole
    prefix: Whole | None
    left_out: int
    """Rows of the file here that asked or answered nothing (0 tokens): failures, which hold no memory."""


class Blocks:
    """The blocks of earlier prompts, the latest few million of them."""

    def __init__(self) -> None:
        self._now: set[Hashable] = set()
        self._before: set[Hashable] = set()

    def hits(self, ids: Iterable[Hashable]) -> int:
        """How many blocks at the start of a prompt were seen before; then remembers all of it."""
        known, leading = 0, True
        for each in ids:
            leading = leading and (each in self._now or each in self._before)
            known += leading
            self._now.add(each)
        if len(self._now) > MOST_BLOCKS:
            self._before, self._now = self._now, set()
        return known


def numbers(column: Any, name: str, first: int, trouble: Trouble) -> Values:
    """A column as numbers; NaN where a cell is none, which is noted."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        trimmed = compute.utf8_trim_whitespace(column)
        try:
            found: Values = compute.cast(trimmed, pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            texts = [text or "" for text in trimmed.to_pylist()]
            good = [bool(_NUMBER.match(text)) for text in texts]
            found = np.array([float(text) if fits else np.nan for text, fits in zip(texts, good, strict=True)])
            empty = np.array([not text for text in texts])
            trouble.rows(first, empty, name, "is missing", texts, expected="a number")
            trouble.rows(first, ~np.array(good) & ~empty, name, "is not a number", texts, expected="a number")
            return found
        trouble.rows(first, ~np.isfinite(found), name, "is not a number", found.tolist(), expected="a number")
        return found
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
        raise trouble.refuse("holds no numbers", where=name, read=str(column.type), expected="numbers")
    found = compute.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    trouble.rows(first, ~np.isfinite(found), name, "is missing", found.tolist(), expected="a number")
    return found


def counts(values: Values, name: str, first: int, trouble: Trouble) -> Whole:
    """Numbers as token counts; what cannot be one is noted and 0."""
    known = np.isfinite(values)
    read = values.tolist()
    trouble.rows(first, known & (values < 0), name, "is negative", read, expected="0 or more tokens")
    trouble.rows(first, known & (values >= 0) & (values != np.floor(values)), name, "is not a whole number", read)
    trouble.rows(first, known & (values > MOST_TOKENS), name, "is out of range", read,
                 expected=f"at most {MOST_TOKENS:,} tokens")
    good = known & (values >= 0) & (values <= MOST_TOKENS)
    return np.where(good, values, 0).astype(np.int64)


class Clock:
    """Arrival times of one trace, in nanoseconds; they must not run backwards."""

    def __init__(self, columns: Columns, trouble: Trouble) -> None:
        self.columns, self.trouble = columns, trouble
        self.dated = False
        self._unit = columns.unit
        self._zoned: bool | None = None
        self._last: int | None = None

    def read(self, column: Any, first: int) -> Whole:
        """One column of times; what is no time, or earlier than the row before, is noted."""
        if len(column) == 0:
            return np.zeros(0, dtype=np.int64)
        if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            found = self._stamps(column, first)
        elif self._is_text(column):
            found = self._texts(column, first)
        else:
            found = self._numeric(numbers(column, self.columns.arrival, first, self.trouble), first)
        self._ordered(found, first, column)
        return found

    def _is_text(self, column: Any) -> bool:
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return False
        return self._zoned is not None or not _NUMBER.match((column[0].as_py() or "").strip())

    def _texts(self, column: Any, first: int) -> Whole:
        trimmed = compute.utf8_trim_whitespace(column)
        if self._zoned is None:
            head = trimmed[0].as_py() or ""
            self._zoned = bool(re.search(r"(Z|[-+]\d\d:?\d\d)$", head)) and len(head) > len("2026-11-30")
        kind = pa.timestamp("ns", "UTC" if self._zoned else None)
        try:
            return self._stamps(compute.cast(trimmed, kind), first)
        except pa.ArrowInvalid:
            texts = trimmed.to_pylist()
            wrong = np.array([not _castable(text, kind) for text in texts])
            self.trouble.rows(first, wrong, self.columns.arrival, "is not a time", texts,
                              expected="seconds, or a date such as 2026-11-30 18:17:03.98 in every row")
            self.dated = True
            return self._stamps(compute.cast(trimmed.filter(pa.array(~wrong)), kind), first)

    def _stamps(self, column: Any, first: int) -> Whole:
        self.dated = True
        whole = compute.cast(compute.cast(column, pa.timestamp("ns", getattr(column.type, "tz", None))), pa.int64())
        missing = compute.is_null(whole).to_numpy(zero_copy_only=False)
        nothing = ["nothing"] * len(whole)
        self.trouble.rows(first, missing, self.columns.arrival, "is missing", nothing, expected="a time")
        found: Whole = compute.fill_null(whole, 0).to_numpy(zero_copy_only=False)
        return found

    def _numeric(self, values: Values, first: int) -> Whole:
        if not self._unit:  # a date in seconds, milliseconds, microseconds or nanoseconds since 1970, or plain seconds
            size = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 0.0
            self._unit = next((unit for unit, least in (("ns", 1e17), ("us", 1e14), ("ms", 1e11)) if size > least), "s")
            self.dated = size > 1e9
        far = np.isfinite(values) & (np.abs(values) * _NANOSECONDS[self._unit] >= MOST_NANOSECONDS)
        self.trouble.rows(first, far, self.columns.arrival, "is out of range", values.tolist(),
                          expected=f"a time in {self._unit}")
        known = np.where(np.isfinite(values) & ~far, values, 0.0)
        return np.round(known * _NANOSECONDS[self._unit]).astype(np.int64)

    def _ordered(self, found: Whole, first: int, column: Any) -> None:
        if not len(found):
            return
        before = np.concatenate(([found[0] if self._last is None else self._last], found[:-1]))
        earlier = found < before
        if earlier.any() and not self.trouble.found:
            index = int(np.flatnonzero(earlier)[0])
            self.trouble.row(first + index, self.columns.arrival, "is earlier than the row before",
                             read=_shown(column[index].as_py()), expected="rows in the order of arrival",
                             hint="sort the file by this column")
            self.trouble.more += int(earlier.sum()) - 1
        self._last = int(found.max())


def whole_lines(stream: Any, size: int, trouble: Trouble) -> Iterator[tuple[bytes, int]]:
    """A file of lines in blocks of about ``size`` bytes, each with the number of lines before it."""
    before, rest = 0, b""
    while block := stream.read(size):
        block = rest + block
        end = block.rfind(b"\n") + 1
        block, rest = block[:end], block[end:]
        if len(rest) > MOST_BYTES_A_RECORD:
            raise trouble.refuse("has a line that is too long", line=before + block.count(b"\n") + 1,
                                 expected=f"at most {MOST_BYTES_A_RECORD:,} bytes")
        if block:
            yield block, before
        before += block.count(b"\n")
    if rest.strip():
        yield rest + b"\n", before


def _castable(text: Any, kind: Any) -> bool:
    try:
        compute.cast(pa.array([text or ""]), kind)
    except pa.ArrowInvalid:
        return False
    return True
