"""What is asked of the models: how long requests are, how they arrive, how many there are, and requests drawn from it.

What may be written is ``Workload``. Reading attaches what it refers to: the statistics of its trace, and the load by
hour of the week (``known``). Lengths come from a trace, from a mix of the catalog, or are stated one by one; what is
stated beside a trace or a mix replaces what it says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr

from reports.scenario.demand import DEMAND_KEYS, Demand, ModelDemand
from reports.scenario.lengths import (
    FixedLength,
    HistogramLength,
    Lengths,
    LogNormalLength,
    LongTailLength,
    NormalLength,
    PercentileLength,
    UniformLength,
)
from reports.scenario.strict import Strict
from reports.scenario.traces import Trace, TraceLength

__all__ = ["DEMAND_KEYS", "Demand", "Length", "ModelDemand", "Profile", "Requests", "Strict", "TraceFile", "Workload"]

Values = NDArray[np.float64]
Whole = NDArray[np.int64]

Length = Annotated[
    FixedLength | UniformLength | NormalLength | LogNormalLength | LongTailLength | HistogramLength | PercentileLength
    | TraceLength,
    Field(discriminator="distribution"),
]  # fmt: skip
Start = Literal["open-loop", "steady", "staggered", "burst"]
CLOSED_LOOP = ("steady", "staggered", "burst")
HOURS_PER_WEEK = 168


@dataclass(frozen=True)
class Profile:
    """How the load runs through the week, and where that comes from."""

    name: str
    shares: Values
    """Load of each hour of the week over the peak, 168 numbers, Monday 0 h first; the largest is 1."""
    basis: str
    source: str
    at: str
    note: str = ""

    @property
    def mean_share(self) -> float:
        """Mean load over the peak."""
        return float(self.shares.mean())


class Requests(NamedTuple):
    """Some requests, arrays of one length."""

    input_tokens: Whole
    output_tokens: Whole
    prefix_hit_tokens: Whole
    """Prompt tokens that the prefix cache holds; never all of the prompt, whose last token is always computed."""
    gaps: Values
    """Time since the arrival before, as a multiple of its mean: divide by the rate."""


class TraceFile(Strict):
    """A recorded or synthetic trace; it gives the lengths, and where it has them arrivals, prefix hits and profile."""

    file: Annotated[str, Field(min_length=1, max_length=200)]
    """A CSV, JSON, JSON-lines or Parquet file beside the scenario, or in a folder beside it."""


class Workload(Strict):
    """What is asked of the models."""

    input_tokens: Length
    """Length of the prompt: a number, or a distribution; or state lengths or trace."""
    output_tokens: Length
    """Length of the answer: a number, or a distribution; or state lengths or trace."""
    lengths: Annotated[str, Field(max_length=200)] | None = None
    """A mix of the catalog (gpubook catalog list lengths) in place of input_tokens and output_tokens."""
    trace: TraceFile | None = None
    """A file of requests in place of input_tokens and output_tokens."""
    prefix_cache_hit_share: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] | None = None
    """Share of the prompt tokens that the prefix cache holds; default: as in the trace, else none."""
    burstiness: Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)] | None = None
    """Squared coefficient of variation of the time between arrivals: 1 at random, more in bursts, 0 like a clock;
    default: as in the trace, else 1."""
    arrivals: Start | None = None
    """open-loop: requests come at a rate, whatever leaves. steady, staggered, burst: a fixed number is in flight, from
    the start, started one after the other, or all at once. Default: open-loop; of a run, staggered."""
    demand: Demand

    _trace: Trace | None = PrivateAttr(None)
    _profile: Profile | None = PrivateAttr(None)
    _source: str = PrivateAttr("scenario")

    def known(self, trace: Trace | None, profile: Profile | None, source: str) -> Workload:
        """The same with what it refers to: its trace, its profile, and the source of its lengths."""
        lengths: dict[str, Lengths] = {}
        if trace is not None:
            for name, occurred in (("input_tokens", trace.input), ("output_tokens", trace.output)):
                stated = getattr(self, name)
                if isinstance(stated, TraceLength):
                    lengths[name] = stated.known(occurred)
        copy = self.model_copy(update=lengths)
        copy._trace, copy._profile, copy._source = trace, profile, source
        return copy

    @property
    def traced(self) -> Trace | None:
        """The statistics of its trace."""
        return self._trace

    @property
    def profile(self) -> Profile | None:
        """Load by hour of the week; None where nothing is known of it."""
        return self._profile

    @property
    def length_source(self) -> str:
        """Where its lengths come from: scenario, the id of a source, or the file of a trace."""
        return self._source

    @property
    def interarrival_scv(self) -> float:
        """Squared coefficient of variation of the time between arrivals."""
        if self.burstiness is not None:
            return self.burstiness
        found = self._trace.interarrival_scv if self._trace else None
        return 1.0 if found is None else found

    @property
    def prefix_hit_share(self) -> float:
        """Prompt tokens that the prefix cache holds, over all prompt tokens."""
        if self.prefix_cache_hit_share is not None:
            return self.prefix_cache_hit_share
        found = self._trace.prefix_hit_share if self._trace else None
        return found or 0.0

    @property
    def start(self) -> Start:
        """How requests come: as stated; else a run keeps a number in flight, started one after the other."""
        return self.arrivals or ("open-loop" if self.demand.run is None else "staggered")

    @property
    def closed_loop(self) -> bool:
        """Whether a fixed number of requests is in flight."""
        return self.start in CLOSED_LOOP

    @property
    def joint(self) -> Whole | None:
        """Pairs of input and output as rows of two, every row as likely, where a trace says how they go together."""
        both = isinstance(self.input_tokens, TraceLength) and isinstance(self.output_tokens, TraceLength)
        return self._trace.sample[:, :2] if both and self._trace else None

    def draw(self, count: int, rng: np.random.Generator) -> Requests:
        """So many requests in the order of their arrival; the same generator state gives the same requests.

        Of a trace, consecutive rows from a random one on, its start following its end (times of a trace that is longer
        than what is kept, with rows of its sample); of other lengths, independent draws, rounded to whole tokens, at
        least 1. Gaps are gamma distributed unless they are the trace's.
        """
        rows = self._rows(count, rng)
        prompt = self._tokens(self.input_tokens, None if rows is None else rows[:, 1], count, rng)
        answer = self._tokens(self.output_tokens, None if rows is None else rows[:, 2], count, rng)
        if rows is not None and self.prefix_cache_hit_share is None and isinstance(self.input_tokens, TraceLength):
            prefix = rows[:, 3].astype(np.int64)
        else:
            prefix = np.floor(prompt * self.prefix_hit_share).astype(np.int64)
        replayed = rows is not None and self.burstiness is None and self._trace is not None
        gaps = self._gaps(rows[:, 0] if rows is not None and replayed else None, count, rng)
        return Requests(prompt, answer, np.clip(prefix, 0, prompt - 1), gaps)

    def _rows(self, count: int, rng: np.random.Generator) -> Values | None:
        if self._trace is None:
            return None
        replay = self._trace.replay
        start = int(rng.integers(len(replay)))
        rows = replay[(start + np.arange(count)) % len(replay)]
        if self._trace.rows > len(replay):
            rows[:, 1:] = self._trace.sample[rng.integers(len(self._trace.sample), size=count)]
        return np.asarray(rows)

    def _tokens(self, lengths: Lengths, rows: Values | None, count: int, rng: np.random.Generator) -> Whole:
        if rows is not None and isinstance(lengths, TraceLength):
            return rows.astype(np.int64)
        drawn = lengths.quantile(rng.random(count))
        return np.maximum(np.rint(drawn), 1).astype(np.int64)

    def _gaps(self, replayed: Values | None, count: int, rng: np.random.Generator) -> Values:
        if replayed is not None and self._trace is not None and self._trace.interarrival_scv is not None:
            mean = float(self._trace.replay[1:, 0].mean())
            if mean > 0:
                return replayed / mean
        scv = self.interarrival_scv
        return rng.standard_gamma(1 / scv, count) * scv if scv else np.ones(count)
