"""The winners as rows: what to do for each service, with its latency, limit, cost and break-even."""

from __future__ import annotations

from typing import Any

from reports.constraints import CONSTRAINTS
from reports.render import view_money, view_summary
from reports.render.wording import Wording

Row = dict[str, Any]


def lead(words: Wording) -> str:
    """What the table of winners shows."""
    return words.translate(
        "Least cards of each kind that serve the demand within the targets, in whole replicas; ranked by cost a month."
        if words.has_targets
        else "Least cards of each kind that serve the demand, in whole replicas; ranked by cost a month. "
        "The method has no targets."
    )


def option_name(words: Wording, row: Row) -> str:
    """An option in a heading."""
    parts = [words.gpu(row["gpu"]), words.quantization(row["quantization"]), words.link(row["interconnect"])]
    return f"{words.model(row['model'])}: {', '.join(parts)}"


def recommendation(words: Wording, row: Row) -> dict[str, Any]:
    """One winner as a row of the recommendation table."""
    labels = {each.name: each.label for each in CONSTRAINTS[words.run.method.name]}
    constraint = labels.get(str(row["binding_constraint"]), "")
    return {
        "model": words.service(row["service"]),
        "sentence": view_summary.decision(words, row),
        "way": str(row["way"]),
        "way_text": words.translate("Buy" if row["way"] == "buy" else "Rent"),
        "cards": view_summary.cards_phrase(words, row),
        "gpu": words.gpu(row["gpu"]),
        "format": words.quantization(row["quantization"]),
        "link": words.link(row["interconnect"]),
        "layout": words.layout(row),
        "units": words.count(row["units_needed"]),
        "demand": words.short(row["demand_concurrency"], 4),
        "tpot": words.short(row["tpot_tail_ms" if words.has_targets else "tpot_ms"]),
        "tpot_target": _target(words, row, "tpot"),
        "ttft": words.short(row["ttft_tail_ms" if words.has_targets else "ttft_ms"], 4),
        "ttft_target": _target(words, row, "ttft"),
        "binding": words.translate(constraint),
        "spare": words.percent(row["headroom_share"]),
        "monthly": words.amount(row["monthly_cost_amount"]),
        "per_mtok": words.price(row.get(f"{row['way']}_amount_per_mtok")),
        "break_even": view_money.break_even(words, row, short=True),
        "note": view_summary.quality_note(words, row),
        "bottleneck": view_money.bottleneck_figure(words, row),
    }


def _target(words: Wording, row: Row, name: str) -> str:
    """The target with the statistic that it, and the figure above it, are of."""
    targets = words.run.scenario.targets
    if not words.has_targets or targets is None:
        return words.translate("no target")
    statistic = getattr(targets, f"{name}_statistic")
    bound = f"≤ {words.short(row.get(f'{name}_target_ms'), 4)}"
    return f"{words.translate('mean') if statistic == 'mean' else statistic.upper()} {bound}"
