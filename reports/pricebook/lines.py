"""Reads the lines of a quote and checks them: numbers are numbers, one tax basis, totals that add up, no doubles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from reports.catalog.exchange import exchange_rate
from reports.catalog.records import as_date
from reports.errors import InputError, Problem
from reports.pricebook import numbers
from reports.pricebook.cells import Value, open_list
from reports.pricebook.table import Table, find_table
from reports.pricebook.words import ListMapping, Words, known_words, plain

GOODS, TOTAL = "goods", "total"
PIECE = "piece"
CENT, TOLERANCE_SHARE = 0.01, 1e-4


@dataclass(frozen=True)
class Line:
    """One line of a quote in its own currency; ``price`` is for one unit after all discounts, without tax."""

    row: int
    place: str
    item: str
    gpu: str
    role: str
    """goods, or what else is paid for: freight, support, installation, tax, total."""
    unit: str
    """piece, card-hour, instance-hour, card-month, instance-month."""
    quantity: float | None
    price: float
    amount: float
    """Of the whole line as printed or computed, before the discount on the whole quote, with tax where it has it."""
    currency: str
    cards: int | None
    provider: str
    region: str
    term: str
    note: str


@dataclass(frozen=True)
class Quote:
    """What a price list says: the terms of the whole, and its lines."""

    file: str
    sheet: str
    quote_id: str
    date: str
    valid_until: str
    kind: str
    """quote where quantities or a last day are stated, else list."""
    tax: str
    """excluded, included (taken out of ``Line.price`` with ``tax_rate``) or unstated."""
    tax_rate: float
    discount: float
    payment: str
    lines: tuple[Line, ...]
    unread: tuple[str, ...]
    """Sheets that were not read."""


class _Reading:
    """One table being read; collects problems."""

    def __init__(self, table: Table, words: Words, exchange: pd.DataFrame) -> None:
        self.table, self.words, self.exchange = table, words, exchange
        self.problems: list[Problem] = []

    def text(self, row: int, field: str, label: str = "") -> str:
        """A cell, else the statement beside the table; blank: neither."""
        value = self.table.sheet.value(row, self.table.columns.get(field))
        if value is None and (label or field) in self.table.labels:
            value = self.table.labels[label or field].value
        return "" if value is None else f"{value:g}" if isinstance(value, float) else value

    def number(self, row: int, field: str) -> numbers.Amount | None:
        """An amount; a formula or a text in its place is a problem."""
        value = self.table.sheet.value(row, self.table.columns.get(field))
        if value is None:
            return None
        found = numbers.amount(value)
        workbook = bool(self.table.sheet.name)
        if isinstance(value, str) and value.startswith("="):
            self.table_problem(row, field, "is a formula", value, "a number", "copy the cells and paste their values")
        elif found is None or (workbook and isinstance(value, str) and not found.currency and not found.per):
            self.table_problem(row, field, "is text, not a number", value, "a number such as 1250000.50",
                               "format the cell as a number" if workbook else "")
        elif found.value < 0:
            self.table_problem(row, field, "is negative", value, "a number of 0 or more")
        else:
            return found
        return None

    def table_problem(self, row: int, field: str, message: str, value: Value, expected: str, hint: str = "") -> None:
        self.problems.append(self.table.problem(row, field, message, read=value or "", expected=expected, hint=hint))

    def label(self, name: str, read: Callable[[Value], object], message: str, expected: str) -> object:
        """A statement beside the table, converted; None where there is none or it is wrong."""
        if name not in self.table.labels:
            return None
        value = self.table.labels[name].value
        found = read(value)
        if found is None or found == "":
            self.problems.append(self.table.label_problem(name, message, read=value, expected=expected))
            return None
        return found


def read_quote(path: Path, mapping: ListMapping, exchange: pd.DataFrame) -> Quote:
    """A price list as lines; InputError lists everything that is wrong with it, with sheet and cell."""
    sheets, words = open_list(path), known_words()
    table = find_table(sheets, mapping, words)
    reading = _Reading(table, words, exchange)
    day_hint = "a day such as 2026-11-05"
    date = str(reading.label("date", numbers.day, "is not a day", day_hint) or "")
    until = reading.label("valid_until", lambda v: numbers.last_day(v, date), "is not a day", f"{day_hint}, or 30 days")
    discount = reading.label("discount", numbers.discount, "is not a discount", "such as 5 %, 0.05 or 95折")
    rate = reading.label("tax_rate", numbers.share, "is not a rate", "such as 13 % or 0.13")
    tax = _tax(reading, float(rate) if isinstance(rate, float) else None)
    off = float(discount) if isinstance(discount, float) else 0.0
    taken_out = 1 + (float(rate) if tax == "included" and isinstance(rate, float) else 0.0)
    lines = [line for row in range(table.header + 1, len(table.sheet.rows))
             if (line := _line(reading, row, off, taken_out))]  # fmt: skip
    if not date:
        reading.problems.append(Problem(str(path), "does not say its day", expected="a label such as Quote date",
                                        hint="give date under constants of the mapping file"))
    elif until and str(until) < date:
        reading.problems.append(table.label_problem("valid_until", "is before the day of the quote", read=until,
                                                    expected=f"{date} or later"))
    _check_currencies(reading, lines, date)
    _check_doubles(reading, lines)
    if not reading.problems:
        _check_totals(reading, lines, off, float(rate) if isinstance(rate, float) else 0.0, date)
    if reading.problems:
        raise InputError(reading.problems)
    stated = "quantity" in table.columns or bool(until) or "quote_id" in table.labels
    kind = str(table.labels["price_kind"].value) if "price_kind" in table.labels else "quote" if stated else "list"
    payment = "; ".join(
        f"{name} {reading.text(-1, name)}" for name in ("deposit", "payment") if name in table.labels
    )
    return Quote(
        str(path), table.sheet.name, reading.text(-1, "quote_id"), date, str(until or ""), kind, tax,
        float(rate) if isinstance(rate, float) else 0.0, off, payment, tuple(lines),
        tuple(each.name for each in sheets if each is not table.sheet),
    )  # fmt: skip


def _tax(reading: _Reading, rate: float | None) -> str:
    """Whether prices carry tax: the header of the price, or a label; both of them must agree."""
    table, said = reading.table, dict[str, Problem]()
    for field, basis in (("unit_price_included", "included"), ("unit_price_excluded", "excluded")):
        if field in table.columns:
            said[basis] = table.problem(table.header, field, "says that tax is " + basis)
    value = table.labels["tax"].value if "tax" in table.labels else None
    if value is not None:
        constant = table.labels["tax"].row < 0
        basis = reading.words.inside(str(value), "tax:")
        if not basis:
            reading.problems.append(table.label_problem("tax", "is no tax basis", read=value,
                                                        expected="included or excluded"))
        elif constant and len(said) == len(("included", "excluded")):
            said = {basis: said[basis]}
        else:
            said.setdefault(basis, table.label_problem("tax", "says that tax is " + basis))
    if len(said) > 1:
        places = " and ".join(f"{each.where or f'line {each.line}'} {each.message}" for each in said.values())
        first = next(iter(said.values()))
        reading.problems.append(
            Problem(first.file, f"has tax both included and excluded: {places}", first.line, where=first.where,
                    expected="one basis", hint="give tax and the column of the price in the mapping file"))  # fmt: skip
    basis = next(iter(said), "unstated")
    if basis == "included" and rate is None and "tax_rate" not in table.labels:
        problem = said[basis]
        reading.problems.append(Problem(problem.file, "prices include tax, and no rate is given", problem.line,
                                        where=problem.where, expected="a label such as Tax rate: 13 %",
                                        hint="or tax_rate under constants of the mapping file"))
    return basis


def _price_field(table: Table) -> str:
    basis = str(table.labels["tax"].value) if "tax" in table.labels else ""
    order = ("unit_price_included", "unit_price_excluded", "unit_price")
    preferred = [name for name in order if name in table.columns and basis and name.endswith(basis)]
    return next(iter([*preferred, *(name for name in ("unit_price", *order) if name in table.columns)]), "unit_price")


def _line(reading: _Reading, row: int, off: float, taken_out: float) -> Line | None:
    table = reading.table
    item = reading.text(row, "item")
    field = _price_field(table)
    cells = table.sheet.rows[row]
    if not any(cell is not None for cell in cells) or row in {label.row for label in table.labels.values()}:
        return None
    role = reading.words.inside(item, "line:") if item else ""
    gpu = reading.text(row, "gpu")
    if not item or role == TOTAL or plain(item) in ("合计", "total"):
        first = next((cell for cell in cells if isinstance(cell, str)), "")
        role = role if item else reading.words.inside(first, "line:")
        if role != TOTAL and not item and not gpu:
            return None  # a note below the table
        item = item or first
    priced = [table.sheet.value(row, table.columns.get(name)) for name in (field, "line_total")]
    if all(value is None for value in priced):
        return None  # a heading between lines, or a label
    price = reading.number(row, field) if role != TOTAL else None
    total = _total(reading, row, role)
    quantity = reading.number(row, "quantity")
    stated = table.sheet.value(row, table.columns.get("quantity"))
    if "quantity" in table.columns and stated is None and role not in (TOTAL, "tax", "freight"):
        reading.table_problem(row, "quantity", "has no quantity", "", "how many units the line is for")
    if quantity is not None and quantity.value == 0:
        reading.table_problem(row, "quantity", "is zero", stated, "more than 0")
        quantity = None
    line_off = _line_discount(reading, row)
    many = quantity.value if quantity else 1.0
    if price is None and total is None:
        return None
    unit_price = price.value * (1 - line_off) if price else (total.value if total else 0.0) / many
    written = next((each.currency for each in (price, total) if each and each.currency), "")
    header = str(table.sheet.value(table.header, table.columns.get(field)) or "")
    code = numbers.currency(reading.text(row, "currency")) or written
    if not code and role != TOTAL:
        reading.table_problem(row, "currency" if "currency" in table.columns else field, "has no currency",
                              reading.text(row, "currency"), "USD, CNY or EUR")
    beside = f"{price.per if price else ''} {header}"
    unit = next((found for text in (reading.text(row, "unit"), beside)
                 if (found := reading.words.inside(text, "unit:"))), PIECE)  # fmt: skip
    amount = total.value if total else unit_price * many
    if price and total and role != TOTAL and abs(unit_price * many - amount) > _slack(amount, many):
        expected = f"{unit_price * many:,.2f} = {many:g} x {unit_price:,.2f}"
        reading.table_problem(row, "line_total", "does not add up", total.value, expected)
    cards = reading.number(row, "cards") or numbers.amount(reading.text(-1, "cards"))
    term_text = reading.text(row, "term")
    term = numbers.term(term_text)
    if term_text and not term:
        reading.table_problem(row, "term", "is not a term", term_text, "on-demand, 12 months, 3 years, …")
    least = reading.text(row, "least_quantity")
    notes = (reading.text(row, "note"), f"at least {least}" if least else "")
    return Line(
        row, table.sheet.place(row, table.columns.get("item", table.columns.get("gpu", 0))), item or gpu, gpu,
        role or GOODS, unit, quantity.value if quantity else None, unit_price * (1 - off) / taken_out, amount, code,
        int(cards.value) if cards else None, reading.text(row, "provider"), reading.text(row, "region").casefold(),
        term, "; ".join(each for each in notes if each),
    )  # fmt: skip


def _total(reading: _Reading, row: int, role: str) -> numbers.Amount | None:
    """The amount of a line; one that is a formula is left out, since nothing but a check reads it."""
    field = "line_total"
    value = reading.table.sheet.value(row, reading.table.columns.get(field))
    if isinstance(value, str) and value.startswith("="):
        return None
    if role == TOTAL and value is None:
        priced = _price_field(reading.table)
        value = reading.table.sheet.value(row, reading.table.columns.get(priced))
        return None if isinstance(value, str) and value.startswith("=") else reading.number(row, priced)
    return reading.number(row, field)


def _line_discount(reading: _Reading, row: int) -> float:
    value = reading.table.sheet.value(row, reading.table.columns.get("line_discount"))
    if value is None:
        return 0.0
    found = numbers.discount(value)
    if found is None:
        reading.table_problem(row, "line_discount", "is not a discount", value, "such as 5 %, 0.05 or 95折")
    return found or 0.0


def _slack(amount: float, many: float) -> float:
    """What rounding to cents can explain."""
    return max(CENT * max(many, 1.0), TOLERANCE_SHARE * abs(amount))


def _check_currencies(reading: _Reading, lines: list[Line], date: str) -> None:
    """Several currencies need a dated rate, or nothing could be added up."""
    known = [line for line in lines if line.currency]
    for line in known:
        try:
            if date:
                exchange_rate(reading.exchange, line.currency, known[0].currency, as_date(date))
        except InputError:
            reading.table_problem(line.row, "currency", "is in another currency, and there is no rate", line.currency,
                                  known[0].currency, "append a dated row to prices/exchange.csv, or quote in one")


def _check_doubles(reading: _Reading, lines: list[Line]) -> None:
    seen: dict[tuple[object, ...], Line] = {}
    for line in lines:
        key = (plain(line.item), line.gpu, line.price, line.quantity, line.unit, line.term, line.provider, line.region,
               line.currency, line.cards)  # fmt: skip
        first = seen.setdefault(key, line)
        if first is not line and line.role != TOTAL:
            reading.table_problem(line.row, "item", "is there twice", line.item, "each line once",
                                  f"the first is {first.place}")


def _check_totals(reading: _Reading, lines: list[Line], off: float, rate: float, date: str) -> None:
    """A total is the sum of the lines above it, or since the last one; before or after the discount and the tax."""
    every = since = 0.0
    ours = next((line.currency for line in lines if line.currency), "")
    for line in lines:
        if line.role != TOTAL:
            factor = exchange_rate(reading.exchange, line.currency, ours, as_date(date)).rate
            every, since = every + line.amount * factor, since + line.amount * factor
            continue
        sums = [start * (1 - less) * (1 + more) for start in (every, since) for less in {0.0, off}
                for more in {0.0, rate}]  # fmt: skip
        if all(abs(each - line.amount) > _slack(each, 1.0) for each in sums):
            field = "line_total" if "line_total" in reading.table.columns else _price_field(reading.table)
            reading.table_problem(line.row, field, "does not add up", f"{line.amount:,.2f}", f"{every:,.2f}")
        since = 0.0
