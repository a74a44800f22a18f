"""Answers and prices of every run as a growing table: one Parquet file a run and month, read together by any tool.

The schema is described in docs/HISTORY.md. A month that is built again replaces its own file and touches no other.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from reports.run import Run
from reports.writing import write_atomically

FOLDER = "history"
SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("scenario", "period", "as_of", "currency", "kind", "service", "candidate_id",
                                      "gpu", "way", "name")]
    + [("value", pa.float64()), ("unit", pa.string())]
)  # fmt: skip
COLUMNS = tuple(SCHEMA.names)

ANSWER, PRICE, EXCHANGE = "answer", "price", "exchange"

ANSWERS: dict[str, str] = {
    "monthly_cost_amount": "currency/month", "capex_amount": "currency", "rented_cards": "cards",
    "bought_cards": "cards", "demand_concurrency": "requests", "tpot_ms": "ms", "ttft_ms": "ms",
}  # fmt: skip
"""Columns of a winner that are kept, with their units."""

PRICES: dict[str, str] = {"rent_price_per_card_hour": "currency/card-h", "server_amount": "currency/server"}
"""Columns of the options that are kept: the least of each card, in the currency of the scenario."""

LEAST_PERIODS = 3
"""A course over fewer months is none."""


def rows(run: Run) -> pd.DataFrame:
    """``COLUMNS``: what a run adds to the history; blanks are left out."""
    scenario = run.scenario
    known = {"scenario": scenario.name, "period": scenario.period, "as_of": scenario.as_of.isoformat(),
             "currency": scenario.currency}  # fmt: skip
    found = [{**dict.fromkeys(COLUMNS, ""), **known, **each} for each in (*_answers(run), *_prices(run), *_rates(run))]
    frame = pd.DataFrame(found, columns=list(COLUMNS))
    return frame[pd.to_numeric(frame["value"]).notna()].reset_index(drop=True)


def _answers(run: Run) -> Iterator[dict[str, object]]:
    for row in run.winners().to_dict("records"):
        said = {name: str(row[name]) for name in ("service", "candidate_id", "gpu", "way")}
        not_its_way = {"rented_cards"} if row["way"] == "buy" else {"bought_cards", "capex_amount"}
        for name, unit in ANSWERS.items():
            if name in row and name not in not_its_way:
                yield {"kind": ANSWER, **said, "name": name, "value": float(row[name]), "unit": unit}


def _prices(run: Run) -> Iterator[dict[str, object]]:
    for name, unit in PRICES.items():
        if name in run.options:
            priced = run.options[run.options[name].notna()]
            for gpu, value in priced.groupby(priced["gpu"].astype(str))[name].min().items():
                yield {"kind": PRICE, "gpu": str(gpu), "name": name, "value": float(value), "unit": unit}


def _rates(run: Run) -> Iterator[dict[str, object]]:
    rates = run.facts[run.facts["scope"] == EXCHANGE] if len(run.facts) else run.facts
    for row in rates.to_dict("records"):
        if row["live"]:
            yield {"kind": EXCHANGE, "name": str(row["key"]), "value": float(row["value"]), "unit": str(row["unit"])}


def write(run: Run, out: Path) -> Path:
    """Write the file of this run under ``out/history``; the same run gives the same bytes."""
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run.scenario.period}.{run.scenario.name}.parquet"
    table = pa.Table.from_pandas(rows(run), schema=SCHEMA, preserve_index=False).replace_schema_metadata(None)
    stream = io.BytesIO()
    pq.write_table(table, stream)
    write_atomically(path, stream.getvalue())
    return path


def read(out: Path, scenario: str, before: str) -> pd.DataFrame:
    """``COLUMNS`` of the earlier months of a scenario; files that are no history are passed over."""
    parts = []
    for path in sorted((out / FOLDER).glob(f"20??-??.{scenario}.parquet")):
        if path.name[: len(before)] >= before:
            continue
        try:
            found = pq.read_table(path)
        except (OSError, pa.ArrowInvalid):
            continue
        if found.schema.names == list(COLUMNS):
            parts.append(found.to_pandas())
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(COLUMNS))


def course(run: Run, out: Path) -> pd.DataFrame:
    """The earlier months and this one, in one currency; empty where there are fewer than ``LEAST_PERIODS``."""
    earlier = read(out, run.scenario.name, run.scenario.period)
    kept = earlier[earlier["currency"] == run.scenario.currency]
    frame = pd.concat([kept, rows(run)], ignore_index=True) if len(kept) else rows(run)
    return frame if frame["period"].nunique() >= LEAST_PERIODS else frame.iloc[:0]
