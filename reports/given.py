"""What the author of a scenario states, as leaves: lengths, targets, demand, switches of the engine, policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from reports.catalog.records import Catalog
from reports.catalog.select import assumption
from reports.columns import LEAVES
from reports.scenario.demand import curve_of
from reports.scenario.operations import Policies
from reports.scenario.resident import resident
from reports.scenario.schema import Scenario
from reports.scenario.services import Service
from reports.scenario.targets import TAIL_SHARE, Statistic, normal_quantile_z
from reports.scenario.workload import Length
from reports.server_facts import switches
from reports.units import day_number

PAGE = "kv_page_tokens"
"""Assumption: tokens of one page of the KV cache."""

NEVER_ENDS_HOURS = 1e9
"""Stands for a run that has no end."""

UNSTATED: Mapping[str, float] = {
    "demand_peak_concurrency": 0.0, "demand_requests_per_s": 0.0, "demand_run_requests": 0.0,
    "demand_run_hours": NEVER_ENDS_HOURS, "demand_runs_per_month": 0.0, "monthly_growth_rate": 0.0,
    "growth_saturation_factor": 0.0,
}  # fmt: skip
"""Leaf of a demand -> the value without effect, which stands for what the scenario does not state."""

MONTHS_OF_A_QUARTER = 3


def _spare(spare: str | int | None) -> dict[str, float]:
    """Losses to survive: of units (a card takes one), or of a whole server."""
    if spare is None:
        return {}
    units = {"none": 0, "card": 1, "server": 0}.get(spare, 0) if isinstance(spare, str) else spare
    return {"spare_policy_units": float(units), "spare_policy_servers": float(spare == "server")}


def _headroom(share: float | None) -> dict[str, float]:
    """The share kept free and the share recommended are two sides of one number."""
    return {} if share is None else {"safety_factor": 1 - share}


POLICY_ASSUMPTIONS: Mapping[str, Callable[[Any], dict[str, float]]] = {
    "spare": _spare, "headroom_share": _headroom, "budget_per_quarter": lambda amount: {},
}  # fmt: skip
"""Policies that are said in other words than the assumptions they stand for."""


def scenario_values(scenario: Scenario) -> dict[str, float]:
    """Leaves that hold for all services."""
    draft = scenario.speculative
    return _known("scenario", {
        "length_is_p95": float(scenario.rule_of_thumb.lengths == "p95"),
        "units_as_published": float(scenario.rule_of_thumb.units == "as_published"),
        "kv_bytes_per_element": 1.0 if scenario.kv_cache == "fp8" else 2.0,
        "draft_tokens": float(draft.draft_tokens) if draft else 0.0,
        "draft_acceptance_ratio": draft.acceptance if draft else 0.0,
        "draft_step_share": draft.draft_step_share if draft else 0.0,
        "horizon_months": float(scenario.costs.horizon_months),
        "declining_flag": float(scenario.costs.depreciation == "declining-balance"),
        "tax_shield_flag": float(scenario.costs.tax_shield),
        "lease_in_advance_flag": float(scenario.costs.lease_payments == "in-advance"),
        "quarter_offset_months": float((int(scenario.period[5:]) - 1) % MONTHS_OF_A_QUARTER),
        **budget_values(scenario),
        **switches(scenario),
        "order_budget_amount_per_quarter": _or(scenario.policies.budget_per_quarter, 0.0),
    })  # fmt: skip


def budget_values(scenario: Scenario) -> dict[str, float]:
    """Budget and dates of the purchase; days as spreadsheets count them."""
    budget = scenario.budget
    return {
        "budget_amount": _or(budget.amount, 0.0),
        "next_budget_amount": budget.next,
        "as_of_day": float(day_number(scenario.as_of)),
        "needed_day": float(day_number(budget.needed_by)) if budget.needed_by else 0.0,
    }


def workload_values(service: Service) -> dict[str, float]:
    """Leaves of a workload and its targets. Without targets (the rule of thumb needs none) theirs are blank."""
    workload, targets = service.workload, service.targets
    lengths = {"input": workload.input_tokens, "output": workload.output_tokens}
    found = {
        "prefix_hit_share": workload.prefix_hit_share,
        "interarrival_scv": workload.interarrival_scv,
        "closed_loop_flag": float(workload.closed_loop),
        "burst_flag": float(workload.start == "burst"),
        "tpot_target_ms": targets.tpot_ms if targets else np.nan,
        "ttft_target_ms": targets.ttft_ms if targets else np.nan,
        "answer_target_ms": targets.answer_ms if targets else np.nan,
        "tpot_target_z": normal_quantile_z(targets.tpot_statistic) if targets else np.nan,
        "answer_target_z": normal_quantile_z(targets.answer_statistic) if targets else np.nan,
        "availability_target_share": _or(targets.availability, 0.0) if targets else 0.0,
        "ttft_target_tail_share": TAIL_SHARE[targets.ttft_statistic] if targets else np.nan,
        "answer_target_tail_share": TAIL_SHARE[targets.answer_statistic] if targets else np.nan,
        "input_tail_tokens": quantile_tokens(lengths["input"], targets.ttft_statistic if targets else "mean"),
        "output_tail_tokens": quantile_tokens(lengths["output"], targets.answer_statistic if targets else "mean"),
    }
    for name, length in lengths.items():
        found[f"{name}_mean_tokens"] = length.mean
        found[f"{name}_p95_tokens"] = length.p95
        found[f"{name}_deviation_tokens"] = getattr(length, "deviation", 0.0)
    return _known("workload", found)


def quantile_tokens(length: Length, statistic: Statistic) -> float:
    """The mean of a length, or the length that so many of the requests do not exceed."""
    return float(getattr(length, statistic, length.p95))


def demand_values(service: Service) -> dict[str, float]:
    """Leaves of a demand: requests at once and requests per second at the peak, 0 for what is not stated."""
    demand = service.demand
    curve, run = curve_of(demand), demand.run
    return _known("demand", {
        "demand_peak_concurrency": demand.peak_concurrency or 0.0,
        "demand_requests_per_s": demand.requests_per_s or 0.0,
        "monthly_growth_rate": curve.rate_per_month if curve else 0.0,
        "growth_saturation_factor": curve.saturation_factor if curve else 0.0,
        "demand_run_requests": run.requests if run else 0.0,
        "demand_run_hours": run.hours if run else NEVER_ENDS_HOURS,
        "demand_runs_per_month": run.per_month if run else 0.0,
    })  # fmt: skip


def resident_values(service: Service, scenario: Scenario, catalog: Catalog) -> dict[str, float]:
    """Leaves of the memory that running requests hold, derived from the workload and the shape of the model."""
    stated = stated_assumptions(scenario)
    page = stated.get(PAGE, (assumption(catalog, PAGE, scenario.region).mid, ""))[0]
    held = resident(service.workload, catalog.models[service.model], page)
    return _known("resident", {
        "resident_kv_elements": held.mean_elements,
        "resident_deviation_kv_elements": held.deviation_elements,
        "full_kv_elements": held.full_elements,
        "full_p95_kv_elements": held.full_p95_elements,
    })  # fmt: skip


def stated_assumptions(scenario: Scenario) -> dict[str, tuple[float, str]]:
    """Assumption -> (own value, where in the scenario): those of ``assumptions``, and policies and engine settings."""
    found = {name: (float(value), f"assumptions.{name}") for name, value in scenario.assumptions.items()}
    for name in Policies.model_fields:
        value = getattr(scenario.policies, name)
        if name in POLICY_ASSUMPTIONS:
            found |= {each: (own, f"policies.{name}") for each, own in POLICY_ASSUMPTIONS[name](value).items()}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = (float(value), f"policies.{name}")
    chunk = scenario.engine_settings.chunk_tokens
    if chunk is not None:
        found |= dict.fromkeys(("chunk_small_tokens", "chunk_large_tokens"),
                               (float(chunk), "engine_settings.chunk_tokens"))  # fmt: skip
    return found


def stated_engine_facts(scenario: Scenario) -> dict[str, tuple[float, str]]:
    """Fact of the engine -> (own value, where in the scenario)."""
    most = scenario.engine_settings.max_requests
    return {} if most is None else {"engine_batch_requests": (float(most), "engine_settings.max_requests")}


def _known(scope: str, found: Mapping[str, float]) -> dict[str, float]:
    """Those that the data dictionary has, in its order."""
    return {leaf.name: float(found[leaf.name]) for leaf in LEAVES if leaf.scope == scope and leaf.name in found}


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
