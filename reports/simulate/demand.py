"""The requests of one service as the simulation sees them: drawn from its workload, in the order of their arrival.

Drawn in blocks, each from its own seed: the same service meets the same requests in the same order on every option and
at every load (common random numbers), however many of them a run needs.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reports.scenario.services import Service

Counts = NDArray[np.int64]
Values = NDArray[np.float64]

SEED = 20_261_130
BLOCK = 4096
"""Requests drawn from one seed."""


@dataclass(frozen=True)
class Drawn:
    """Requests in the order of their arrival; ``gaps`` have mean 1."""

    input_tokens: Counts
    output_tokens: Counts
    cached_tokens: Counts
    gaps: Values

    def __len__(self) -> int:
        return len(self.gaps)


class Stream:
    """The endless sequence of requests of one service in one repeat."""

    def __init__(self, service: Service, repeat: int) -> None:
        self._service, self._repeat = service, repeat
        self._block = lru_cache(maxsize=None)(self._drawn)

    def first(self, count: int) -> Drawn:
        """The first ``count`` requests."""
        blocks = [self._block(index) for index in range(-(-count // BLOCK))]
        return Drawn(*(np.concatenate(parts)[:count] for parts in zip(*blocks, strict=True)))

    def _drawn(self, index: int) -> tuple[Counts, Counts, Counts, Values]:
        seeds = (SEED, zlib.crc32(self._service.name.encode()), self._repeat, index)
        found = self._service.workload.draw(BLOCK, np.random.default_rng(seeds))
        return found.input_tokens, found.output_tokens, found.prefix_hit_tokens, found.gaps


def fitted(drawn: Drawn, most_tokens: int) -> tuple[Drawn, float]:
    """The same requests, those longer than ``most_tokens`` cut to it (the prompt first, one token of answer is left),
    and the share of requests that were."""
    prompt = np.minimum(drawn.input_tokens, most_tokens - 1)
    answer = np.minimum(drawn.output_tokens, most_tokens - prompt)
    cut = float(np.mean((prompt < drawn.input_tokens) | (answer < drawn.output_tokens)))
    return Drawn(prompt, answer, np.minimum(drawn.cached_tokens, prompt - 1), drawn.gaps), cut
