"""Page one: the decision in a sentence, its four figures, a chart, what was compared, what to know first."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports import bottleneck
from reports.constants import BYTES_PER_16BIT
from reports.cost.totals import totals
from reports.render import growing, view_fleet, view_money, view_nearby, view_pool
from reports.render.sentences import near_miss, term, warnings
from reports.render.wording import Wording, finite

Row = dict[str, Any]


def rows(frame: pd.DataFrame) -> list[Row]:
    """A frame's rows as dictionaries."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def chain_winners(winners: list[Row]) -> list[Row]:
    """The winner whose evidence the document prints in full: the dearest one. The workbook has the others."""
    ranked = sorted(winners, key=lambda row: -(finite(row["monthly_cost_amount"]) or 0.0))
    return ranked[:1]


def summary(words: Wording, winners: list[Row]) -> dict[str, Any]:
    """The decision, its four figures, a chart, what was compared, and what a reader must know first."""
    unpriced, infeasible = unanswered(words, winners)
    single = len(winners) == 1 and not unpriced and not infeasible
    return {
        "headline": view_fleet.headline(words) or headline(words, winners),
        "sentences": [decision(words, row) for row in winners],
        "figures": view_pool.figures(words)
        or (figures_of_one(words, winners[0]) if single else figures_of_all(words, winners)),
        "single": single,
        "chart": view_money.cost_figure(words, winners[0]) if single else view_money.ways_figure(words, winners),
        "changes": view_money.changes(words, winners[0]) if single else [],
        "compared": words.joined(view_pool.alone(words, headline(words, winners)), compared(words)),
        "how_sure": view_nearby.how_sure(words, winners),
        "unanswered": without_answer(words, unpriced, infeasible),
        "warnings": [*method_warnings(words), *warnings(words)],
        "notes": [note for note in (quality_note(words, row) for row in winners) if note],
    }


def unanswered(words: Wording, winners: list[Row]) -> tuple[list[str], list[str]]:
    """Services without a winner: names as shown of those that only lack a price, and ids of what nothing can serve."""
    options = words.run.options
    served = set(options.loc[options["feasible"].astype(bool), "service"].astype(str))
    answered = {str(row["service"]) for row in winners}
    open_ones = [each.name for each in words.run.scenario.service_axis if each.name not in answered]
    return (
        [words.service(name) for name in open_ones if name in served],
        [name for name in open_ones if name not in served],
    )


def without_answer(words: Wording, unpriced: list[str], infeasible: list[str]) -> list[str]:
    """Why services have no answer, one sentence a reason."""
    said = []
    for name in infeasible:
        first = (
            words.translate("No card meets the targets for {model}.", model=words.service(name))
            if words.has_targets
            else words.translate("No card can run {model}.", model=words.service(name))
        )
        said.append(words.joined(first, near_miss(words, name)))
    if unpriced:
        said.append(words.translate("Served within the targets, but without a price: {models}.",
                                    models=words.listed(unpriced))
                    if words.has_targets
                    else words.translate("Can run, but without a price: {models}.", models=words.listed(unpriced)))
    return said


def method_warnings(words: Wording) -> list[str]:
    """What the deciding method leaves unanswered."""
    if words.has_targets:
        return []
    if words.run.method.name == bottleneck.METHOD:
        return [
            words.translate(
                "This method takes the targets as the time that a request may take: it says how many requests they "
                "allow, and does not predict TPOT or TTFT below that."
            )
        ]
    return [
        words.translate(
            "This method has no latency targets: it assumes a speed for every user and checks neither TPOT nor TTFT."
        )
    ]


def answer_lines(words: Wording) -> list[str]:
    """The answer on a terminal: the headline, the dearest decision (or the latency) in it, how large the search was."""
    winners = rows(words.run.winners())
    pool = view_fleet.headline(words)
    if pool:
        return [each for each in (pool, view_fleet.do_nothing(words), compared(words)) if each]
    lines = [headline(words, winners)]
    if len(winners) > 1:
        lines += [decision(words, row) for row in chain_winners(winners)]
    elif winners:
        latency = latency_figure(words, winners[0])
        lines.append(f"{latency['unit']}: {latency['value']}; {latency['note']}")
    return [*lines, compared(words)]


def headline(words: Wording, winners: list[Row]) -> str:
    """One sentence a director can repeat."""
    if not winners:
        return no_winner(words)
    if len(winners) == 1:
        return decision(words, winners[0])
    total = totals(words.run.winners())
    values = {
        "models": words.count(total.services),
        "amount": words.amount(total.monthly_cost_amount),
        "bought": words.services_counted(total.services_bought),
        "rented": words.services_counted(total.services_rented),
        "bought_cards": words.counted(total.cards_bought, "{n} card", "{n} cards"),
        "rented_cards": words.counted(total.cards_rented, "{n} card", "{n} cards"),
        "capex": words.amount(total.capex_amount),
    }
    if not total.services_bought:
        return words.translate(
            "Rent {rented_cards} for all {models} services: {amount} a month."
            if words.lists_services
            else "Rent {rented_cards} for all {models} models: {amount} a month.",
            **values,
        )
    if not total.services_rented:
        return words.translate(
            "Buy {bought_cards} for all {models} services: {capex} now, equivalent to {amount} a month."
            if words.lists_services
            else "Buy {bought_cards} for all {models} models: {capex} now, equivalent to {amount} a month.",
            **values,
        )
    return words.translate(
        "Buy {bought_cards} for {bought} and rent {rented_cards} for {rented}: equivalent to {amount} a month.",
        **values,
    )


def no_winner(words: Wording) -> str:
    """The headline of a document without a recommendation: nothing is good enough, or nothing has a price."""
    unpriced, _ = unanswered(words, [])
    if not unpriced:
        first = words.translate("No card meets the targets." if words.has_targets else "No card can run it.")
        services = [each.name for each in words.run.scenario.service_axis]
        return words.joined(first, *([near_miss(words, services[0])] if len(services) == 1 else []))
    names = words.listed(unpriced)
    if not words.has_targets:
        return words.translate("{models}: can run but has no price; see why each price was passed over.", models=names)
    return words.translate(
        "{models}: meets the targets but has no price; see why each price was passed over.", models=names
    )


def decision(words: Wording, row: Row) -> str:
    """One winner in one sentence, for today's demand in every month; and what growth makes of it."""
    return words.joined(_for_today(words, row), growing.short(words, row))


def _for_today(words: Wording, row: Row) -> str:
    saving = finite(row.get("saving_share"))
    values = {
        "model": words.service(row["service"]),
        "gpu": words.gpu(row["gpu"]),
        "months": words.months(words.run.scenario.costs.horizon_months),
    }
    if row["way"] == "buy":
        values |= {
            "cards": words.count(row["bought_cards"]),
            "servers": words.counted(row["servers_needed"], "{n} server", "{n} servers"),
            "amount": words.amount(row["buy_present_cost_amount"]),
        }
        if not words.both_ways:
            return words.translate("Buy {servers} ({cards} × {gpu}) for {model}: {amount} over {months}.", **values)
        if saving is None:
            return words.translate(
                "Buy {servers} ({cards} × {gpu}) for {model}: {amount} over {months}; no rent to compare.",
                **values,
            )
        values |= {"share": words.percent(saving), "month": words.number(row.get("break_even_month"), "month")}
        return words.translate(
            "Buy {servers} ({cards} × {gpu}) for {model}: {amount} over {months}, {share} less than renting; "
            "breaks even in month {month}.",
            **values,
        )
    values |= {
        "cards": words.count(row["rented_cards"]),
        "amount": words.amount(row["rent_amount_per_month"]),
        "provider": str(row.get("rent_provider", "")),
        "term": term(words, row.get("rent_term", "")),
    }
    if not words.both_ways:
        return words.translate(
            "Rent {cards} × {gpu} for {model}: {amount} a month ({provider}, {term}).", **values
        )
    if saving is None:
        return words.translate(
            "Rent {cards} × {gpu} for {model}: {amount} a month ({provider}, {term}); no purchase price to compare.",
            **values,
        )
    values["share"] = words.percent(abs(saving))
    return words.translate(
        "Rent {cards} × {gpu} for {model}: {amount} a month ({provider}, {term}); "
        "buying would cost {share} more over {months}.",
        **values,
    )


def cards_phrase(words: Wording, row: Row) -> str:
    """Cards as they come: whole servers bought or whole instances rented."""
    if row["way"] == "buy":
        return words.translate(
            "{pieces} × {cards}",
            pieces=words.counted(row["servers_needed"], "{n} server", "{n} servers"),
            cards=words.counted(row["server_cards"], "{n} card", "{n} cards"),
        )
    return words.translate(
        "{pieces} × {cards}",
        pieces=words.counted(row["rented_instances"], "{n} instance", "{n} instances"),
        cards=words.counted(row["rent_instance_cards"], "{n} card", "{n} cards"),
    )


def figures_of_one(words: Wording, row: Row) -> list[dict[str, str]]:
    """Cards, money, break-even and latency of the one winner."""
    paid = row["bought_cards"] if row["way"] == "buy" else row["rented_cards"]
    needed = view_nearby.band(words, row, "cards_needed")
    return [
        {
            "value": words.count(paid),
            "band": words.translate("({band} needed)", band=needed) if needed else "",
            "unit": words.translate("cards bought" if row["way"] == "buy" else "cards rented"),
            "note": cards_phrase(words, row),
        },
        {
            "value": words.amount(row["monthly_cost_amount"]),
            "unit": words.translate("a month, equivalent"),
            "note": per_mtok(words, row),
        },
        break_even_figure(words, row) if words.both_ways else price_figure(words, row),
        latency_figure(words, row),
    ]


def break_even_figure(words: Wording, row: Row) -> dict[str, str]:
    """When buying has paid for itself."""
    return {
        "value": view_money.break_even(words, row, short=True),
        "unit": words.translate("break-even of buying"),
        "note": words.translate("within {months}", months=words.months(row["horizon_months"])),
    }


def price_figure(words: Wording, row: Row) -> dict[str, str]:
    """What the one way that is considered is priced at."""
    if row["way"] == "buy":
        return {
            "value": words.amount(row["capex_amount"]),
            "unit": words.translate("paid on the first day"),
            "note": words.translate("kept for {months}", months=words.months(row["horizon_months"])),
        }
    return {
        "value": f"{words.price(row['rent_price_per_card_hour'])}\u00a0{words.currency}",
        "unit": words.translate("per card-hour"),
        "note": f"{row.get('rent_provider', '')}, {term(words, row.get('rent_term', ''))}",
    }


def per_mtok(words: Wording, row: Row) -> str:
    """Cost per million output tokens, in words."""
    price = words.price(row.get(f"{row['way']}_amount_per_mtok"))
    return words.translate("{price} {currency} per million output tokens", price=price, currency=words.currency)


def latency_figure(words: Wording, row: Row) -> dict[str, str]:
    """Predicted latency against its targets."""
    targets = words.run.scenario.targets
    if not words.has_targets:
        return {
            "value": words.with_unit(row["tpot_ms"], "ms", digits=3),
            "unit": words.translate("time per output token (TPOT), assumed"),
            "note": words.translate("TTFT {value} ms; this method predicts neither", value=words.short(row["ttft_ms"])),
        }
    statistic = targets.ttft_statistic if targets else "mean"
    values = {"value": words.short(row["ttft_tail_ms"]), "target": words.short(row.get("ttft_target_ms"))}
    note = words.translate("TTFT {value} of {target} ms", **values)
    if statistic != "mean":
        note = words.translate("TTFT {statistic} {value} of {target} ms", statistic=statistic.upper(), **values)
    tpot = view_nearby.band(words, row, "tpot_ms")
    return {
        "value": words.translate(
            "{value} of {target} ms",
            value=words.short(row["tpot_ms"]),
            target=words.short(row.get("tpot_target_ms")),
        ),
        "band": f"({tpot})" if tpot else "",
        "unit": words.translate("time per output token (TPOT)"),
        "note": note,
    }


def figures_of_all(words: Wording, winners: list[Row]) -> list[dict[str, str]]:
    """Services, cards, money now and money a month of the whole recommendation."""
    if not winners:
        return []
    total = totals(words.run.winners())
    asked = len(words.run.scenario.service_axis)
    by_way = {
        "buy": {
            "value": words.count(total.cards_bought),
            "unit": words.translate("cards to buy"),
            "note": words.counted(total.servers_bought, "{n} server", "{n} servers"),
        },
        "rent": {
            "value": words.count(total.cards_rented),
            "unit": words.translate("cards to rent"),
            "note": words.translate("at the peak, all hours of the month"),
        },
    }
    counts = {
        "buy": words.translate("{n} bought", n=words.count(total.services_bought)),
        "rent": words.translate("{n} rented", n=words.count(total.services_rented)),
    }
    return [
        {
            "value": words.translate(
                "{answered} of {asked}", answered=words.count(total.services), asked=words.count(asked)
            ),
            "unit": _served(words),
            "note": words.listed(counts[way] for way in ("buy", "rent") if way in words.ways),
        },
        *(by_way[way] for way in ("buy", "rent") if way in words.ways),
        {
            "value": words.amount(total.monthly_cost_amount),
            "unit": words.translate("a month, equivalent"),
            "note": words.translate("{amount} paid now", amount=words.amount(total.capex_amount))
            if "buy" in words.ways
            else "",
        },
    ]


def _served(words: Wording) -> str:
    """What the first figure counts."""
    if words.lists_services:
        return words.translate("services served within the targets" if words.has_targets else "services served")
    return words.translate("models served within the targets" if words.has_targets else "models served")


def compared(words: Wording) -> str:
    """How large the search was."""
    run = words.run
    first = run.candidates[run.candidates["method"].astype(str) == run.method.name]
    matrix = run.scenario.matrix
    feasible = int(first["feasible"].sum())
    able = (
        words.counted(feasible, "{n} of them meets the targets", "{n} of them meet the targets")
        if words.has_targets
        else words.translate("{n} of them can run", n=words.count(feasible))
    )
    return words.translate(
        "{candidates} compared ({models} × {formats} × {cards} × {counts} × {links}); {able}.",
        candidates=words.counted(len(first), "{n} candidate", "{n} candidates"),
        models=words.services_counted(len(run.scenario.service_axis)),
        formats=words.counted(len(matrix.quantization), "{n} weight format", "{n} weight formats"),
        cards=words.counted(len(matrix.gpu), "{n} kind of card", "{n} kinds of card"),
        counts=words.counted(len(matrix.count), "{n} unit size", "{n} unit sizes"),
        links=words.counted(len(matrix.interconnect), "{n} link", "{n} links"),
        able=able,
    )


def quality_note(words: Wording, row: Row) -> str:
    """What a weight format narrower than 16 bit costs in answers, and who says so."""
    entry = words.run.catalog.quantizations.get(str(row["quantization"]))
    if entry is None or not entry.quality.text or entry.value("nominal_bytes_per_parameter") >= BYTES_PER_16BIT:
        return ""
    text = words.translate.known(entry.quality.text)  # an overlay may bring its own
    basis = words.translate.known(entry.quality.basis)
    return words.translate(
        "{model} runs in {format}: {text} ({basis})",
        model=words.service(row["service"]),
        format=words.quantization(row["quantization"]),
        text=text,
        basis=basis,
    )
