"""What a live cell may hold: references, translated formulas, aggregates, and a short list of spreadsheet functions.

Each form gives its spreadsheet text and its Python value, so the value stored beside a formula is never typed twice.
A cell is named by an ``Anchor``, whatever row it will land on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from reports.formulas.aggregate import Aggregate
from reports.formulas.meta import Formula
from reports.render.excel_writer import ErrorValue
from reports.render.formats import COUNT, PERCENT, PRICE, SERIAL, shown
from reports.render.translate import to_excel

Anchor = tuple[Hashable, ...]
"""Name of a cell, such as ``("input", "gpu", "h20-141gb", "tdp_w")``."""

Value = Any
"""Number, text, truth value, or ErrorValue."""


class Place(Protocol):
    """Where the asking cell is, and so how it refers to others and what they hold."""

    def reference(self, anchor: Anchor, fixed: str = "") -> str:
        """``$`` before the column ("column") or before both ("both"); other sheets are always fixed."""
        ...

    def value(self, anchor: Anchor) -> Value: ...

    def span(self, first: Anchor, last: Anchor, fixed: str = "") -> str: ...

    def values(self, first: Anchor, last: Anchor) -> list[Value]: ...


class SpreadsheetError(Exception):
    """Evaluating gives an error value; IFERROR catches it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Live:
    """One live expression."""

    def excel(self, place: Place) -> str:
        raise NotImplementedError

    def value(self, place: Place) -> Value:
        raise NotImplementedError


@dataclass(frozen=True)
class Ref(Live):
    """The value of another cell."""

    anchor: Anchor
    fixed: str = ""

    def excel(self, place: Place) -> str:
        return place.reference(self.anchor, self.fixed)

    def value(self, place: Place) -> Value:
        return place.value(self.anchor)


@dataclass(frozen=True)
class Span(Live):
    """All cells from one to another, in a row, a column or a block."""

    first: Anchor
    last: Anchor
    fixed: str = "both"

    def excel(self, place: Place) -> str:
        return place.span(self.first, self.last, self.fixed)

    def value(self, place: Place) -> list[Value]:
        return place.values(self.first, self.last)


@dataclass(frozen=True)
class Translated(Live):
    """A formula of the engine over cells, with the value the engine computed."""

    function: Formula
    bind: Callable[[str], Ref]
    computed: Value

    def excel(self, place: Place) -> str:
        return to_excel(self.function, lambda name: self.bind(name).excel(place))

    def value(self, place: Place) -> Value:
        return self.computed


@dataclass(frozen=True)
class Aggregated(Live):
    """An aggregate over timeline rows (first, here, last of each), with the value the engine computed."""

    aggregate: Aggregate
    rows: tuple[tuple[Anchor, Anchor, Anchor], ...]
    computed: Value
    otherwise: str = ""
    """Text in place of the error that a fruitless search gives."""

    def excel(self, place: Place) -> str:
        first, here, _ = self.rows[0]
        spans = [place.span(row[0], row[2], "column") for row in self.rows] + ["", ""]
        text = self.aggregate.excel.format(
            row=spans[0], row2=spans[1], row3=spans[2],
            first=place.reference(first, "column"), here=place.reference(here), key=place.reference(here),
            lag=place.reference(self.rows[1][1]) if len(self.rows) > 1 else "",
        )  # fmt: skip
        return f'IFERROR({text},"{self.otherwise}")' if self.otherwise else text

    def value(self, place: Place) -> Value:
        found = self.computed
        return self.otherwise if self.otherwise and found != found else found


@dataclass(frozen=True)
class Fixed(Live):
    """A text, a truth value, or one of the numbers that may stand in a formula."""

    content: str | int | bool

    def excel(self, place: Place) -> str:
        if isinstance(self.content, str):
            return '"' + self.content.replace('"', '""') + '"'
        return str(self.content).upper()

    def value(self, place: Place) -> Value:
        return self.content


class Call(Live):
    """A spreadsheet function or operator out of ``FUNCTIONS``."""

    def __init__(self, name: str, *arguments: Live | str | int) -> None:
        self.function = FUNCTIONS[name]
        self.arguments = tuple(each if isinstance(each, Live) else Fixed(each) for each in arguments)

    def excel(self, place: Place) -> str:
        texts = [each.excel(place) for each in self.arguments]
        if self.function.joint:
            return "(" + self.function.joint.join(texts) + ")"
        return self.function.template.format(*texts, all=",".join(texts))

    def value(self, place: Place) -> Value:
        return self.function.compute(place, self.arguments)


@dataclass(frozen=True)
class Function:
    """Spreadsheet text and Python meaning of one function; an operator has a ``joint``."""

    compute: Callable[[Place, Sequence[Live]], Value]
    template: str = ""
    joint: str = ""


def number(value: Value) -> float:
    """A value used as a number; text makes the spreadsheet's #VALUE!."""
    if isinstance(value, ErrorValue):
        raise SpreadsheetError(value.code)
    if isinstance(value, str):
        raise SpreadsheetError("#VALUE!")
    if value != value:
        raise SpreadsheetError("#VALUE!")  # NaN is shown as the text n/a
    return float(value)


def _numbers(place: Place, arguments: Sequence[Live]) -> list[float]:
    """What SUM, MIN and MAX see: numbers; text in ranges and references is skipped."""
    found: list[Value] = []
    for each in arguments:
        value = each.value(place)
        found += value if isinstance(value, list) else [value]
    for value in found:
        if isinstance(value, ErrorValue):
            raise SpreadsheetError(value.code)
    return [float(value) for value in found if _is_number(value)]


def _is_number(value: Value) -> bool:
    return not isinstance(value, str | bool | ErrorValue | type(None)) and value == value


def _arithmetic(operation: Callable[[float, float], Value]) -> Callable[[Place, Sequence[Live]], Value]:
    def compute(place: Place, arguments: Sequence[Live]) -> Value:
        left, right = (number(each.value(place)) for each in arguments)
        return operation(left, right)

    return compute


def _divide(left: float, right: float) -> float:
    if right == 0:
        raise SpreadsheetError("#DIV/0!")
    return left / right


def _joined(place: Place, arguments: Sequence[Live]) -> str:
    texts = []
    for each in arguments:
        value = each.value(place)
        if isinstance(value, ErrorValue):
            raise SpreadsheetError(value.code)
        texts.append(value if isinstance(value, str) else f"{value:.15g}")
    return "".join(texts)


def _text(place: Place, arguments: Sequence[Live]) -> str:
    kinds = {kind.excel: kind for kind in (COUNT, PERCENT, SERIAL)} | {"#,##0.00": PRICE}
    value, code = arguments[0].value(place), arguments[1].value(place)
    return value if isinstance(value, str) else shown(number(value), kinds[code])


def _if(place: Place, arguments: Sequence[Live]) -> Value:
    condition = arguments[0].value(place)
    if isinstance(condition, ErrorValue):
        raise SpreadsheetError(condition.code)
    return arguments[1 if condition else 2].value(place)


def _if_error(place: Place, arguments: Sequence[Live]) -> Value:
    try:
        value = arguments[0].value(place)
    except SpreadsheetError:
        return arguments[1].value(place)
    return arguments[1].value(place) if isinstance(value, ErrorValue) else value


def _pick(place: Place, arguments: Sequence[Live]) -> Value:
    values, key, keys = (each.value(place) for each in arguments)
    for value, each in zip(values, keys, strict=True):
        if each == key:
            return value
    raise SpreadsheetError("#N/A")


def _rank(place: Place, arguments: Sequence[Live]) -> Value:
    value = number(arguments[0].value(place))
    return 1 + sum(each < value for each in _numbers(place, arguments[1:]))


def _least(place: Place, arguments: Sequence[Live]) -> Value:
    return min(_numbers(place, arguments), default=0.0)


def _errors(place: Place, arguments: Sequence[Live]) -> Value:
    return sum(isinstance(each, ErrorValue) for each in arguments[0].value(place))


def _equal_count(place: Place, arguments: Sequence[Live]) -> Value:
    wanted = arguments[1].value(place)
    return sum(each == wanted for each in arguments[0].value(place))


FUNCTIONS: dict[str, Function] = {
    "+": Function(_arithmetic(lambda a, b: a + b), joint="+"),
    "-": Function(_arithmetic(lambda a, b: a - b), joint="-"),
    "*": Function(_arithmetic(lambda a, b: a * b), joint="*"),
    "/": Function(_arithmetic(_divide), joint="/"),
    "<=": Function(_arithmetic(lambda a, b: a <= b), joint="<="),
    ">": Function(_arithmetic(lambda a, b: a > b), joint=">"),
    "<": Function(_arithmetic(lambda a, b: a < b), joint="<"),
    "=": Function(lambda place, each: each[0].value(place) == each[1].value(place), joint="="),
    "&": Function(_joined, joint="&"),
    "ABS": Function(lambda place, each: abs(number(each[0].value(place))), "ABS({0})"),
    "MAX": Function(lambda place, each: max(_numbers(place, each), default=0.0), "MAX({all})"),
    "MIN": Function(_least, "MIN({all})"),
    "SUM": Function(lambda place, each: sum(_numbers(place, each)), "SUM({all})"),
    "COUNT": Function(lambda place, each: len(_numbers(place, each)), "COUNT({all})"),
    "IF": Function(_if, "IF({0},{1},{2})"),
    "IFERROR": Function(_if_error, "IFERROR({0},{1})"),
    "AND": Function(lambda place, each: all(one.value(place) for one in each), "AND({all})"),
    "OR": Function(lambda place, each: any(one.value(place) for one in each), "OR({all})"),
    "ISNUMBER": Function(lambda place, each: _is_number(each[0].value(place)), "ISNUMBER({0})"),
    "TEXT": Function(_text, "TEXT({0},{1})"),
    "PICK": Function(_pick, "INDEX({0},MATCH({1},{2},0))"),
    "RANK": Function(_rank, "RANK({0},{1},1)"),
    "ERRORS": Function(_errors, "SUMPRODUCT(--ISERROR({0}))"),
    "COUNTIF": Function(_equal_count, "COUNTIF({all})"),
}
"""Functions of Excel 2010 and before, none volatile. Adding one: its text, its meaning, and a cell that uses it."""
