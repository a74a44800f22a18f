"""What a document shows, as plain dictionaries of finished text: selection, wording and rounding, no computing."""

from __future__ import annotations

from typing import Any

from reports.constraints import CONSTRAINTS
from reports.manifest import program_version
from reports.render import evidence, view_money, view_options, view_summary
from reports.render.i18n import Translator
from reports.render.view_summary import chain_winners, rows
from reports.render.wording import Wording
from reports.run import Run

Row = dict[str, Any]


def context(run: Run, kind: str, language: str, translate: Translator) -> dict[str, Any]:
    """Everything the templates of a report kind read."""
    words = Wording(run, language, translate)
    winners = rows(run.winners())
    chains = [evidence.chain(words, row) for row in chain_winners(winners)]
    names = evidence.used_sources(chains)
    return {
        "language": language,
        "document": front(words, kind),
        "summary": view_summary.summary(words, winners),
        "recommendations": [recommendation(words, row) for row in winners],
        "options": view_options.by_model(words),
        "costs": [view_money.cost_figure(words, row, small=True) for row in winners],
        "cost_tables": [view_money.cost_lines(words, row) for row in winners],
        "evidence": [
            {**chain, "title": option_name(words, row), "proof": view_options.proof(words, row)}
            for chain, row in zip(chains, chain_winners(winners), strict=True)
        ],
        "currency_name": words.currency,
        "sections": sections(words),
        "scopes": scopes(words),
        "sources": [source(words, name) for name in names],
        "reference": {name: str(number) for number, name in enumerate(names, 1)},
    }


def front(words: Wording, kind: str) -> dict[str, Any]:
    """What the cover and the running titles say about the document itself."""
    scenario = words.run.scenario
    names = {
        "monthly-procurement": words.translate("Monthly procurement report"),
        "capacity-proposal": words.translate("Capacity proposal"),
    }
    return {
        "title": scenario.title[words.language],
        "kind": names.get(kind, kind),
        "period": words.month(scenario.period),
        "date": words.day(scenario.as_of),
        "iso_date": scenario.as_of.isoformat(),
        "prices": price_dates(words),
        "client": scenario.client,
        "version": scenario.version,
        "validity": words.day(scenario.validity) if scenario.validity else "",
        "classification": words.translate.known(scenario.classification),
        "currency": scenario.currency,
        "horizon_months": scenario.costs.horizon_months,
        "method": words.translate(words.run.method.title),
        "program": f"gpubook {program_version()}",
        "scenario": scenario.name,
        "files": [{"path": path.rpartition("/")[2], "digest": digest[:16]} for path, digest in scenario.files],
        "changes": [{"path": path, "old": str(old), "new": str(new)} for path, old, new in scenario.changes],
    }


def sections(words: Wording) -> list[dict[str, str]]:
    """The sections of a document; each id names its template."""
    _ = words.translate
    return [
        {"id": "recommendation", "title": _("Recommendation by model")},
        {"id": "options", "title": _("Options compared")},
        {"id": "costs", "title": _("Cost over time")},
        {"id": "evidence", "title": _("Evidence chain")},
        {"id": "assumptions", "title": _("Inputs and assumptions")},
        {"id": "sources", "title": _("Sources and document control")},
    ]


def scopes(words: Wording) -> list[dict[str, Any]]:
    """The tables that inputs are sorted into."""
    _ = words.translate
    return [
        {"title": _("Workload, targets and demand"), "names": ("scenario", "demand")},
        {"title": _("Prices"), "names": ("offer", "market", "purchase", "exchange", "host")},
        {"title": _("Card and links"), "names": ("gpu", "link")},
        {"title": _("Model and weight format"), "names": ("model", "quantization")},
        {"title": _("Layout and search"), "names": ("layout", "solved")},
        {"title": _("Assumptions"), "names": ("assumption", "engine")},
    ]


def price_dates(words: Wording) -> str:
    """From the oldest to the newest price that the winners use."""
    winners = rows(words.run.winners())
    dates = sorted({str(row["rent_as_of"])[:10] for row in winners if row.get("rent_as_of")})
    if not dates:
        return ""
    first, last = words.day(dates[0]), words.day(dates[-1])
    return first if first == last else words.translate("{first} to {last}", first=first, last=last)


def option_name(words: Wording, row: Row) -> str:
    """An option in a heading."""
    parts = [words.gpu(row["gpu"]), words.quantization(row["quantization"]), words.link(row["interconnect"])]
    return f"{words.model(row['model'])}: {', '.join(parts)}"


def recommendation(words: Wording, row: Row) -> dict[str, Any]:
    """One winner as a row of the recommendation table."""
    labels = {each.name: each.label for each in CONSTRAINTS[words.run.method.name]}
    constraint = labels.get(str(row["binding_constraint"]), "")
    return {
        "model": words.model(row["model"]),
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
        "tpot": words.short(row["tpot_ms"]),
        "tpot_target": words.short(row.get("tpot_target_ms")),
        "ttft": words.short(row["ttft_ms"], 4),
        "ttft_target": words.short(row.get("ttft_target_ms"), 4),
        "binding": words.translate(constraint),
        "spare": words.percent(row["headroom_share"]),
        "monthly": words.amount(row["monthly_cost_amount"]),
        "per_mtok": words.price(row.get(f"{row['way']}_amount_per_mtok")),
        "break_even": view_money.break_even(words, row, short=True),
        "note": view_summary.quality_note(words, row),
        "bottleneck": view_money.bottleneck_figure(words, row),
    }


def source(words: Wording, name: str) -> dict[str, str]:
    """One source of the list."""
    found = words.run.catalog.sources.get(name)
    return {
        "id": name,
        "title": found.title if found else name,
        "locator": found.locator if found else "",
        "date": str(found.checked_on) if found else "",
    }
