"""A formula's one expression in other notations: a live spreadsheet formula, a LaTeX equation.

``parse`` reads the closed list of ``reports.formulas.meta`` into a small tree and refuses everything else; a target
turns the tree into text. A new notation is one more class with the same six methods as ``Excel``.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import ClassVar, Protocol

import numpy as np

from reports import constants
from reports.constants import ROUNDING_GUARD
from reports.errors import GpubookError
from reports.formulas import meta
from reports.formulas.meta import Formula

LITERALS = (0, 1, 2)
"""Every other number is a named unit factor or an input."""


class UntranslatableFormula(GpubookError):
    """A formula uses something outside the closed list, so it has no spreadsheet form; the message names both."""


# ---- the tree ----


@dataclass(frozen=True)
class Literal:
    value: int


@dataclass(frozen=True)
class Constant:
    name: str
    value: float


@dataclass(frozen=True)
class Parameter:
    name: str


@dataclass(frozen=True)
class Negative:
    operand: Node


@dataclass(frozen=True)
class Binary:
    sign: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Comparison:
    sign: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Node, ...]


Node = Literal | Constant | Parameter | Negative | Binary | Comparison | Call

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
}  # fmt: skip
_COMPARISON: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_NUMPY = {"minimum": 2, "maximum": 2, "where": 3, "sqrt": 1, "exp": 1, "log": 1}
_NAMED = {"floor": (meta.floor, 1), "ceil": (meta.ceil, 1), "binomial_tail": (meta.binomial_tail, 3),
          "normal_quantile": (meta.normal_quantile, 1), "normal_tail": (meta.normal_tail, 1)}  # fmt: skip


@cache
def parse(function: Formula) -> Node:
    """The expression a formula returns, as a tree of the closed list."""
    name = getattr(function, "__name__", repr(function))
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise UntranslatableFormula(f"formula {name}: is not a function definition")
    body = definition.body[1:] if ast.get_docstring(definition) is not None else definition.body
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        raise UntranslatableFormula(f"formula {name}: its body must be one return expression")
    return _Parser(function, name).read(body[0].value)


class _Parser:
    """Reads one function's syntax; holds what its names mean."""

    def __init__(self, function: Formula, name: str) -> None:
        self.name = name
        self.parameters = frozenset(inspect.signature(function).parameters)
        self.meaning: dict[str, object] = function.__globals__

    def refuse(self, node: ast.AST, why: str) -> UntranslatableFormula:
        return UntranslatableFormula(f"formula {self.name}: {why}: {ast.unparse(node)}")

    def read(self, node: ast.expr) -> Node:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, int | float) and not isinstance(node.value, bool) and node.value in LITERALS:
                return Literal(int(node.value))
            raise self.refuse(node, "only the literals 0, 1 and 2 may stand in a formula")
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return Negative(self.read(node.operand))
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return Binary(_BINARY[type(node.op)], self.read(node.left), self.read(node.right))
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISON:
            return Comparison(_COMPARISON[type(node.ops[0])], self.read(node.left), self.read(node.comparators[0]))
        if isinstance(node, ast.Call):
            return self._call(node)
        raise self.refuse(node, "has no spreadsheet form")

    def _name(self, node: ast.Name) -> Node:
        if node.id in self.parameters:
            return Parameter(node.id)
        value = self.meaning.get(node.id)
        if hasattr(constants, node.id) and type(value) in (int, float) and value == getattr(constants, node.id):
            return Constant(node.id, float(getattr(constants, node.id)))
        raise self.refuse(node, "is neither a parameter nor a constant of reports.constants")

    def _call(self, node: ast.Call) -> Node:
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            known = self.meaning.get(called.value.id) is np and called.attr in _NUMPY
            name, count = called.attr, _NUMPY.get(called.attr, 0)
        elif isinstance(called, ast.Name):
            own, count = _NAMED.get(called.id, (None, 0))
            known, name = own is not None and self.meaning.get(called.id) is own, called.id
        else:
            known, name, count = False, "", 0
        if not known:
            raise self.refuse(node, "calls what has no spreadsheet form")
        if node.keywords or len(node.args) != count:
            raise self.refuse(node, f"{name} takes {count} plain arguments")
        arguments = tuple(self.read(argument) for argument in node.args)
        if name == "where" and not isinstance(arguments[0], Comparison):
            raise self.refuse(node, "the condition of np.where must be one comparison")
        if name in ("minimum", "maximum"):  # both are associative: nested ones become one list
            arguments = tuple(_flat(name, arguments))
        return Call(name, arguments)


def _flat(name: str, arguments: Iterable[Node]) -> Iterable[Node]:
    for argument in arguments:
        if isinstance(argument, Call) and argument.name == name:
            yield from argument.arguments
        else:
            yield argument


# ---- targets ----

COMPARE, SUM, PRODUCT, POWER, ATOM = range(5)


@dataclass(frozen=True)
class Text:
    """Text of a subexpression, and how tightly its outermost operation binds."""

    text: str
    binding: int = ATOM

    def at_least(self, binding: int) -> str:
        return self.text if self.binding >= binding else f"({self.text})"


class Target(Protocol):
    """One notation. Each method turns one kind of node into text."""

    def literal(self, node: Literal) -> Text: ...

    def constant(self, node: Constant) -> Text: ...

    def parameter(self, node: Parameter) -> Text: ...

    def negative(self, node: Negative) -> Text: ...

    def binary(self, node: Binary) -> Text: ...

    def comparison(self, node: Comparison) -> Text: ...

    def call(self, node: Call) -> Text: ...


def write(node: Node, target: Target) -> Text:
    """The text of a tree in a target's notation."""
    match node:
        case Literal():
            return target.literal(node)
        case Constant():
            return target.constant(node)
        case Parameter():
            return target.parameter(node)
        case Negative():
            return target.negative(node)
        case Binary():
            return target.binary(node)
        case Comparison():
            return target.comparison(node)
        case Call():
            return target.call(node)


def plain_number(value: float) -> str:
    """A number as a spreadsheet reads it: whole numbers without a point, tiny ones with an exponent."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value)).upper()


class Excel:
    """Spreadsheet formulas. Powers and unary minus are parenthesised: there ``-2^2`` is 4 and ``2^3^2`` is 64."""

    comparisons: ClassVar[dict[str, str]] = {"==": "=", "!=": "<>"}
    functions: ClassVar[dict[str, str]] = {
        "minimum": "MIN", "maximum": "MAX", "sqrt": "SQRT", "exp": "EXP", "log": "LN",
    }  # fmt: skip

    def __init__(self, reference: Callable[[str], str]) -> None:
        self.reference = reference

    def literal(self, node: Literal) -> Text:
        return Text(str(node.value))

    def constant(self, node: Constant) -> Text:
        return Text(plain_number(node.value))

    def parameter(self, node: Parameter) -> Text:
        return Text(self.reference(node.name))

    def negative(self, node: Negative) -> Text:
        return Text(f"(-{write(node.operand, self).at_least(ATOM)})")

    def binary(self, node: Binary) -> Text:
        left, right = self.number(node.left), self.number(node.right)
        if node.sign == "**":
            return Text(f"({left.at_least(ATOM)}^{right.at_least(ATOM)})")
        binding = SUM if node.sign in "+-" else PRODUCT
        return Text(f"{left.at_least(binding)}{node.sign}{right.at_least(binding + 1)}", binding)

    def comparison(self, node: Comparison) -> Text:
        sign = self.comparisons.get(node.sign, node.sign)
        left, right = self.number(node.left), self.number(node.right)
        return Text(f"{left.at_least(SUM)}{sign}{right.at_least(SUM)}", COMPARE)

    def call(self, node: Call) -> Text:
        if node.name == "where":
            condition, yes, no = node.arguments
            return Text(f"IF({write(condition, self).text},{self.number(yes).text},{self.number(no).text})")
        if node.name == "binomial_tail":  # BINOMDIST refuses more wanted than there are, and less than none
            least, number, share = (self.number(each).text for each in node.arguments)
            tail = f"1-BINOMDIST(MAX({least}-1,0),{number},{share},TRUE)"
            return Text(f"IF({least}<1,1,IF({least}>{number},0,{tail}))")
        if node.name == "normal_quantile":
            return Text(f"NORMSINV({self.number(node.arguments[0]).text})")
        if node.name == "normal_tail":
            return Text(f"1-NORMSDIST({self.number(node.arguments[0]).text})", SUM)
        if node.name in _NAMED:
            function, sign = ("FLOOR", "+") if node.name == "floor" else ("CEILING", "-")
            value = self.number(node.arguments[0]).at_least(PRODUCT)
            return Text(f"{function}({value}*(1{sign}{plain_number(ROUNDING_GUARD)}),1)")
        return Text(f"{self.functions[node.name]}({','.join(self.number(each).text for each in node.arguments)})")

    def number(self, node: Node) -> Text:
        """As ``write``; a comparison outside a condition counts 1 or 0, as in NumPy."""
        text = write(node, self)
        return Text(f"IF({text.text},1,0)") if isinstance(node, Comparison) else text


class Latex:
    """Equations: products over one fraction line, unit factors that cancel left out, cases without words."""

    comparisons: ClassVar[dict[str, str]] = {"<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne"}
    opposites: ClassVar[dict[str, str]] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
    constants: ClassVar[dict[float, str]] = {1e6: "10^{6}", 1e9: "10^{9}", 1e12: "10^{12}", 1024.0**3: "2^{30}"}

    def __init__(self, symbol: Callable[[str], str], between: str = r"\,") -> None:
        self.symbol = symbol
        self.between = between

    def literal(self, node: Literal) -> Text:
        return Text(str(node.value))

    def constant(self, node: Constant) -> Text:
        known = self.constants.get(node.value)
        return Text(known, POWER) if known else Text(plain_number(node.value))

    def parameter(self, node: Parameter) -> Text:
        text = self.symbol(node.name)
        outside = re.sub(r"\{[^{}]*\}", "", re.sub(r"\{[^{}]*\}", "", text))
        if re.search(r"[+-]", outside):
            return Text(text, SUM)
        return Text(text, PRODUCT if r"\times" in outside else POWER if "^" in outside else ATOM)

    def negative(self, node: Negative) -> Text:
        return Text(f"-{self._in(write(node.operand, self), PRODUCT)}", SUM)

    def binary(self, node: Binary) -> Text:
        if node.sign in "+-":
            right = SUM if node.sign == "+" and not isinstance(node.right, Negative) else PRODUCT
            return Text(
                f"{self._in(write(node.left, self), SUM)} {node.sign} {self._in(write(node.right, self), right)}", SUM
            )
        if node.sign == "**":
            exponent = write(node.right, self).text
            return Text(f"{{{self._in(write(node.left, self), ATOM)}}}^{{{exponent}}}", POWER)
        return self._fraction(node)

    def comparison(self, node: Comparison) -> Text:
        sign = self.comparisons.get(node.sign, node.sign)
        return Text(f"{write(node.left, self).text} {sign} {write(node.right, self).text}", COMPARE)

    def call(self, node: Call) -> Text:
        if node.name == "where":
            condition, yes, no = node.arguments
            assert isinstance(condition, Comparison)
            otherwise = Comparison(self.opposites[condition.sign], condition.left, condition.right)
            rows = (
                f"{write(value, self).text} & {write(case, self).text}"
                for value, case in ((yes, condition), (no, otherwise))
            )
            lines = r" \\ ".join(rows)
            return Text(rf"\begin{{cases}} {lines} \end{{cases}}", COMPARE)  # its right side is open: enclose it
        arguments = [write(each, self).text for each in node.arguments]
        if node.name == "floor":
            return Text(rf"\left\lfloor {arguments[0]} \right\rfloor")
        if node.name == "ceil":
            return Text(rf"\left\lceil {arguments[0]} \right\rceil")
        if node.name == "sqrt":
            return Text(rf"\sqrt{{{arguments[0]}}}")
        if node.name == "exp":
            return Text(rf"e^{{{arguments[0]}}}", POWER)
        if node.name == "binomial_tail":
            least, number, share = arguments
            return Text(rf"P\left(\mathrm{{Bin}}({number},\, {share}) \ge {least}\right)")
        if node.name == "normal_quantile":
            return Text(rf"\Phi^{{-1}}\left({arguments[0]}\right)")
        if node.name == "normal_tail":
            return Text(rf"\Phi\left(-\left({arguments[0]}\right)\right)")
        name = {"minimum": r"\min", "maximum": r"\max", "log": r"\ln"}[node.name]
        return Text(rf"{name}\left({', '.join(arguments)}\right)")

    def _fraction(self, node: Node) -> Text:
        above, below = _factors(node)
        for factor in [each for each in above if isinstance(each, Constant)]:
            same = next((each for each in below if isinstance(each, Constant) and each.value == factor.value), None)
            if same is not None:
                above.remove(factor)
                below.remove(same)
        numerator = self._product(above)
        if not below:
            return numerator
        return Text(rf"\frac{{{numerator.text}}}{{{self._product(below).text}}}", PRODUCT)

    def _product(self, factors: list[Node]) -> Text:
        if not factors:
            return Text("1")
        if len(factors) == 1:
            return write(factors[0], self)
        figures_first = sorted(factors, key=lambda factor: not isinstance(factor, Literal | Constant))
        parts = [self._in(write(factor, self), PRODUCT) for factor in figures_first]
        text = parts[0]
        for before, part in pairwise(parts):
            touching = (before[-1].isdigit() or before[-1] == "}") and part[0].isdigit()
            text += (r" \cdot " if touching else f" {self.between} ") + part
        return Text(text, PRODUCT)

    @staticmethod
    def _in(text: Text, binding: int) -> str:
        return text.text if text.binding >= binding else rf"\left({text.text}\right)"


def _factors(node: Node) -> tuple[list[Node], list[Node]]:
    """What stands above and below the fraction line of a chain of products and quotients."""
    if not isinstance(node, Binary) or node.sign not in "*/":
        return [node], []
    (above, below), (right_above, right_below) = _factors(node.left), _factors(node.right)
    if node.sign == "/":
        right_above, right_below = right_below, right_above
    return above + right_above, below + right_below


def to_excel(function: Formula, reference: Callable[[str], str]) -> str:
    """The formula over cell references, without the leading ``=``."""
    return Excel(reference).number(parse(function)).text


def to_latex(function: Formula, symbol: Callable[[str], str]) -> str:
    """The right-hand side over symbols."""
    return write(parse(function), Latex(symbol)).text


def to_latex_numbers(function: Formula, number: Callable[[str], str]) -> str:
    """The right-hand side with the numbers that went in, each already formatted."""
    return write(parse(function), Latex(number, between=r"\cdot")).text
