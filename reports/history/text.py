"""The difference between two runs for a terminal and for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.history.attribute import OTHER, SAME, Difference
from reports.history.steps import LABELS, NEW, RETIRED

CHANGES = {SAME: "same choice", OTHER: "another choice", NEW: "new service", RETIRED: "service ended"}


def lines(found: Difference) -> Iterator[str]:
    """What changed, the causes of the whole, then every service."""
    before, after = found.before, found.after
    one, other = found.amounts
    yield f"{after.scenario}: {before.period} ({before.as_of}) against {after.period} ({after.as_of})"
    yield f"a month: {one:,.2f} to {other:,.2f} {after.currency} ({other - one:+,.2f}{_share(one, other)})"
    cards = [float(found.services[f"cards_{when}"].sum()) for when in ("before", "after")]
    yield f"cards: {cards[0]:,.0f} to {cards[1]:,.0f} ({cards[1] - cards[0]:+,.0f})"
    if not found.exact:
        past = before if before.inputs is None else after
        yield f"causes only as far as the stored results tell: {past.reason.format(problem=past.problem)}"
    yield ""
    for row in found.totals().to_dict("records"):
        yield _cause(row)
    if found.causes.empty:
        yield "  nothing changed"
    for row in found.services.to_dict("records"):
        yield ""
        yield f"{row['service']}: {CHANGES[row['change']]}"
        for when, sign in (("before", "-"), ("after", "+")):
            if row[f"option_{when}"]:
                yield (f"  {sign} {row[f'option_{when}']}, {row[f'way_{when}']}, {row[f'cards_{when}']:,.0f} cards, "
                       f"{row[f'amount_{when}']:,.2f} a month")  # fmt: skip
        own = found.causes[found.causes["service"] == row["service"]]
        for each in own.to_dict("records"):
            yield _cause(each)
            if each["impossible"]:
                yield f"      rules out {each['impossible']}"


def _share(before: float, after: float) -> str:
    return f", {after / before - 1:+.1%}" if before else ""


def _cause(row: dict[str, Any]) -> str:
    cards = f"  {row['cards']:+,.0f} cards" if row["cards"] else ""
    return f"  {LABELS[row['cause']]:<32} {row['amount']:>+18,.2f}{cards}"


def record(found: Difference) -> dict[str, Any]:
    """The same as data; amounts a month, in the currency of the runs."""
    before, after = found.before, found.after
    one, other = found.amounts
    past = before if before.inputs is None else after
    return {
        "scenario": after.scenario, "currency": after.currency, "exact": found.exact,
        "reason": past.reason.format(problem=past.problem) if not found.exact else "",
        "before": {"period": before.period, "as_of": before.as_of, "amount": one},
        "after": {"period": after.period, "as_of": after.as_of, "amount": other},
        "decision_changed": bool((found.services["change"] != SAME).any()),
        "totals": found.totals().to_dict("records"),
        "services": [
            {**row, "causes": found.causes.loc[found.causes["service"] == row["service"], ["cause", "amount", "cards",
                                                                                          "impossible"]]
             .to_dict("records")}
            for row in found.services.to_dict("records")
        ],
    }  # fmt: skip
