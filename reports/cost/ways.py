"""Every way to get the cards of the short list, side by side for the same demand, and a hosted API instead of cards.

The two ways that decide the ranking (rent always on, buy at once) stand in the option's own columns; this stage sets
the others beside them: rent that follows the load, a reserved base, spot, hybrid, loan, lease, API.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from reports.catalog.select import assumption
from reports.cost import api_price, eligibility, hourly, ledger, offers
from reports.cost.crossover import OwnCurve, first_token_where_own_wins
from reports.cost.quotes import ages
from reports.run import Run

COLUMNS = (
    "service", "option_id", "way", "owned_servers", "reserved_instances", "card_hours_per_month", "capex_amount",
    "present_cost_amount", "npv_amount", "equivalent_amount_per_month", "source", "best",
    "own_wins_from_mtok",
)  # fmt: skip

ALWAYS, FOLLOW, BASE, SPOT, BUY, LOAN, LEASE, HYBRID, API = (
    "rent", "rent-following-load", "rent-reserved-base", "rent-spot", "buy", "buy-on-loan", "lease", "hybrid", "api",
)  # fmt: skip
LABELS: dict[str, str] = {
    ALWAYS: "Rent, always on",
    FOLLOW: "Rent, following the load",
    BASE: "Rent, reserved base and peak by the hour",
    SPOT: "Rent, spot",
    BUY: "Buy",
    LOAN: "Buy on a loan",
    LEASE: "Lease",
    HYBRID: "Hybrid: own the base, rent the peak",
    API: "Hosted API",
}

SPOT_RESERVE, BLOCK_HOURS = "spot_reserve_share", "scale_block_hours"
"""Assumptions: card-hours kept for interruptions, and for how many hours cards are added or removed at least."""


def ways(run: Run) -> Run:
    """The run with ``ways`` (every way of each short-listed option) and ``hybrid`` (cost over the servers owned).

    ``cost_lines`` gains what the books show of renting and of buying, and every other way of the winners.
    """
    shortlist = run.shortlist.reset_index(drop=True)
    if shortlist.empty:
        return run
    by_hour, booked, spot = (_offers(run, shortlist, terms) for terms in (_on_demand, _reserved, _spot))
    found: list[dict[str, object]] = []
    curves = []
    plans: list[ledger.Plan] = []
    reserve = assumption(run.catalog, SPOT_RESERVE, run.scenario.region).mid
    by_month = {option: months.sort_values("month") for option, months in run.timelines.groupby("option_id")}
    for index, row in enumerate(shortlist.to_dict("records")):
        load = _load(run, str(row["workload_key"]))
        found += _of_columns(row)
        months = by_month[str(row["option_id"])]
        plans += _plans_of_columns(row, months)
        tables = {
            FOLLOW: hourly.table(row, load, by_hour[index], None, may_buy=False),
            BASE: hourly.table(row, load, by_hour[index], booked[index], may_buy=False),
            SPOT: hourly.table(row, load, spot[index], None, may_buy=False),
            HYBRID: hourly.table(row, load, by_hour[index], booked[index]),
        }
        for way, curve in tables.items():
            best = curve[curve["best"]].to_dict("records") if len(curve) else []
            if (way == BASE and not booked[index]) or (way == HYBRID and not row["server_price"] > 0):
                continue
            source = {SPOT: spot[index], FOLLOW: by_hour[index]}.get(way) or by_hour[index] or booked[index]
            found += [_line(row, way, each, source.offer_id if source else "") for each in best]
            if row["winner"]:
                rented = spot[index] if way == SPOT else by_hour[index]
                base = booked[index] if way in (BASE, HYBRID) else None
                share = reserve if way == SPOT else 0.0
                plans += [
                    ledger.Plan(
                        str(row["candidate_id"]), way,
                        tuple(ledger.by_the_hour(row, months, each, rented, base, share)),
                    )
                    for each in best
                ]  # fmt: skip
        curves.append(tables[HYBRID])
    for hosted, plan in _hosted(run, by_month):
        found.append(hosted)
        plans.append(plan)
    frame = pd.DataFrame(found, columns=list(COLUMNS))
    least = frame.groupby("service", sort=False)["equivalent_amount_per_month"].transform("min")
    frame["best"] = frame["equivalent_amount_per_month"] == least
    written = pd.concat([run.cost_lines, ledger.frame(plans, run.scenario)], ignore_index=True)
    return replace(run, ways=frame, hybrid=pd.concat(curves, ignore_index=True), cost_lines=written)


def _plans_of_columns(row: dict[str, object], months: pd.DataFrame) -> Iterator[ledger.Plan]:
    """The books of renting and of buying; for a winner its loan and its lease."""
    candidate = str(row["candidate_id"])
    if np.isfinite(float(row["rent_present_cost_amount"])):  # type: ignore[arg-type]
        yield ledger.Plan(candidate, ALWAYS, tuple(ledger.rent_in_the_books(row, months)))
    if np.isfinite(float(row["buy_present_cost_amount"])):  # type: ignore[arg-type]
        yield ledger.Plan(candidate, BUY, tuple(ledger.buy_in_the_books(row, months)))
        if row["winner"]:
            yield ledger.Plan(candidate, LOAN, tuple(ledger.loan(row, months)))
            yield ledger.Plan(candidate, LEASE, tuple(ledger.lease(row, months)))


def _load(run: Run, key: str) -> np.ndarray:
    """Hours of a week as shares of the peak; a flat week where the scenario states no profile."""
    rows = run.load[run.load["workload_key"] == key] if len(run.load) else run.load
    if rows.empty:
        return np.ones(168)
    hours = assumption(run.catalog, BLOCK_HOURS, run.scenario.region).mid
    shares = rows.sort_values("hour")["share_of_peak"].to_numpy(dtype=float)
    return hourly.blocks(shares, int(hours))


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
            }  # fmt: skip


def _line(row: dict[str, object], way: str, best: dict[str, object], source: str) -> dict[str, object]:
    cost = float(best["present_cost_amount"])  # type: ignore[arg-type]
    return {
        "service": row["service"], "option_id": row["option_id"], "way": way,
        "owned_servers": best["owned_servers"], "reserved_instances": best["reserved_instances"],
        "card_hours_per_month": best["card_hours_per_month"],
        "capex_amount": best["capex_amount"],
        "present_cost_amount": cost, "npv_amount": -cost,
        "equivalent_amount_per_month": best["equivalent_amount_per_month"], "source": source, "best": False,
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
            "equivalent_amount_per_month": month["total"], "source": source, "best": False,
            "own_wins_from_mtok": own_wins_from_mtok(row, price),
        }, ledger.Plan(str(row["candidate_id"]), API, tuple(parts))  # fmt: skip


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
