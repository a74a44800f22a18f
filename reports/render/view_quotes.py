"""The quotes of a winner as a table with one column each, and why other prices are not compared."""

from __future__ import annotations

from typing import Any

from reports.cost import eligibility
from reports.cost.comparison import MISSING, REASONS, excuses
from reports.render.sentences import said
from reports.render.wording import Wording

Row = dict[str, Any]


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


WAYS = {"rent": N_("Rent"), "buy": N_("Buy")}
KINDS = {"list": N_("list price"), "quote": N_("quote"), "negotiated": N_("negotiated"), "estimate": N_("estimate")}
VAT = {"excluded": N_("without VAT")}
NOT_STATED = N_("not stated")


def table(words: Wording, option: Row) -> Row:
    """``columns`` (rows of the quotes frame) and ``lines``: label, one value a column, kind, and whether it heads."""
    frame = words.run.quotes
    rows = frame[frame["option_id"] == option["option_id"]].to_dict("records") if len(frame) else []
    _ = words.translate
    stated = [
        (N_("Seller or source"), "", lambda row: _seller(words, str(row["seller"]))),
        (N_("Item"), "", lambda row: row["item"]),
        (N_("Kind of price"), "", lambda row: _.known(KINDS.get(str(row["kind"]), str(row["kind"])))),
        (N_("Price as quoted"), "price", lambda row: row["price"]),
        (N_("Currency and unit"), "", lambda row: f"{row['currency']}/{_.known(str(row['price_unit']))}"),
        (N_("Dated"), "", lambda row: row["as_of"]),
        (N_("Valid until"), "", lambda row: str(row["valid_until"]) or _(NOT_STATED)),
        (N_("Term"), "", lambda row: _.known(str(row["term"])) if row["term"] else "–"),
        (N_("VAT basis"), "", lambda row: _.known(VAT.get(str(row["vat"]), str(row["vat"]))) or _(NOT_STATED)),
        (N_("Least quantity"), "", lambda row: _least(words, row)),
        (N_("Cards for the demand"), "count", lambda row: row["cards"]),
        (N_("Paid on day 0, {currency}"), "amount", lambda row: row["outlay_amount"]),
        (N_("First month, {currency}"), "amount", lambda row: row["amount_per_month"]),
        (N_("Net present value, {currency}"), "amount", lambda row: row["npv_amount"]),
        (N_("Equivalent a month, {currency}"), "amount", lambda row: row["equivalent_amount_per_month"]),
        (N_("Not stated, taken from the assumptions"), "", lambda row: _missing(words, row)),
        (N_("Used in this report"), "", lambda row: _("yes" if row["used"] else "no")),
    ]
    head = {"label": _("Quote"), "kind": "", "head": True, "values": [_(WAYS[str(row["way"])]) for row in rows]}
    lines = [
        {"label": _(label, currency=words.currency), "kind": kind, "head": False, "values": [get(row) for row in rows]}
        for label, kind, get in stated
    ]
    return {"columns": rows, "lines": [head, *lines]}


def _seller(words: Wording, seller: str) -> str:
    """A provider by its name, a source by its title."""
    known = words.run.catalog.sources.get(seller)
    return known.title if known else seller


def _least(words: Wording, row: Row) -> str:
    if row["minimum_quantity"] == "":
        return words.translate(NOT_STATED)
    one, many = {"card": (N_("{n} card"), N_("{n} cards")), "server": (N_("{n} server"), N_("{n} servers"))}[
        str(row["minimum_unit"])
    ]
    return words.counted(float(row["minimum_quantity"]), one, many)


def _missing(words: Wording, row: Row) -> str:
    return words.listed(words.translate(MISSING[key]) for key in str(row["missing"]).split())


def not_comparable(words: Wording, option: Row) -> list[str]:
    """One sentence a reason, with how many prices of the card it leaves out."""
    sentences = {**eligibility.REASONS, **REASONS}
    frame = excuses(words.run)
    own = frame[frame["option_id"] == option["option_id"]] if len(frame) else frame
    return [
        words.translate("{way}, not comparable: {why}", way=words.translate(WAYS[str(row["way"])]),
                        why=said(words, sentences[str(row["code"])], row["values"]))
        for row in own.to_dict("records")
    ]  # fmt: skip
