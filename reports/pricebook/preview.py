"""What an import would do, line by line: as text for people, and as data for other tools."""

from __future__ import annotations

from typing import Any

from reports.pricebook.match import Rows


def head(rows: Rows) -> list[str]:
    """The terms of the whole quote."""
    quote = rows.quote
    tax = f"included, {quote.tax_rate:.4g} taken out" if quote.tax == "included" else quote.tax
    until = quote.valid_until or "not stated"
    sheet = f", sheet {quote.sheet}" if quote.sheet else ""
    said = [f"{rows.source['title']}, {quote.date}, valid until {until}; tax {tax}{sheet}"]
    if quote.discount:
        said.append(f"discount on the whole: {quote.discount:.4g}")
    if quote.payment:
        said.append(quote.payment)
    if quote.unread:
        said.append(f"not read: sheet {', '.join(quote.unread)}")
    return said


def records(rows: Rows) -> list[dict[str, Any]]:
    """One record a line: where it stands, what it was read as, the price of one unit after discount, or why not."""
    return [
        {"cell": each.place, "item": each.item, "read as": each.read_as or "-", "price": each.price,
         "remark": f"left out: {each.left_out}" if each.left_out else each.note}
        for each in rows.lines
    ]  # fmt: skip


def tail(rows: Rows) -> list[str]:
    """What the quote says beside its prices, as assumptions that a scenario may take over."""
    if not rows.shares:
        return []
    lines = [f"    {name}: {value:.4f}" for name, value in rows.shares]
    return ["the quote's own shares, for a scenario:", "  assumptions:", *lines]


def as_data(rows: Rows, written: list[str]) -> dict[str, Any]:
    """Everything, for --json."""
    return {
        "quote": {**vars(rows.quote), "lines": len(rows.quote.lines)}, "source": dict(rows.source),
        "lines": [{**record, "table": each.table, "row": dict(each.row), "left_out": each.left_out}
                  for record, each in zip(records(rows), rows.lines, strict=True)],
        "assumptions": dict(rows.shares), "written": written,
    }  # fmt: skip
