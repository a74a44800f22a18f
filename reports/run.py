"""One evaluated scenario: the frames that every renderer, and nothing else, reads."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from reports.catalog.records import Catalog
from reports.methods import Block, Method
from reports.scenario.schema import Scenario


@dataclass(frozen=True)
class Run:
    """The state after the last computing stage. Frames are never changed in place."""

    scenario: Scenario
    catalog: Catalog
    method: Method
    facts: pd.DataFrame
    """Long, one row a fact used: scope, key, column, value, unit, low, high, basis, source, as_of, confirmed, note,
    live (may be edited in the workbook)."""
    candidates: pd.DataFrame
    """Wide, one row a candidate at its best layout, all methods of the scenario: candidate_id, method, the axes,
    feasible, binding_constraint, excuse_code, every leaf and formula column, cards_needed."""
    options: pd.DataFrame
    """Wide, one row a (model, gpu, quantization, interconnect) of the first method: the candidate that serves the
    demand with the least cards, then every column of sizing, rent and buy, ``monthly_cost_amount``, ``way``
    (rent or buy), ``rank`` (1 is best, within the model; blank when infeasible), ``winner``, ``pareto``."""
    shortlist: pd.DataFrame
    """At most 12 rows of ``options`` (each model's winner first) with the proof columns (``tpot_ms@limit``, …) and
    the results of the cash flow (``break_even_month``, …)."""
    blocks: tuple[Block, ...]
    """Every block that made the short list's columns, in reading order, proofs and money included."""
    timelines: pd.DataFrame
    """Long: option_id, month (0 to the horizon), one column a cash-flow formula; for the short list."""
    cost_lines: pd.DataFrame
    verdicts: pd.DataFrame
    """Long: option_id, constraint, value, bound, unit, slack (>= 0 holds), passed; for all options."""
    excuses: pd.DataFrame
    """Long: candidate_id, method, option_id, model, code, constraint, values (the numbers the sentence quotes): every
    infeasible candidate (option_id blank), and every option."""
    evidence: pd.DataFrame
    """Long: the measured rows nearest to each short-listed option, with measured and predicted value; the label and
    the 80 % bands are columns of ``shortlist`` (``label``, ``tpot_ms_low``, …)."""
    warnings: tuple[tuple[str, dict[str, object]], ...]
    """What the cover must say: (English message with ``{names}``, values), translated at rendering."""

    def winners(self) -> pd.DataFrame:
        """The best option of each model that has one, in the scenario's order."""
        return self.shortlist[self.shortlist["winner"]]
