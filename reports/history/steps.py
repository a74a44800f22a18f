"""The classes of causes, and the inputs between two runs: one class after the other is taken from the later run.

The order is method, facts, settings, demand, prices, exchange: each class is valued with everything before it as in the
later run, and everything after it as in the earlier. So demand is valued at the earlier prices, prices at the later
demand and the earlier exchange rates, and exchange rates at the later prices. What choosing anew saves is valued last,
when all inputs are those of the later run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from reports.catalog.records import Catalog
from reports.scenario.schema import Scenario
from reports.scenario.services import Service, ServiceEntry


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


METHOD, FACTS, SETTINGS, DEMAND, PRICE, EXCHANGE = "method", "facts", "settings", "demand", "price", "exchange"
MIX, NEW, RETIRED, REST = "mix", "new", "retired", "rest"

REPLACED = (METHOD, FACTS, SETTINGS, DEMAND, PRICE, EXCHANGE)
"""Classes whose inputs are replaced, in this order."""

LABELS: dict[str, str] = {
    RETIRED: N_("Services that ended"),
    METHOD: N_("Method and program"),
    FACTS: N_("Catalog facts"),
    SETTINGS: N_("Targets and settings"),
    DEMAND: N_("Demand"),
    PRICE: N_("Prices"),
    EXCHANGE: N_("Exchange rates"),
    REST: N_("Everything else, not told apart"),
    MIX: N_("Another choice"),
    NEW: N_("New services"),
}
"""Every class, in the order in which a waterfall shows them."""

MEANINGS: dict[str, str] = {
    RETIRED: N_("what services cost that only the earlier run has"),
    METHOD: N_("the inputs of the earlier run, reckoned by the present program and method"),
    FACTS: N_("cards, models, servers, links, engines, coefficients, assumptions without a currency"),
    SETTINGS: N_("targets, reserves, horizon, price rules, engine settings, own assumptions without a currency"),
    DEMAND: N_("requests, their lengths and their hours, at the earlier prices"),
    PRICE: N_("rents, purchase prices and assumptions in money as of the later day, at the earlier exchange rates"),
    EXCHANGE: N_("the exchange rates of the later day"),
    REST: N_("prices, exchange rates, facts, settings and method together: the earlier inputs are not at hand"),
    MIX: N_("choosing anew among cards, layouts and ways, with all inputs as in the later run"),
    NEW: N_("what services cost that only the later run has"),
}

ALWAYS = "2000-01-01"
"""Date of an exchange rate that holds on any day."""

METHOD_FIELDS = ("method", "rule_of_thumb", "four_bottleneck")
DAY_FIELDS = ("period", "as_of")
UNRELATED = ("name", "text", "changes", "files", "title", "languages", "reports", "client", "version", "validity",
             "classification", "theme", "look", "templates", "own_templates", "services", "own_workloads",
             "workload", "targets", "currency", "matrix")  # fmt: skip
"""Fields of a scenario that move no amount, or that ``of_services`` writes anew."""


@dataclass(frozen=True)
class Step:
    """The inputs after a class was replaced."""

    cause: str
    scenario: Scenario
    catalog: Catalog
    changed: bool
    """Whether anything differs from the step before."""


def of_services(scenario: Scenario, services: tuple[Service, ...]) -> Scenario:
    """The same question for these services alone, each with its whole workload and targets."""
    entries = tuple(
        ServiceEntry.model_construct(
            name=each.name, model=each.model, tier=each.tier, demand=None, workload=each.workload,
            targets=each.targets, quantization=each.quantization, sharing=each.sharing,
            min_replicas=each.min_replicas,
        )
        for each in services
    )  # fmt: skip
    models = tuple(dict.fromkeys(each.model for each in services))
    formats = tuple(dict.fromkeys(name for each in services for name in each.quantization))
    by_model = {each.model: each.quantization for each in services}
    matrix = scenario.matrix.model_copy(
        update={"model": models, "quantization": formats, "quantization_by_model": by_model}
    )
    return scenario.model_copy(
        update={"services": entries, "own_workloads": frozenset(each.name for each in services), "matrix": matrix}
    )


def between(before: tuple[Scenario, Catalog], after: tuple[Scenario, Catalog], names: tuple[str, ...]) -> list[Step]:
    """The inputs after each class of ``REPLACED``, for services that both runs have."""
    (old, old_catalog), (new, new_catalog) = before, after
    olds = {each.name: each for each in old.service_axis}
    news = {each.name: each for each in new.service_axis}
    kept = [olds[name] for name in names]
    asked = [replace(news[name], workload=olds[name].workload) for name in names]
    settings = {name: getattr(new, name) for name in type(new).model_fields
                if name not in (*UNRELATED, *METHOD_FIELDS, *DAY_FIELDS)}  # fmt: skip
    settings["assumptions"] = _own(old, new, new_catalog)
    demanded = [news[name] for name in names]
    latest = _rates(new, new_catalog)
    rates = _with_new_pairs(_rates(old, old_catalog), latest)
    scenario, catalog = of_services(old, tuple(kept)), replace(old_catalog, exchange=rates)
    steps: list[Step] = []

    def step(cause: str, later: Scenario, book: Catalog) -> tuple[Scenario, Catalog]:
        known = steps[-1] if steps else None
        differs = known is None or not (_same(known.scenario, later) and _same_catalog(known.catalog, book))
        steps.append(Step(cause, later, book, differs))
        return later, book

    scenario, catalog = step(
        METHOD, scenario.model_copy(update={name: getattr(new, name) for name in METHOD_FIELDS}), catalog
    )
    scenario, catalog = step(FACTS, scenario, _with_facts(catalog, new_catalog))
    scenario, catalog = step(SETTINGS, of_services(scenario.model_copy(update=settings), tuple(asked)), catalog)
    scenario, catalog = step(DEMAND, of_services(scenario, tuple(demanded)), catalog)
    dated = {name: getattr(new, name) for name in DAY_FIELDS} | {"assumptions": new.assumptions}
    scenario, catalog = step(PRICE, scenario.model_copy(update=dated), replace(new_catalog, exchange=rates))
    step(EXCHANGE, scenario, replace(new_catalog, exchange=latest))
    return steps


def _own(old: Scenario, new: Scenario, catalog: Catalog) -> dict[str, float]:
    """Own assumptions of the later scenario, those in money as the earlier one has them."""
    priced = {row.name for row in catalog.assumptions.values() if row.currency}
    kept = {name: value for name, value in old.assumptions.items() if name in priced}
    return kept | {name: value for name, value in new.assumptions.items() if name not in priced}


def _with_facts(old: Catalog, new: Catalog) -> Catalog:
    """The later catalog with the earlier prices, exchange rates and assumptions in money."""
    money = {key: row for key, row in old.assumptions.items() if row.currency}
    facts = {key: row for key, row in new.assumptions.items() if not row.currency}
    gone = {key: row for key, row in new.assumptions.items() if row.currency and key not in money}
    return replace(new, rental=old.rental, purchase=old.purchase, api=old.api, exchange=old.exchange,
                   assumptions=facts | gone | money)  # fmt: skip


def _rates(scenario: Scenario, catalog: Catalog) -> pd.DataFrame:
    """The exchange rates as known on the day of a scenario, one a pair, so that they hold on any other day too."""
    known = catalog.exchange[catalog.exchange["as_of"].astype(str).str[:10] <= scenario.as_of.isoformat()]
    pair = ["/".join(sorted(each)) for each in zip(known["base"].astype(str), known["quote"].astype(str), strict=True)]
    newest = known.assign(pair=pair).sort_values("as_of", kind="stable").drop_duplicates("pair", keep="last")
    return newest.drop(columns="pair").assign(as_of=ALWAYS).reset_index(drop=True)


def _with_new_pairs(earlier: pd.DataFrame, later: pd.DataFrame) -> pd.DataFrame:
    """The earlier rates, and the later ones of pairs that nobody knew earlier: later prices may be quoted in them."""
    known = {frozenset(pair) for pair in zip(earlier["base"], earlier["quote"], strict=True)}
    new = [frozenset(pair) not in known for pair in zip(later["base"], later["quote"], strict=True)]
    return pd.concat([earlier, later[new]], ignore_index=True) if any(new) else earlier


def _same(one: Scenario, other: Scenario) -> bool:
    names = [name for name in type(one).model_fields if name not in UNRELATED]
    if any(getattr(one, name) != getattr(other, name) for name in names):
        return False
    return one.service_axis == other.service_axis


def _same_catalog(one: Catalog, other: Catalog) -> bool:
    tables = ("rental", "purchase", "api", "exchange")
    if not all(getattr(one, name).equals(getattr(other, name)) for name in tables):
        return False
    names = ("gpus", "models", "quantizations", "engines", "hosts", "links", "assumptions", "calibrated", "profiles")
    return all(getattr(one, name) == getattr(other, name) for name in names)
