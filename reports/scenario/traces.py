"""What a trace of requests says, derived once: lengths, arrivals, cached prefixes, load by hour, and rows to replay.

A trace is read in pieces, so that ten million rows need no more memory than a few hundred thousand: lengths become
exact counts of each length, times become sums by hour, and of the rows themselves a sample of pairs and the first
hundred thousand are kept.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr

from reports.scenario.lengths import Lengths
from reports.scenario.trace_files import TraceStream
from reports.scenario.trace_json import CharactersPerToken
from reports.scenario.trace_rows import Rows, Trouble

Values = NDArray[np.float64]
Whole = NDArray[np.int64]

SAMPLE_ROWS = 65_536
"""Pairs of input and output kept of a longer trace, every row as likely."""
REPLAY_ROWS = 100_000
"""Consecutive rows kept from the start, to be replayed."""
SEED = 20_261_130
HOURS_PER_DAY, HOURS_PER_WEEK = 24, 168
HOUR_NS = 3_600_000_000_000
MOST_HOURS = 175_200
"""Twenty years: times further apart have another unit than was read."""
LEAST_GAPS = 100
"""Arrivals an hour needs to count towards burstiness."""
MONDAY_OF_1970 = 72
"""Hour of the week at 1970-01-01 0 h, a Thursday."""


@dataclass(frozen=True)
class LengthCounts:
    """How often each length occurred."""

    tokens: Values
    """The lengths that occurred, in ascending order."""
    counts: Whole

    @property
    def mean(self) -> float:
        """Mean length."""
        return float(self.counts @ self.tokens / self.counts.sum())

    @property
    def deviation(self) -> float:
        """Standard deviation over all rows."""
        return float(np.sqrt(self.counts @ (self.tokens - self.mean) ** 2 / self.counts.sum()))

    def quantile(self, u: Any) -> Values:
        """Shortest length that a share of the rows does not exceed."""
        ends = np.cumsum(self.counts) / self.counts.sum()
        index = np.searchsorted(ends, np.asarray(u) - 1e-12, side="left")
        return np.asarray(self.tokens[np.minimum(index, len(self.tokens) - 1)])


class TraceLength(Lengths):
    """Lengths as they occurred in the workload's trace."""

    distribution: Literal["trace"]
    _occurred: LengthCounts | None = PrivateAttr(None)

    def known(self, occurred: LengthCounts) -> TraceLength:
        """The same with its counts."""
        copy = self.model_copy()
        copy._occurred = occurred
        return copy

    @property
    def _counts(self) -> LengthCounts:
        if self._occurred is None:
            raise ValueError("the trace has not been read")
        return self._occurred

    @property
    def mean(self) -> float:
        """Mean over all rows."""
        return self._counts.mean

    @property
    def deviation(self) -> float:
        """Standard deviation over all rows."""
        return self._counts.deviation

    def quantile(self, u: Any) -> Values:
        """Shortest length that a share of the rows does not exceed."""
        return self._counts.quantile(u)


@dataclass(frozen=True)
class Trace:
    """The statistics of one trace. Rows of failures (no tokens) are counted apart and are in nothing else."""

    file: str
    shape: str
    digest: str
    """SHA-256 of the file."""
    rows: int
    left_out: int
    estimated: bool
    """Token counts were estimated from texts."""
    input: LengthCounts
    output: LengthCounts
    correlation: float
    """Of input and output length; NaN where one of them never varies."""
    prefix_hit_share: float | None
    """Input tokens found in a cache of prefixes, over all input tokens; None where the trace does not say."""
    interarrival_scv: float | None
    """Squared coefficient of variation of the time between arrivals, inside hours; None without enough arrivals."""
    duration_s: float | None
    """From the first to the last arrival."""
    dated: bool
    """Arrivals are dates; otherwise the first hour counts as Monday 0 h."""
    hourly_requests_per_s: Values
    """Mean rate of each clock hour from the first arrival on."""
    week_requests: Whole
    """Requests by hour of the week, 0 is Monday 0 h."""
    week_hours: Values
    """Hours of the trace that fall on each hour of the week."""
    sample: Whole
    """Rows by 3 columns (input, output, cached prefix): every row of the trace as likely, or all of them."""
    replay: Values
    """Rows by 4 columns (time since the arrival before in s, input, output, cached prefix): the first of the trace."""

    @property
    def profile(self) -> Values | None:
        """Rate by hour of the week over its peak, 168 numbers; None where the trace is shorter than a day.

        A trace of less than a week gives a day, which stands for every day.
        """
        hours = float(self.week_hours.sum())
        if hours < HOURS_PER_DAY - 1e-6:
            return None
        requests, covered = self.week_requests.astype(np.float64), self.week_hours
        if hours < HOURS_PER_WEEK - 1e-6:
            requests, covered = (each.reshape(-1, HOURS_PER_DAY).sum(axis=0) for each in (requests, covered))
        rate = requests / covered
        return np.resize(rate / rate.max(), HOURS_PER_WEEK)


class _Tally:
    """Sums over the pieces of one trace."""

    def __init__(self) -> None:
        self.rows = self.left_out = 0
        self.input = np.zeros(0, dtype=np.int64)
        self.output = np.zeros(0, dtype=np.int64)
        self.prefix = 0
        self.shift: tuple[float, float] | None = None
        self.products = np.zeros(5)
        self.first: int | None = None
        self.last = 0
        self.by_hour: dict[int, int] = {}
        self.gaps: dict[int, Values] = {}
        self.random = np.random.default_rng(SEED)
        self.keys = np.zeros(0)
        self.sample = np.zeros((0, 3), dtype=np.int64)
        self.replay: list[Values] = []
        self.replayed = 0

    def add(self, rows: Rows) -> None:
        """Count one piece."""
        self.left_out += rows.left_out
        if not len(rows.input):
            return
        self.rows += len(rows.input)
        self.input, self.output = _counted(self.input, rows.input), _counted(self.output, rows.output)
        prefix = np.zeros_like(rows.input) if rows.prefix is None else rows.prefix
        self.prefix += int(prefix.sum())
        self._correlate(rows)
        gaps = self._time(rows.arrival_ns) if rows.arrival_ns is not None else np.zeros(len(rows.input))
        table = np.column_stack((rows.input, rows.output, prefix))
        self._keep(table, gaps)

    def _correlate(self, rows: Rows) -> None:
        if self.shift is None:
            self.shift = float(rows.input[0]), float(rows.output[0])
        x, y = rows.input - self.shift[0], rows.output - self.shift[1]
        self.products += [x.sum(), y.sum(), x @ x, y @ y, x @ y]

    def _time(self, arrival: Whole) -> Values:
        if self.first is None:
            self.first = self.last = int(arrival[0])
        gaps = np.diff(arrival, prepend=self.last) / 1e9
        since = (arrival - self.first) // HOUR_NS
        for hour in np.unique(since).tolist():
            inside = gaps[since == hour]
            if not self.gaps:
                inside = inside[1:]  # the first row of all has nobody before it
            sums = np.array([len(inside), inside.sum(), inside @ inside])
            self.gaps[hour] = self.gaps.get(hour, np.zeros(3)) + sums
        clock, counted = np.unique(arrival // HOUR_NS, return_counts=True)
        for hour, count in zip(clock.tolist(), counted.tolist(), strict=True):
            self.by_hour[hour] = self.by_hour.get(hour, 0) + count
        self.last = int(arrival[-1])
        return gaps

    def _keep(self, table: Whole, gaps: Values) -> None:
        keys = np.concatenate((self.keys, self.random.random(len(table))))
        sample = np.concatenate((self.sample, table))
        if len(keys) > SAMPLE_ROWS:
            least = np.sort(np.argpartition(keys, SAMPLE_ROWS)[:SAMPLE_ROWS])
            keys, sample = keys[least], sample[least]
        self.keys, self.sample = keys, sample
        room = REPLAY_ROWS - self.replayed
        if room > 0:
            self.replay.append(np.column_stack((gaps, table.astype(np.float64)))[:room])
            self.replayed += len(self.replay[-1])

    @property
    def hours(self) -> int:
        return 0 if self.first is None else (self.last - self.first) // HOUR_NS + 1

    def correlation(self) -> float:
        x, y, xx, yy, xy = self.products / self.rows
        spread = (xx - x * x) * (yy - y * y)
        return float((xy - x * y) / np.sqrt(spread)) if spread > 0 else float("nan")

    def scv(self) -> float | None:
        """Variance of the gaps over their mean squared, in each hour with enough of them, weighted by their number."""
        found = [sums for sums in self.gaps.values() if sums[0] >= LEAST_GAPS and sums[1] > 0]
        if not found:
            sums = np.sum(list(self.gaps.values()), axis=0) if self.gaps else np.zeros(3)
            if sums[0] < 2 or not sums[1]:
                return None
            found = [sums]
        number, total, squares = np.array(found).T
        return float(number @ (squares * number / total**2 - 1) / number.sum())

    def by_clock(self, dated: bool) -> tuple[Values, Whole, Values]:
        """Rate of each clock hour, and requests and hours covered by hour of the week."""
        if self.first is None:
            return np.zeros(0), np.zeros(HOURS_PER_WEEK, dtype=np.int64), np.zeros(HOURS_PER_WEEK)
        first, last = self.first // HOUR_NS, self.last // HOUR_NS
        clock = np.arange(first, last + 1)
        requests = np.array([self.by_hour.get(hour, 0) for hour in clock.tolist()])
        start, end = np.maximum(clock * HOUR_NS, self.first), np.minimum((clock + 1) * HOUR_NS, self.last)
        covered = (end - start) / HOUR_NS
        week = (clock + MONDAY_OF_1970 if dated else clock - first) % HOURS_PER_WEEK
        rate = np.divide(requests, covered * 3600, out=np.zeros(len(clock)), where=covered > 0)
        return (
            rate,
            np.bincount(week, weights=requests, minlength=HOURS_PER_WEEK).astype(np.int64),
            np.bincount(week, weights=covered, minlength=HOURS_PER_WEEK).astype(np.float64),
        )


def _counted(before: Whole, tokens: Whole) -> Whole:
    more = np.bincount(tokens)
    if len(more) < len(before):
        more, before = before.copy(), more
    more[: len(before)] += before
    return more


def _lengths(counted: Whole) -> LengthCounts:
    tokens = np.flatnonzero(counted)
    return LengthCounts(tokens.astype(np.float64), counted[tokens])


def read_trace(path: Path, name: str, characters: CharactersPerToken) -> Trace:
    """The statistics of a file; ``name`` is what problems call it. InputError lists what is wrong with it."""
    stream, tally = TraceStream(path, name, characters), _Tally()
    for rows in stream:
        tally.add(rows)
        if tally.hours > MOST_HOURS:
            raise Trouble(name).refuse(f"spans {tally.hours / 8760:,.0f} years", where=stream.columns.arrival,
                                       expected="arrivals within 20 years", hint="another unit of time than was read?")
    if not tally.rows:
        raise Trouble(name).refuse("has no requests", read=f"{tally.left_out:,} rows without tokens",
                                   expected="rows with at least one token in and out")
    has_prefix = bool(stream.columns.prefix or stream.columns.blocks)
    rate, week_requests, week_hours = tally.by_clock(stream.dated)
    return Trace(
        file=name,
        shape=stream.columns.shape,
        digest=_digest(path),
        rows=tally.rows,
        left_out=tally.left_out,
        estimated=stream.estimated,
        input=_lengths(tally.input),
        output=_lengths(tally.output),
        correlation=tally.correlation(),
        prefix_hit_share=tally.prefix / float(_lengths(tally.input).counts @ _lengths(tally.input).tokens)
        if has_prefix
        else None,
        interarrival_scv=tally.scv(),
        duration_s=None if tally.first is None else (tally.last - tally.first) / 1e9,
        dated=stream.dated,
        hourly_requests_per_s=rate,
        week_requests=week_requests,
        week_hours=week_hours,
        sample=tally.sample,
        replay=np.concatenate(tally.replay),
    )


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@lru_cache(maxsize=16)
def _remembered(path: Path, changed: int, size: int, name: str, characters: CharactersPerToken) -> Trace:
    return read_trace(path, name, characters)


def trace_of(path: Path, name: str, characters: CharactersPerToken) -> Trace:
    """``read_trace``, once for a file that many services share and that did not change."""
    try:
        known = path.stat()
    except OSError:
        return read_trace(path, name, characters)
    return _remembered(path, known.st_mtime_ns, known.st_size, name, characters)
