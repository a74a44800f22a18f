"""Why this many cards: units, headroom and spares of every winner, what caution costs, and what a loss leaves."""

from __future__ import annotations

from typing import Any

from reports.render.wording import Wording, finite

Row = dict[str, Any]

MOST_NINES = 6
"""Digits after the point of a percentage at which an availability may as well be called whole."""


def lead(words: Wording, winners: list[Row]) -> str:
    """Headroom and spares, told apart."""
    headrooms = sorted({round(1 - float(row["safety_factor"]), 4) for row in winners})
    shares = words.listed(words.percent(share) for share in headrooms)
    return words.translate(
        "Each unit is given {share} less than its limit (headroom, for peaks and for the error of the prediction). "
        "Spares are whole units on top of that, for what breaks.",
        share=shares,
    )


def counts(words: Wording, winners: list[Row]) -> list[dict[str, Any]]:
    """One row a winner: from the demand to what is paid."""
    return [
        {
            "name": words.service(row["service"]),
            "card": words.gpu(row["gpu"]),
            "demand": words.short(row["demand_concurrency"], 4),
            "carries": words.short(row["recommended_concurrency"], 4),
            "unit": words.counted(row["unit_cards"], "{n} card", "{n} cards"),
            "units": words.count(row["units_needed"]),
            "spares": words.count(row["spare_units"]),
            "cards": words.count(row["sized_cards"]),
            "paid": paid(words, row),
            "availability": _fine(words, row["availability_share"]),
            "target": _target(words, row),
            "card_loss": _left(words, row, "card"),
            "server_loss": _left(words, row, "server"),
        }
        for row in winners
    ]


def paid(words: Wording, row: Row) -> str:
    """Whole servers or whole instances: 2 servers × 8."""
    if row["way"] == "buy":
        pieces, size = row["servers_needed"], row["server_cards"]
        known = words.counted(pieces, "{n} server", "{n} servers")
    else:
        pieces, size = row["rented_instances"], row["rent_instance_cards"]
        known = words.counted(pieces, "{n} instance", "{n} instances")
    return f"{known} × {words.count(size)}"


def _fine(words: Wording, share: Any, least: int = 2) -> str:
    """A share whose nines count: 99.95 %, never rounded up to 100 %."""
    known = finite(share)
    if known is None:
        return words.percent(share)
    places = least
    while known < 1 and places < MOST_NINES and round(known, places + 2) >= 1:
        places += 1
    return words.percent(known, places).replace(" ", "\u00a0")


def _target(words: Wording, row: Row) -> str:
    target = finite(row["availability_target_share"])
    if not target:
        return ""
    digits = len(f"{target * 100:.6g}".partition(".")[2])
    return f"≥\u00a0{_fine(words, target, digits)}"


def _left(words: Wording, row: Row, kind: str) -> dict[str, Any]:
    """What a loss leaves of the demand, with the headroom kept and used up."""
    share, limit = finite(row[f"{kind}_loss_left_share"]), finite(row[f"{kind}_loss_limit_share"])
    if share is None or limit is None:
        return {"text": words.percent(None), "note": "", "felt": False}
    return {
        "text": words.percent(min(share, 1.0)),
        "note": words.translate("{share} without headroom", share=words.percent(min(limit, 1.0))) if share < 1 else "",
        "felt": limit < 1,
    }


def whole(words: Wording) -> str:
    """Head of the cards that fill up what is bought or rented."""
    if words.both_ways:
        return words.translate("Up to whole servers or instances")
    return words.translate("Up to whole servers" if "buy" in words.ways else "Up to whole instances")


def caution(words: Wording, winners: list[Row]) -> list[dict[str, Any]]:
    """One row a winner: the cards that each kind of caution adds, up to whole servers or instances."""
    shown = []
    for row in winners:
        bare = row["bare_units"] * row["unit_cards"]
        bought = row["bought_cards"] if row["way"] == "buy" else row["rented_cards"]
        development = row["development_units"] * row["unit_cards"]
        shown.append(
            {
                "name": words.service(row["service"]),
                "bare": words.count(bare),
                "headroom": _added(words, row["headroom_cards"]),
                "spares": _added(words, row["spare_cards"]),
                "development": _added(words, development),
                "rounding": _added(words, bought - row["sized_cards"]),
                "total": words.count(bought),
                "share": words.percent(1 - bare / bought if bought else None),
            }
        )
    return shown


def _added(words: Wording, cards: Any) -> str:
    known = finite(cards)
    return words.count(cards) if known is None or not known else f"+{words.count(known)}"


def careful_memory(words: Wording, row: Row) -> str:
    """What memory would hold if every request had P95 lengths, where the method says so and where memory is near."""
    careful, shared = finite(row.get("memory_p95_requests")), finite(row.get("memory_requests"))
    if careful is None or shared is None or careful >= float(row["recommended_requests"]):
        return ""
    return words.translate(
        "{service}: with P95 lengths for every request, the memory of a replica would hold {careful} of them; requests "
        "that share it hold {shared}.",
        service=words.service(row["service"]), careful=words.count(careful), shared=words.count(shared),
    )


def sentences(words: Wording, winners: list[Row]) -> list[str]:
    """What a reader must know about losses, in words."""
    said = []
    felt = [words.service(row["service"]) for row in winners if (finite(row["server_loss_limit_share"]) or 0) < 1]
    if felt:
        said.append(
            words.translate(
                "The loss of one server is felt, even with the headroom used up: {services}.",
                services=words.listed(felt),
            )
        )
    single = [words.service(row["service"]) for row in winners if row["sized_units"] == 1]
    if single:
        said.append(
            words.translate("Only one unit runs, so any failure stops the service: {services}.",
                            services=words.listed(single))
        )  # fmt: skip
    said += [text for text in (careful_memory(words, row) for row in winners) if text]
    row = winners[0]
    said.append(
        words.translate(
            "Reckoned with {card} failures of a card and {server} of a server a year, repaired in {card_hours} and "
            "{server_hours} hours; cards and servers fail independently of each other. Units of one server are lost "
            "with it.",
            card=words.short(row["card_failures_per_year"]), server=words.short(row["server_failures_per_year"]),
            card_hours=words.short(row["card_repair_h"]), server_hours=words.short(row["server_repair_h"]),
        )
    )
    updates = [finite(row["rolling_update_h"]) or 0.0 for row in winners]
    said.append(
        words.translate(
            "A replica takes {minutes} minutes to start; updating all units one after the other takes up to {hours} "
            "hours.",
            minutes=words.short(row["startup_minutes"]), hours=words.short(max(updates), 2),
        )
    )
    return said
