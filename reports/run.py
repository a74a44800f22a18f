"""One evaluated scenario: the frames that every renderer, and nothing else, reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from reports.catalog.records import Catalog
from reports.methods import Block, Method
from reports.scenario.schema import Scenario


def _columns(*names: str) -> partial[pd.DataFrame]:
    """An empty frame with these columns: what a stage leaves that found nothing to say."""
    return partial(pd.DataFrame, columns=list(names))


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
    """Wide, one row a (service, gpu, quantization, interconnect) of the first method: the candidate that serves the
    demand with the least cards, then every column of sizing, rent and buy, ``monthly_cost_amount``, ``way``
    (rent or buy), ``rank`` (1 is best, within the service; blank when infeasible), ``winner``, ``pareto``."""
    shortlist: pd.DataFrame
    """At most 12 rows of ``options`` (each service's winner first) with the proof columns (``tpot_ms@limit``, …) and
    the results of the cash flow (``break_even_month``, …)."""
    blocks: tuple[Block, ...]
    """Every block that made the short list's columns, in reading order, proofs and money included."""
    timelines: pd.DataFrame
    """Long: option_id, month (0 to the horizon), one column a cash-flow formula; for the short list."""
    cost_lines: pd.DataFrame
    verdicts: pd.DataFrame
    """Long: option_id, constraint, value, bound, unit, slack (>= 0 holds), passed; for all options."""
    excuses: pd.DataFrame
    """Long: candidate_id, method, option_id, service, model, code, constraint, values (the numbers its sentence
    quotes): every infeasible candidate (option_id blank), and every option."""
    evidence: pd.DataFrame
    """Long: the measured rows nearest to each short-listed option, with measured and predicted value; the label and
    the 80 % bands are columns of ``shortlist`` (``label``, ``tpot_ms_low``, …)."""
    warnings: tuple[tuple[str, dict[str, object]], ...]
    """What the cover must say: (English message with ``{names}``, values), translated at rendering."""
    workloads: pd.DataFrame = field(default_factory=_columns(
        "workload_key", "quantity", "mean", "p50", "p95", "p99", "deviation", "basis", "source"))  # fmt: skip
    """Long, one row a quantity of a workload: input, output, resident tokens, …, with its spread."""
    load: pd.DataFrame = field(default_factory=_columns("workload_key", "hour", "share_of_peak"))
    """Long, one row an hour of the week (0 is Monday midnight): the load as a share of the peak."""
    simulated: pd.DataFrame = field(default_factory=_columns(
        "option_id", "metric", "statistic", "closed_form", "simulated", "low", "high", "target", "holds"))  # fmt: skip
    """Long, one row a statistic of a metric of a short-listed option: formula and simulation side by side."""
    latency_curves: pd.DataFrame = field(default_factory=_columns(
        "option_id", "limit_share", "load_requests", "arrivals_per_s", "metric", "statistic", "simulated", "low",
        "high"))  # fmt: skip
    """Long, one row a statistic of a latency of a winner at one load: how late is it as the load grows?"""
    growth: pd.DataFrame = field(default_factory=_columns("option_id", "month", "period"))
    """Long, one row a month of every winner: the rows of ``reports.plan.rows.TIMELINE``, what the demand needs and
    what is there; ``period`` is the calendar month."""
    growth_results: pd.DataFrame = field(default_factory=_columns("option_id"))
    """Wide, one row a winner: what ``reports.plan.rows.RESULTS`` draws from its timeline."""
    orders: pd.DataFrame = field(default_factory=_columns(
        "option_id", "service", "gpu", "order_month", "need_month", "arrival_month", "servers", "cards", "amount",
        "late_months", "why"))  # fmt: skip
    """Long, one row an order of servers, months as in ``growth``; ``why``: now, growth, lease or budget."""
    resilience: pd.DataFrame = field(default_factory=_columns(
        "option_id", "units_needed", "spare_units", "availability", "target", "loss", "capacity_left_share",
        "headroom_used_left_share", "serves_demand"))  # fmt: skip
    """Long, one row a loss (card, server) of a short-listed option: what still serves."""
    switches: pd.DataFrame = field(default_factory=_columns(
        "service", "change", "from", "to", "cards_before", "cards_after", "servers_saved", "amount_per_month_saved",
        "rank"))  # fmt: skip
    """Long, one row a change of an input that would save cards, the most useful first."""
    pools: pd.DataFrame = field(default_factory=_columns("service", "split_tokens", "pool", "cards", "better"))
    """Long, one row a pool (short, long, all) of a service whose long requests might run apart."""
    fleet: pd.DataFrame = field(default_factory=_columns(
        "month", "service", "option_id", "units", "cards", "source", "served_share", "tier", "amount"))  # fmt: skip
    """Long, one row a use of cards: what is kept, bought, rented or released, and for which service."""
    fleet_summary: pd.DataFrame = field(default_factory=_columns("key", "value"))
    """What the fleet plan says as a whole: status, gap, binding resource, what is not served."""
    ways: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Long, one row a way to get the cards of a short-listed option, or a hosted API: ``reports.cost.ways.COLUMNS``."""
    hybrid: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Long, one row a number of owned servers of a short-listed option: ``reports.cost.hourly.CURVE``."""
    tornado: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Long, one row an input moved to its low and high, for each winner and (option_id blank) for the whole plan:
    ``reports.sensitivity.tornado.COLUMNS``."""
    chances: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Long, one row a (short-listed option, way): ``reports.sensitivity.chances.COLUMNS``."""
    grid: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Long, one row a cell of rented hours against rent, for each winner: ``reports.sensitivity.grid.COLUMNS``."""
    fleet_pools: pd.DataFrame = field(default_factory=_columns("month", "plan", "source_id", "source", "cards"))
    """Long, one row a source of cards and what is done with it: machines, cards in use, amounts, power."""
    fleet_services: pd.DataFrame = field(default_factory=_columns("month", "plan", "service", "served_share", "reason"))
    """Long, one row a service of a plan: what it gets, or why not."""
    fleet_limits: pd.DataFrame = field(default_factory=_columns(
        "month", "plan", "resource", "used", "limit", "lacking"))  # fmt: skip
    """Long, one row a limit of the site: what the plan takes of it, and what the whole demand would lack."""
    given: pd.DataFrame = field(default_factory=_columns("service", "gpu", "given_cards", "given_concurrency"))
    """Long, one row a (service, present card): what all present cards of this kind would carry of it."""
    variance: pd.DataFrame = field(default_factory=_columns("service", "cause", "amount", "cards", "impossible"))
    """Long, one row a service and cause of the difference from an earlier run: ``reports.history.attribute.CAUSES``."""
    variance_services: pd.DataFrame = field(default_factory=_columns("service", "change"))
    """Wide, one row a service of either run, before and after: ``reports.history.attribute.SERVICES``."""
    variance_about: pd.DataFrame = field(default_factory=_columns("key", "value"))
    """What the run was compared with (period, whether its inputs could be evaluated); empty: nothing was asked for."""
    actuals: pd.DataFrame = field(default_factory=_columns(
        "month", "service", "measure", "forecast", "actual", "error_share"))  # fmt: skip
    """Long, one row a month, service (blank: all together) and measure: forecast of that month's run, and what was."""
    course: pd.DataFrame = field(default_factory=_columns("period", "kind", "service", "gpu", "name", "value"))
    """Long, answers and prices of earlier months and this one (``reports.history.record.COLUMNS``), from three on."""

    bill: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Long, one row an item of every option that can be bought: ``reports.cost.bill.COLUMNS``."""
    quotes: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Long, one row a quote or offer for the layout of a winner: ``reports.cost.comparison.COLUMNS``."""
    cash_plan: pd.DataFrame = field(default_factory=_columns(
        "quarter", "first_day", "last_day", "service", "option_id", "payment", "amount"))  # fmt: skip
    """Long, one row a payment of the recommended purchase: ``reports.cost.payments.PLAN``."""
    budget_fits: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Long, one row a recommended purchase: ``reports.cost.payments.FITS``."""

    def winners(self) -> pd.DataFrame:
        """The best option of each service that has one, in the scenario's order."""
        return self.shortlist[self.shortlist["winner"]]
