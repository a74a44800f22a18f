"""What would change the answer: one thing changed at a time, and the cards, servers and money it would save.

Every change is evaluated by the same stages, on the short-listed options of each service alone; the closed forms
answer, nothing is simulated again. Another card is taken from the options that were compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from reports.catalog.records import Catalog
from reports.facts import assumption_row
from reports.plan.again import ASKED_FOR, Combination, cheapest, combinations, priced_options
from reports.plan.changed import later, scaled, with_lengths, with_services
from reports.run import Run
from reports.scenario.operations import Speculative
from reports.scenario.schema import Scenario
from reports.scenario.services import Service

UNCHANGED = "unchanged"
TPOT, TTFT, ANSWER, INPUT, OUTPUT, PREFIX = "tpot", "ttft", "answer", "input", "output", "prefix-cache"
KV_CACHE, SPECULATIVE, SPARES, HEADROOM = "kv-cache", "speculative", "spares", "headroom"
QUANTIZATION, CARD = "quantization", "card"

COLUMNS = (
    "service", "change", "from", "to", "option_id", "cards_before", "cards_after", "servers_before", "servers_after",
    "servers_saved", "amount_before", "amount_after", "amount_per_month_saved", "rank",
)  # fmt: skip

MOST_CARDS = 1
"""Other cards listed a service; the whole comparison is in the section of the options."""

NOTICEABLE = 0.005
"""A saving below this share of the cost is not worth a line, unless it saves cards."""


@dataclass(frozen=True)
class Asked:
    """One question: a service with something changed."""

    service: str
    change: str
    before: object
    after: object
    name: str
    """What the service is called where it is evaluated."""


def stage(run: Run) -> Run:
    """The run with its switches, the most useful of each service first."""
    winners = run.winners()
    if winners.empty:
        return run
    own = combinations(run.shortlist)
    rows = [*_reevaluated(run, own), *_other_cards(run)]
    return replace(run, switches=_ranked(pd.DataFrame(rows, columns=list(COLUMNS))))


def _ranked(rows: pd.DataFrame) -> pd.DataFrame:
    """Changes that save cards or money, by the money, then the servers, then the cards."""
    cards = rows["cards_before"] - rows["cards_after"]
    noticed = rows["amount_per_month_saved"] > NOTICEABLE * rows["amount_before"]
    found = rows.assign(_cards=cards)[(cards > 0) | noticed]
    order = ["amount_per_month_saved", "servers_saved", "_cards"]
    found = found.sort_values([*order, "change"], ascending=[False, False, False, True], kind="stable")
    found["rank"] = found.groupby("service", sort=False).cumcount() + 1
    return found.drop(columns="_cards").reset_index(drop=True)


def _reevaluated(run: Run, own: Sequence[Combination]) -> Iterator[dict[str, Any]]:
    """Changes of one service each go in one evaluation together, those of the whole scenario in one each."""
    scenario, catalog = run.scenario, run.catalog
    answered = {str(name) for name in run.winners()["service"]}
    services = [each for each in scenario.service_axis if each.name in answered]
    stacked, asked = [], []
    for service in services:
        for change, before, after, changed in _of_a_service(service, scenario, catalog):
            name = service.name if change == UNCHANGED else f"{service.name}+{change}"
            stacked.append(replace(changed, name=name))
            asked.append(Asked(service.name, change, before, after, name))
    unchanged = cheapest(priced_options(with_services(scenario, stacked), catalog, _for(asked, own)))
    yield from (
        _row(each, unchanged[each.service], unchanged[each.name])
        for each in asked
        if each.change != UNCHANGED and each.service in unchanged and each.name in unchanged
    )
    for change, before, after, other in _of_the_scenario(scenario, catalog, run):
        found = cheapest(priced_options(other, catalog, own))
        yield from (
            _row(Asked(name, change, before, after, name), unchanged[name], best)
            for name, best in found.items()
            if name in unchanged
        )
    yield from _formats(run, services, unchanged)


def _for(asked: Sequence[Asked], own: Sequence[Combination]) -> list[Combination]:
    """The combinations of each service, for every question about it."""
    return [(each.name, *rest) for each in asked for service, *rest in own if service == each.service]  # type: ignore[misc]


def _of_a_service(
    service: Service, scenario: Scenario, catalog: Catalog
) -> Iterator[tuple[str, object, object, Service]]:
    def assumed(name: str) -> float:
        return float(assumption_row(name, scenario, catalog)["value"])  # type: ignore[arg-type]

    yield UNCHANGED, None, None, service
    targets, workload = service.targets, service.workload
    if targets is not None:
        for kind in (TPOT, TTFT, ANSWER):
            before = getattr(targets, f"{kind}_ms")
            if kind != ANSWER or targets._stated(ANSWER):
                changed = later(targets, kind, assumed("switch_relax_share"))
                yield kind, before, getattr(changed, f"{kind}_ms"), replace(service, targets=changed)
    factor = 1 - assumed("switch_shorten_share")
    lengths = (workload.input_tokens, workload.output_tokens)
    for change, place in ((INPUT, 0), (OUTPUT, 1)):
        shorter = tuple(scaled(each, factor) if place == index else each for index, each in enumerate(lengths))
        yield (
            change, lengths[place].mean, shorter[place].mean,
            replace(service, workload=with_lengths(workload, shorter[0], shorter[1])),
        )  # fmt: skip
    hits = getattr(workload, "prefix_cache_hit_share", 1.0) or 0.0
    if hits < (wanted := assumed("switch_prefix_hit_share")):
        cached = workload.model_copy(update={"prefix_cache_hit_share": wanted})
        yield PREFIX, hits, wanted, replace(service, workload=cached)


def _of_the_scenario(
    scenario: Scenario, catalog: Catalog, run: Run
) -> Iterator[tuple[str, object, object, Scenario]]:
    def assumed(name: str) -> dict[str, Any]:
        return assumption_row(name, scenario, catalog)

    if scenario.kv_cache == "16bit":
        yield KV_CACHE, "16bit", "fp8", scenario.model_copy(update={"kv_cache": "fp8"})
    if scenario.speculative is None:
        names = ("draft_tokens", "draft_acceptance_share", "draft_step_share")
        tokens, acceptance, share = (float(assumed(f"switch_{name}")["value"]) for name in names)
        draft = Speculative(draft_tokens=int(tokens), acceptance=acceptance, draft_step_share=share)
        yield SPECULATIVE, 0, tokens, scenario.model_copy(update={"speculative": draft})
    if (run.winners()["spare_units"] > 0).any():
        yield SPARES, None, 0, _without_spares(scenario)
    safety = assumed("safety_factor")
    if float(safety["value"]) < float(safety["high"]):
        own = {**scenario.assumptions, "safety_factor": float(safety["high"])}
        policies = scenario.policies.model_copy(update={"headroom_share": None})
        yield (
            HEADROOM, 1 - float(safety["value"]), 1 - float(safety["high"]),
            scenario.model_copy(update={"assumptions": own, "policies": policies}),
        )  # fmt: skip


def _without_spares(scenario: Scenario) -> Scenario:
    """No loss is survived on purpose, and no availability is promised."""
    services = tuple(
        each.model_copy(update={"targets": each.targets and each.targets.model_copy(update={"availability": None})})
        for each in scenario.services
    )
    targets = scenario.targets and scenario.targets.model_copy(update={"availability": None})
    policies = scenario.policies.model_copy(update={"spare": "none", "surge_share": 0.0})
    return scenario.model_copy(update={"services": services, "targets": targets, "policies": policies})


def _formats(
    run: Run, services: Sequence[Service], unchanged: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The next narrower weight formats of the catalog, on the winner's card and link."""
    winners = {str(row["service"]): row for row in run.winners()[list(ASKED_FOR)].to_dict("records")}
    stacked, asked, wanted = [], [], []
    for service in services:
        winner = winners[service.name]
        for name in next_formats(str(winner["quantization"]), run.catalog):
            key = f"{service.name}+{name}"
            stacked.append(replace(service, name=key, quantization=(name,)))
            asked.append(Asked(service.name, QUANTIZATION, str(winner["quantization"]), name, key))
            wanted.append((key, name, str(winner["gpu"]), str(winner["interconnect"])))
    if not stacked:
        return
    found = cheapest(priced_options(with_services(run.scenario, stacked), run.catalog, wanted))
    best: dict[str, dict[str, Any]] = {}
    for each in asked:
        if each.name in found and each.service in unchanged:
            row = _row(each, unchanged[each.service], found[each.name])
            known = best.get(each.service)
            if known is None or row["amount_after"] < known["amount_after"]:
                best[each.service] = row
    yield from best.values()


def next_formats(quantization: str, catalog: Catalog) -> list[str]:
    """Formats with the next smaller number of bytes per parameter: of fp8 both 4-bit formats."""
    size = {name: entry.facts["nominal_bytes_per_parameter"].value for name, entry in catalog.quantizations.items()}
    smaller = [value for value in size.values() if value < size[quantization]]
    return [name for name, value in size.items() if smaller and value == max(smaller)]


def _other_cards(run: Run) -> Iterator[dict[str, Any]]:
    """Compared options on another card that need fewer cards, the cheapest of each card."""
    options = run.options[run.options["rank"].notna()]
    for winner in run.winners()[list(ASKED_FOR)].to_dict("records"):
        same = options["service"].astype(str) == str(winner["service"])
        others = options[same & (options["gpu"].astype(str) != str(winner["gpu"]))]
        fewer = others[others["sized_cards"] < winner["sized_cards"]].sort_values("monthly_cost_amount", kind="stable")
        asked = Asked(str(winner["service"]), CARD, str(winner["gpu"]), None, "")
        for row in fewer.drop_duplicates("gpu").head(MOST_CARDS)[list(ASKED_FOR)].to_dict("records"):
            yield {**_row(asked, winner, row), "to": str(row["gpu"])}


def _row(asked: Asked, before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "service": asked.service, "change": asked.change,
        "from": before["spare_units"] if asked.change == SPARES else asked.before, "to": asked.after,
        "option_id": ".".join([asked.service, *(str(after[name]) for name in ("quantization", "gpu", "interconnect"))]),
        "cards_before": before["sized_cards"], "cards_after": after["sized_cards"],
        "servers_before": before["servers_needed"], "servers_after": after["servers_needed"],
        "servers_saved": before["servers_needed"] - after["servers_needed"],
        "amount_before": before["monthly_cost_amount"], "amount_after": after["monthly_cost_amount"],
        "amount_per_month_saved": before["monthly_cost_amount"] - after["monthly_cost_amount"],
    }  # fmt: skip
