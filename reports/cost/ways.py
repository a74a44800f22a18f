"""Every way to get the cards of the short list, side by side for the same demand, and a hosted API instead of cards.

The two ways that decide the ranking (rent always on, buy at once) stand in the option's own columns; this stage sets
the others beside them: rent that follows the load, rent for business hours, a reserved base, spot, hybrid, loan,
lease, API, and the present fleet kept as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from reports.catalog.select import assumption
from reports.cost import api_price, eligibility, hourly, ledger, offers
from reports.cost.crossover import OwnCurve, first_token_where_own_wins
from reports.cost.quotes import ages
from reports.fleet.plan import PRESENT_ONLY
from reports.loads import stated_or_mid
from reports.run import Run

COLUMNS = (
    "service", "option_id", "way", "owned_servers", "reserved_instances", "card_hours_per_month", "capex_amount",
    "present_cost_amount", "npv_amount", "equivalent_amount_per_month", "source", "best",
    "own_wins_from_mtok", "served_share",
)  # fmt: skip
"""``served_share``: of the load; a way that serves less than all of it is never the best. ``option_id`` is blank where
the cards are not those of an option: a hosted API, the present fleet."""

ALWAYS, FOLLOW, BUSINESS, BASE, SPOT, BUY, LOAN, LEASE, HYBRID, API, KEEP = (
    "rent", "rent-following-load", "rent-business-hours", "rent-reserved-base", "rent-spot", "buy", "buy-on-loan",
    "lease", "hybrid", "api", "keep-present-fleet",
)  # fmt: skip
LABELS: dict[str, str] = {
    ALWAYS: "Rent, always on",
    FOLLOW: "Rent, following the load",
    BUSINESS: "Rent, business hours",
    BASE: "Rent, reserved base and peak by the hour",
    SPOT: "Rent, spot",
    BUY: "Buy",
    LOAN: "Buy on a loan",
    LEASE: "Lease",
    HYBRID: "Hybrid: own the base, rent the peak",
    API: "Hosted API",
    KEEP: "Keep the present fleet, nothing else",
}

SPOT_RESERVE, BLOCK_HOURS = "spot_reserve_share", "scale_block_hours"
"""Assumptions: card-hours kept for interruptions, and for how many hours cards are added or removed at least."""
BUSINESS_HOURS = "business_week_hours"
"""Assumption: hours of a week for which cards are rented where nobody needs them outside business hours."""

Parts = Iterable[ledger.Part]


def ways(run: Run) -> Run:
    """The run with ``ways`` (every way of each short-listed option) and ``hybrid`` (cost over the servers owned).

    ``cost_lines`` gains what the books show of renting and of buying, every other way of the winners, and the cheapest
    way of each service where it is another one.
    """
    shortlist = run.shortlist.reset_index(drop=True)
    if shortlist.empty:
        return run
    by_hour, booked, spot = (_offers(run, shortlist, terms) for terms in (_on_demand, _reserved, _spot))
    found: list[dict[str, object]] = []
    curves = []
    plans: list[ledger.Plan] = []
    others: dict[tuple[str, str], Callable[[], Parts]] = {}
    reserve = assumption(run.catalog, SPOT_RESERVE, run.scenario.region).mid
    block = int(assumption(run.catalog, BLOCK_HOURS, run.scenario.region).mid)
    open_hours = int(stated_or_mid(BUSINESS_HOURS, run.scenario, run.catalog))
    by_month = {option: months.sort_values("month") for option, months in run.timelines.groupby("option_id")}
    for index, row in enumerate(shortlist.to_dict("records")):
        option, shares = str(row["option_id"]), _shares(run, str(row["workload_key"]))
        load = hourly.blocks(shares, block)
        found += _of_columns(row)
        months = by_month[option]
        plans += _plans_of_columns(row, months)
        others |= {(option, way): partial(lines, row, months) for way, lines in FINANCED.items()}
        window = hourly.business_hours(shares, open_hours)
        tables = {
            FOLLOW: hourly.table(row, load, by_hour[index], None, may_buy=False),
            BUSINESS: hourly.opened(row, window, by_hour[index]),
            BASE: hourly.table(row, load, by_hour[index], booked[index], may_buy=False),
            SPOT: hourly.table(row, load, spot[index], None, may_buy=False),
            HYBRID: hourly.table(row, load, by_hour[index], booked[index]),
        }
        for way, curve in tables.items():
            best = curve[curve["best"]].to_dict("records") if len(curve) else []
            if (way == BASE and not booked[index]) or (way == HYBRID and not row["server_price"] > 0):
                continue
            source = {SPOT: spot[index], FOLLOW: by_hour[index]}.get(way) or by_hour[index] or booked[index]
            served = float(shares[window].sum() / shares.sum()) if way == BUSINESS else 1.0
            found += [_line(row, way, each, source.offer_id if source else "", served) for each in best]
            rented = spot[index] if way == SPOT else by_hour[index]
            base = booked[index] if way in (BASE, HYBRID) else None
            share = reserve if way == SPOT else 0.0
            for each in best:
                others[option, way] = partial(ledger.by_the_hour, row, months, each, rented, base, share)
        curves.append(tables[HYBRID])
    for beside, plan in (*_hosted(run, by_month), *_kept(run, by_month)):
        found.append(beside)
        plans.append(plan)
    frame = _with_best(pd.DataFrame(found, columns=list(COLUMNS)))
    plans += _plans_beside(frame, shortlist, others)
    written = pd.concat([run.cost_lines, ledger.frame(plans, run.scenario)], ignore_index=True)
    return replace(run, ways=frame, hybrid=pd.concat(curves, ignore_index=True), cost_lines=written)


FINANCED: dict[str, Callable[[dict[str, object], pd.DataFrame], Parts]] = {LOAN: ledger.loan, LEASE: ledger.lease}


def _with_best(frame: pd.DataFrame) -> pd.DataFrame:
    """The cheapest way of each service marked, over its whole short list; it serves the whole load."""
    cost = frame["equivalent_amount_per_month"].where(frame["served_share"] >= 1, np.inf)
    least = cost.groupby(frame["service"], sort=False).transform("min")
    return frame.assign(best=(cost == least) & np.isfinite(cost))


def _plans_of_columns(row: dict[str, object], months: pd.DataFrame) -> Iterator[ledger.Plan]:
    """The books of renting and of buying."""
    candidate = str(row["candidate_id"])
    if np.isfinite(float(row["rent_present_cost_amount"])):  # type: ignore[arg-type]
        yield ledger.Plan(candidate, ALWAYS, tuple(ledger.rent_in_the_books(row, months)))
    if np.isfinite(float(row["buy_present_cost_amount"])):  # type: ignore[arg-type]
        yield ledger.Plan(candidate, BUY, tuple(ledger.buy_in_the_books(row, months)))


def _plans_beside(
    frame: pd.DataFrame, shortlist: pd.DataFrame, others: dict[tuple[str, str], Callable[[], Parts]]
) -> Iterator[ledger.Plan]:
    """Every other way of the winners, and the cheapest way of a service whichever option it is of."""
    known = shortlist.set_index("option_id")
    for way in frame.to_dict("records"):
        key = str(way["option_id"]), str(way["way"])
        if key in others and (way["best"] or known.loc[key[0], "winner"]):
            yield ledger.Plan(str(known.loc[key[0], "candidate_id"]), key[1], tuple(others[key]()))


def _shares(run: Run, key: str) -> np.ndarray:
    """Hours of a week as shares of the peak; a flat week where the scenario states no profile."""
    rows = run.load[run.load["workload_key"] == key] if len(run.load) else run.load
    return np.ones(168) if rows.empty else rows.sort_values("hour")["share_of_peak"].to_numpy(dtype=float)


def _on_demand(terms: pd.Series) -> pd.Series:
    return terms == "on-demand"


def _reserved(terms: pd.Series) -> pd.Series:
    return terms.astype(str).str.startswith("reserved-")


def _spot(terms: pd.Series) -> pd.Series:
    return terms == "spot"


def _offers(run: Run, shortlist: pd.DataFrame, terms: object) -> list[hourly.Offer | None]:
    """The cheapest eligible offer of some terms for each row, as the price book has them; spot carries its reserve."""
    scenario = run.scenario
    rental = run.catalog.rental.assign(age_days=ages(run.catalog.rental["as_of"], scenario))
    steps = tuple(step for step in eligibility.rules(rental, scenario, run.catalog).steps if step[0] != "offers-term")
    kept = rental[eligibility.Rules(steps).eligible() & terms(rental["term"])]  # type: ignore[operator]
    wanted = pd.DataFrame(
        {
            "gpu": shortlist["gpu"].astype(str).astype(object),
            "stage_cards": shortlist["stage_cards"].to_numpy(dtype=float),
            "sized_cards": shortlist["sized_cards"].to_numpy(dtype=float),
        }
    )
    best = offers.cheapest(wanted, kept, scenario, run.catalog)
    reserve = 1 + assumption(run.catalog, SPOT_RESERVE, scenario.region).mid if terms is _spot else 1.0
    known = {
        (row["gpu"], row["stage_cards"], row["sized_cards"]): hourly.Offer(
            float(row["price"]) * reserve, float(row["instance_cards"]), float(row["term_months"]), row["offer_id"]
        )
        for row in best.to_dict("records")
    }
    return [known.get((row["gpu"], row["stage_cards"], row["sized_cards"])) for row in wanted.to_dict("records")]


def _of_columns(row: dict[str, object]) -> Iterable[dict[str, object]]:
    """The ways whose cost is a column of the option or a result of its timeline."""
    annuity = float(row["annuity_factor"])  # type: ignore[arg-type]
    for way, column, capex, source in (
        (ALWAYS, "rent_npv_amount", 0.0, "offer_id"),
        (BUY, "buy_npv_amount", row["capex_amount"], "purchase_id"),
        (LOAN, "finance_npv_amount", row["loan_down_amount"], "purchase_id"),
        (LEASE, "lease_npv_amount", 0.0, "purchase_id"),
    ):
        value = float(row[column])  # type: ignore[arg-type]
        if np.isfinite(value):
            owned = way != ALWAYS
            yield {
                "service": row["service"], "option_id": row["option_id"], "way": way,
                "owned_servers": row["servers_needed"] if owned else 0.0, "reserved_instances": 0.0,
                "card_hours_per_month": 0.0 if owned else float(row["rented_cards"]) * hourly.HOURS_PER_MONTH,  # type: ignore[arg-type]
                "capex_amount": capex, "present_cost_amount": -value, "npv_amount": value,
                "equivalent_amount_per_month": -value / annuity, "source": row[source], "best": False,
                "served_share": 1.0,
            }  # fmt: skip


def _line(row: dict[str, object], way: str, best: dict[str, object], source: str, served: float) -> dict[str, object]:
    cost = float(best["present_cost_amount"])  # type: ignore[arg-type]
    return {
        "service": row["service"], "option_id": row["option_id"], "way": way,
        "owned_servers": best["owned_servers"], "reserved_instances": best["reserved_instances"],
        "card_hours_per_month": best["card_hours_per_month"],
        "capex_amount": best["capex_amount"],
        "present_cost_amount": cost, "npv_amount": -cost,
        "equivalent_amount_per_month": best["equivalent_amount_per_month"], "source": source, "best": False,
        "served_share": served,
    }  # fmt: skip


def _hosted(run: Run, by_month: dict[object, pd.DataFrame]) -> Iterator[tuple[dict[str, object], ledger.Plan]]:
    """The traffic of each service at the middle price of a hosted API, and its lines."""
    for row in run.winners().to_dict("records"):
        lengths = float(row["input_mean_tokens"]), float(row["output_mean_tokens"])
        price = api_price.middle(str(row["model"]), lengths[0] / sum(lengths), run.scenario, run.catalog)
        if price is None:
            continue
        month = api_price.amount_per_month(price, row)
        cost = month["total"] * float(row["annuity_factor"])
        source = f"{price['provider']}/{price['provider_model']}"
        parts = ledger.hosted(by_month[row["option_id"]], month, float(row["output_mtok_per_month"]), source)
        yield {
            "service": row["service"], "option_id": "", "way": API, "owned_servers": 0.0, "reserved_instances": 0.0,
            "card_hours_per_month": 0.0, "capex_amount": 0.0, "present_cost_amount": cost, "npv_amount": -cost,
            "equivalent_amount_per_month": month["total"], "source": source, "best": False, "served_share": 1.0,
            "own_wins_from_mtok": own_wins_from_mtok(row, price),
        }, ledger.Plan(str(row["candidate_id"]), API, tuple(parts))  # fmt: skip


def _kept(run: Run, by_month: dict[object, pd.DataFrame]) -> Iterator[tuple[dict[str, object], ledger.Plan]]:
    """The present fleet alone: what it serves of each service today, and the running cost of the cards it takes.

    What owned cards cost when they were bought is spent and no part of it; leases and reservations are paid to the end
    either way. Nothing where it serves nothing.
    """
    alone = run.fleet_services[run.fleet_services["plan"] == PRESENT_ONLY]
    for row in run.winners().to_dict("records"):
        own = alone[(alone["service"] == row["service"]) & (alone["served_share"] > 0)]
        for served in own.to_dict("records"):
            amount, cards = float(served["amount"]), float(served["cards"])
            months = by_month[row["option_id"]]
            cost = amount * float(row["annuity_factor"])
            used = run.fleet[(run.fleet["plan"] == PRESENT_ONLY) & (run.fleet["service"] == row["service"])]
            part = ledger.every_month("present-fleet", months, cards, "card-month", amount, "scenario:fleet")
            yield {
                "service": row["service"], "option_id": "", "way": KEEP, "owned_servers": 0.0,
                "reserved_instances": 0.0, "card_hours_per_month": cards * hourly.HOURS_PER_MONTH,
                "capex_amount": 0.0, "present_cost_amount": cost, "npv_amount": -cost,
                "equivalent_amount_per_month": amount, "source": " ".join(dict.fromkeys(used["gpu"].astype(str))),
                "best": False, "served_share": float(served["served_share"]),
            }, ledger.Plan(str(row["candidate_id"]), KEEP, (part,))  # fmt: skip


def own_wins_from_mtok(row: dict[str, object], price: dict[str, object]) -> float | None:
    """Millions of billed tokens a month from which the option's units cost no more than the hosted API; None: never.

    One deployment is one unit with what it costs a month the way it is got; it serves its share of the month's tokens.
    """
    number = {name: float(value) for name, value in row.items() if isinstance(value, int | float | np.number)}
    month = api_price.amount_per_month(price, row)
    tokens = (month["mtok"] + number["output_mtok_per_month"]) * 1e6
    if not tokens > 0 or not number["units_needed"] > 0:
        return None
    curve = OwnCurve(
        fixed=0.0,
        per_deployment=number["monthly_cost_amount"] / number["units_needed"],
        capacity_tokens=tokens / number["demand_concurrency"] * number["recommended_concurrency"],
    )
    first = first_token_where_own_wins(curve, month["total"] / tokens * 1e6)
    return None if first is None else first / 1e6
