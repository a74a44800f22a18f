"""Turns the files of profiles into records: how the load runs through the week, and how long requests are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from reports.catalog.records import DAYS, LengthMix, LoadProfile
from reports.catalog.schema import LengthMixFile, LoadProfileFile
from reports.scenario.lengths import PercentileLength
from reports.strict_yaml import did_you_mean

HOURS_PER_DAY = 24
WORDS: dict[str, Sequence[str]] = {"every_day": DAYS, "weekday": DAYS[:5], "weekend": DAYS[5:]}
"""Words that stand for several days."""

LEAST_FACTS = {f"{end}_{name}_tokens" for end in ("input", "output") for name in ("mean", "p50", "p95", "p99")}
"""What must be known of a mix of lengths."""


def load_profile(file: LoadProfileFile, base: dict[str, Any], facts: Any) -> LoadProfile:
    """A profile of 168 shares of its peak; what is wrong with it is noted in ``facts``."""
    given: dict[str, Sequence[float]] = {}
    stated: dict[str, str] = {}
    for word, hours in file.shares.items():
        days = WORDS.get(word, (word,))
        if word not in WORDS and word not in DAYS:
            known = [*WORDS, *DAYS]
            facts.problem(("shares", word), "unknown day", key=True, read=f'"{word}"', expected=", ".join(known),
                          hint=did_you_mean(word, known))
            continue
        if len(hours) != HOURS_PER_DAY:
            facts.problem(("shares", word), f"has {len(hours)} numbers", expected=f"{HOURS_PER_DAY}, one an hour")
        for hour, share in enumerate(hours):
            if not math.isfinite(share) or share < 0:
                facts.problem(("shares", word, hour), "is out of range", read=f"{share:g}", expected="0 or more")
        for day in days:
            if day in given:
                facts.problem(("shares", word), f"says again what {day} is like", hint=f"see {stated[day]}")
            given.setdefault(day, hours)
            stated.setdefault(day, word)
    missing = [day for day in DAYS if day not in given]
    if missing and file.shares:
        facts.problem(("shares",), f"says nothing about {', '.join(missing)}", expected="every day of the week")
    return LoadProfile(**base, shares=_scaled(given, facts), basis=file.basis, source=file.source, at=file.at)


def _scaled(given: dict[str, Sequence[float]], facts: Any) -> tuple[float, ...]:
    hours = [share for day in DAYS for share in given.get(day, ())]
    peak = max(hours, default=0.0)
    if hours and peak <= 0:
        facts.problem(("shares",), "is 0 at every hour", expected="the load of each hour over the peak")
    return tuple(share / peak for share in hours) if peak > 0 else ()


def length_mix(file: LengthMixFile, base: dict[str, Any], facts: Any) -> LengthMix:
    """A mix of lengths whose mean and percentiles agree; what is wrong with it is noted in ``facts``."""
    entry = LengthMix(**base)
    if entry.facts.keys() >= LEAST_FACTS:
        for end, stated in entry.stated.items():
            for message in _disagreements(stated):
                facts.problem(("facts", f"{end}_mean_tokens"), message)
    return entry


def _disagreements(stated: Any) -> Iterator[str]:
    try:
        PercentileLength.model_validate({"distribution": "percentiles", **stated})
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            yield f"does not fit the other lengths: {detail['msg'].removeprefix('Value error, ')}"
