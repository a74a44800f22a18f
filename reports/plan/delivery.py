"""How long an order of a card takes: a row of the assumptions for the card, its generation, or any other card."""

from __future__ import annotations

import pandas as pd

from reports.catalog.records import Catalog
from reports.columns import LEAF
from reports.facts import assumption_row
from reports.scenario.schema import Scenario

LEAD_TIME = "lead_time_weeks"
KEY = "delivery_key"
DEFAULT = "default"
PLAIN_CARD = "PCIe"
"""Form factors with this word are cards that any integrator builds into a server."""


def key(gpu: str, catalog: Catalog) -> str:
    """The middle of the assumption ``lead_time_<key>_weeks`` that holds for a card: the most special one on file.

    The row of a generation (``hopper``, ``blackwell``) speaks of whole systems; plain cards have the default.
    """
    card = catalog.gpus[gpu]
    family = "" if PLAIN_CARD in card.form_factor else card.arch.split()[0].lower()
    wanted = (gpu.replace("-", "_"), family)
    return next((each for each in wanted if (f"lead_time_{each}_weeks", "global") in catalog.assumptions), DEFAULT)


def attach(options: pd.DataFrame, scenario: Scenario, catalog: Catalog) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Options with ``lead_time_weeks`` and the key of its record, and the facts frame of those records."""
    keys = options["gpu"].astype(str).map(lambda gpu: key(gpu, catalog)).astype(object)
    rows = {
        each: {
            **assumption_row(f"lead_time_{each}_weeks", scenario, catalog),
            "scope": "delivery", "key": each, "column": LEAD_TIME, "unit": LEAF[LEAD_TIME].unit, "live": True,
        }
        for each in dict.fromkeys(keys)
    }  # fmt: skip
    weeks = keys.map({each: float(row["value"]) for each, row in rows.items()})
    return options.assign(**{KEY: keys, LEAD_TIME: weeks.astype(float)}), pd.DataFrame(list(rows.values()))
