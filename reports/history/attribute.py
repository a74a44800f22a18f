"""Why a run costs more or less than an earlier one: causes for each service, in whole cents, that add up exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from reports.errors import InputError, Problem
from reports.history.held import Limits, reckon
from reports.history.past import Choice, Past
from reports.history.steps import (
    DEMAND,
    EXCHANGE,
    LABELS,
    METHOD,
    MIX,
    NEW,
    PRICE,
    REPLACED,
    REST,
    RETIRED,
    between,
)

CAUSES = ("service", "cause", "amount", "cards", "impossible")
SERVICES = (
    "service", "change", "option_before", "option_after", "gpu_before", "gpu_after", "way_before", "way_after",
    "cards_before", "cards_after", "amount_before", "amount_after", "capex_before", "capex_after",
)  # fmt: skip

SAME, OTHER = "same", "other"
"""Changes of a decision besides ``new`` and ``retired``."""


@dataclass(frozen=True)
class Difference:
    """Two runs of one scenario side by side."""

    before: Past
    after: Past
    causes: pd.DataFrame
    """Long, ``CAUSES``: one row a service and cause that moves something; amounts a month, in whole cents;
    ``impossible``: the earlier choice, where the cause rules it out."""
    services: pd.DataFrame
    """One row a service of either run, ``SERVICES``; money in whole cents."""
    exact: bool
    """Whether the earlier inputs were evaluated again; else causes are as far as the stored results tell."""

    @property
    def amounts(self) -> tuple[float, float]:
        """Money a month, before and after."""
        return float(self.services["amount_before"].sum()), float(self.services["amount_after"].sum())

    def totals(self) -> pd.DataFrame:
        """Amount and cards of every cause over all services, in the order of a waterfall."""
        summed = self.causes.groupby("cause", sort=False)[["amount", "cards"]].sum()
        ordered = summed.reindex([name for name in LABELS if name in summed.index])
        return ordered.round({"amount": 2}).reset_index()


def difference(before: Past, after: Past, say: Callable[[str], None] = lambda step: None) -> Difference:
    """Compare two runs. InputError when they are not of one scenario and currency."""
    problems = []
    if before.scenario != after.scenario:
        problems.append(Problem(before.place or before.scenario, "is a run of another scenario",
                                read=f'"{before.scenario}"', expected=f'"{after.scenario}"',
                                hint="compare two months of one scenario"))  # fmt: skip
    if before.currency != after.currency:
        problems.append(Problem(before.place or before.scenario, "counts in another currency", read=before.currency,
                                expected=after.currency,
                                hint=f"build one of them again with --set currency={after.currency}"))  # fmt: skip
    if problems:
        raise InputError(problems)
    both = [name for name in after.choices if name in before.choices]
    exact = before.inputs is not None and after.inputs is not None
    rows = [_row(name, RETIRED, -_cents(choice), -choice.cards)
            for name, choice in before.choices.items() if name not in after.choices]  # fmt: skip
    if exact and both:
        rows += _evaluated(before, after, both, say)
    elif both:
        for name in both:
            rows += _stored(before.choices[name], after.choices[name])
    rows += [_row(name, NEW, _cents(choice), choice.cards)
             for name, choice in after.choices.items() if name not in before.choices]  # fmt: skip
    causes = pd.DataFrame(rows, columns=list(CAUSES))
    causes = causes[(causes["amount"] != 0) | (causes["cards"] != 0) | (causes["impossible"] != "")]
    causes = causes.assign(amount=causes["amount"] / 100).reset_index(drop=True)
    return Difference(before, after, causes, _services(before, after), exact)


def _cents(choice: Choice) -> int:
    return round(choice.amount * 100)


def _row(service: str, cause: str, cents: int, cards: float, impossible: str = "") -> dict[str, object]:
    return {"service": service, "cause": cause, "amount": cents, "cards": cards, "impossible": impossible}


def _evaluated(before: Past, after: Past, names: list[str], say: Callable[[str], None]) -> list[dict[str, object]]:
    """Causes by evaluating the earlier choice under one class of later inputs after the other."""
    assert before.inputs is not None
    assert after.inputs is not None
    held = {name: before.choices[name] for name in names}
    stored = dict(held)
    limits: Limits | None = None
    rows: list[dict[str, object]] = []
    common = tuple(name for name in names if _asked(name, before) and _asked(name, after))
    current = {name: held[name] for name in common}
    for step in between(before.inputs, after.inputs, common) if common else ():
        if not step.changed:
            continue
        say(f"difference: {step.cause}")
        found = reckon(step.scenario, step.catalog, current, limits if step.cause in (PRICE, EXCHANGE) else None)
        limits = found.limits
        for name in list(current):
            then = found.choices.get(name)
            if then is None:  # nothing can serve it under these inputs: what follows is part of another choice
                del current[name]
                continue
            left = "" if then.same_as(current[name]) else current[name].candidate_id
            rows.append(_moved(name, step.cause, current[name], then, left))
            held[name] = current[name] = then
    again = _again(after, held, limits, say)
    for name in names:
        then = after.choices[name]
        repeated = again.get(name, then)
        rows += [_moved(name, MIX, held[name], repeated), _moved(name, METHOD, repeated, then)]
    return _merged(rows, stored, after.choices)


def _asked(name: str, past: Past) -> bool:
    assert past.inputs is not None
    return any(each.name == name for each in past.inputs[0].service_axis)


def _again(
    after: Past, held: Mapping[str, Choice], limits: Limits | None, say: Callable[[str], None]
) -> Mapping[str, Choice]:
    """The later choices by the present program: itself where it just made them, else evaluated again."""
    assert after.inputs is not None
    same = {name: choice for name, choice in held.items() if choice.same_as(after.choices[name])}
    if not after.place:
        return same
    say("difference: again")
    other = {name: after.choices[name] for name in held if name not in same}
    if not other:
        return same
    steps = between(after.inputs, after.inputs, tuple(other))
    return {**same, **reckon(steps[-1].scenario, steps[-1].catalog, other).choices}


def _moved(name: str, cause: str, one: Choice, other: Choice, impossible: str = "") -> dict[str, object]:
    return _row(name, cause, _cents(other) - _cents(one), other.cards - one.cards, impossible)


def _merged(
    rows: list[dict[str, object]], before: Mapping[str, Choice], after: Mapping[str, Choice]
) -> list[dict[str, object]]:
    """One row a service and cause, and the proof that they add up."""
    frame = pd.DataFrame(rows, columns=list(CAUSES))
    merged = frame.groupby(["service", "cause"], sort=False, as_index=False).agg(
        amount=("amount", "sum"), cards=("cards", "sum"), impossible=("impossible", "max")
    )
    for name, part in merged.groupby("service", sort=False):
        wanted = _cents(after[str(name)]) - _cents(before[str(name)])
        if int(part["amount"].sum()) != wanted:
            raise ArithmeticError(f"the causes of {name} add up to {part['amount'].sum()} cents instead of {wanted}")
    order = {cause: index for index, cause in enumerate((*REPLACED, MIX))}
    kept = merged.assign(_order=merged["cause"].map(order)).sort_values(["service", "_order"], kind="stable")
    return kept[list(CAUSES)].to_dict("records")


def _stored(before: Choice, after: Choice) -> list[dict[str, object]]:
    """As far as the stored results tell: a change of choice, or more cards at the earlier cost of a card."""
    if not before.same_as(after):
        return [_moved(before.service, MIX, before, after)]
    whole = _cents(after) - _cents(before)
    demand = round((after.cards - before.cards) * before.amount / before.cards * 100) if before.cards else 0
    return [
        _row(before.service, DEMAND, demand, after.cards - before.cards),
        _row(before.service, REST, whole - demand, 0.0),
    ]


def _services(before: Past, after: Past) -> pd.DataFrame:
    rows = []
    for name in dict.fromkeys((*after.choices, *before.choices)):
        one, other = before.choices.get(name), after.choices.get(name)
        row: dict[str, object] = {"service": name, "change": _change(one, other)}
        for when, choice in (("before", one), ("after", other)):
            row |= {
                f"option_{when}": choice.candidate_id if choice else "", f"gpu_{when}": choice.gpu if choice else "",
                f"way_{when}": choice.way if choice else "", f"cards_{when}": choice.cards if choice else 0.0,
                f"amount_{when}": _cents(choice) / 100 if choice else 0.0,
                f"capex_{when}": choice.capex if choice else 0.0,
            }  # fmt: skip
        rows.append(row)
    return pd.DataFrame(rows, columns=list(SERVICES))


def _change(before: Choice | None, after: Choice | None) -> str:
    if before is None or after is None:
        return NEW if before is None else RETIRED
    return SAME if before.same_as(after) else OTHER
