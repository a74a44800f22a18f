"""The evidence chain of one option: every formula typeset with its symbols and with its numbers, and its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reports.columns import LEAF, fact_reference
from reports.confidence import inputs, left_out
from reports.cost.blocks import CASHFLOW, CASHFLOW_RESULTS, COST_BLOCKS
from reports.formulas.meta import Formula, info
from reports.methods import Block
from reports.render import math
from reports.render.formats import format_latex
from reports.render.i18n import one_line
from reports.render.symbols import symbols, upright
from reports.render.translate import to_latex, to_latex_numbers
from reports.render.wording import Wording, finite

EQUATION_WIDTH_PT = 236.0
"""Symbols stand on the left half of the page, the same with numbers on the right."""
SYMBOL_SIZE_PT = 8.0

Row = Mapping[str, Any]


def chain(words: Wording, row: Row) -> dict[str, Any]:
    """Blocks of typeset steps in reading order, and the inputs they read, in the order they are first read."""
    blocks = [block for block in words.run.blocks if not block.point]
    symbol = symbols(function for block in blocks for function in block.formulas)
    skipped = left_out(words.run)
    shown: list[dict[str, Any]] = []
    for block in blocks:
        steps = []
        for function in block.formulas:
            column = block.column(info(function).name)
            if column in row and column not in skipped:
                steps.append(_step(words, block, function, row, symbol))
        title = block_title(words, block)
        if steps and shown and shown[-1]["title"] == title:
            shown[-1]["steps"] += steps
        elif steps:
            shown.append({"title": title, "steps": steps})
    cashflow = _cashflow(words, row, symbol)
    if cashflow:
        shown.append({"title": words.translate("Cash flow over the horizon"), "steps": cashflow})
    return {"blocks": shown, "inputs": [_input(words, column, row, symbol) for column in inputs(words.run)]}


def block_title(words: Wording, block: Block) -> str:
    """Heading of a block; where one way alone is considered it does not name the other."""
    if words.both_ways or block not in COST_BLOCKS:
        return words.translate(block.title)
    if block == COST_BLOCKS[-1]:
        return words.translate("Equivalent cost")
    return words.translate("Buy" if "buy" in words.ways else "Rent")


def _step(words: Wording, block: Block, function: Formula, row: Row, symbol: Callable[[str], str]) -> dict[str, Any]:
    known = info(function)
    read = {name: block.resolve(name) for name in known.inputs}
    label = words.translate(known.label)

    def number(name: str) -> str:
        column = read[name]
        return format_latex(finite(row.get(column)), _unit(words, column), column)

    def named(name: str) -> str:
        return symbol(read[name])

    column = block.column(known.name)
    return {
        "label": label,
        "note": words.translate(one_line(known.doc)),
        "symbolic": _pictures(symbol(known.name), to_latex(function, named), label),
        "numbers": _pictures("", to_latex_numbers(function, number), label),
        "value": words.number(row[column], known.unit, column),
        "unit": words.unit(known.unit),
        "sources": list(known.sources),
    }


def _cashflow(words: Wording, row: Row, symbol: Callable[[str], str]) -> list[dict[str, Any]]:
    """The figures drawn from the monthly cash flow, as sums over its rows."""
    rows = {each.column: each for each in (*CASHFLOW, *CASHFLOW_RESULTS)}

    def named(column: str) -> str:
        return upright(rows[column].symbol) if column in rows else symbol(column)

    steps = []
    skipped = left_out(words.run)
    for each in CASHFLOW_RESULTS:
        if each.column not in row or each.aggregate is None or each.column in skipped:
            continue
        a, *rest = (named(column) for column in each.reads)
        latex = each.aggregate.latex.replace("{a}", a).replace("{b}", rest[0] if rest else "")
        label = words.translate(each.label)
        never = each.column == "break_even_month" and finite(row[each.column]) is None
        steps.append(
            {
                "label": label,
                "note": "",
                "symbolic": _pictures(named(each.column), latex, label),
                "numbers": [],
                "value": words.translate("never within the horizon")
                if never
                else words.number(row[each.column], each.unit, each.column),
                "unit": "" if never else words.unit(each.unit),
                "sources": [],
            }
        )
    return steps


def _pictures(left: str, right: str, title: str) -> list[str]:
    return [line.svg for line in math.lines(left, right, EQUATION_WIDTH_PT, title)]


def _unit(words: Wording, column: str) -> str:
    plain = column.split("@")[0]
    if plain in LEAF:
        return LEAF[plain].unit
    for block in words.run.blocks:
        for function in block.formulas:
            if info(function).name == plain:
                return info(function).unit
    return ""


def assumptions(words: Wording) -> list[dict[str, Any]]:
    """Every assumption of the run, whether the printed chains read it or not."""
    facts = words.run.facts[words.run.facts["scope"] == "assumption"]
    made = []
    for fact in facts.to_dict("records"):
        row = _known(words, str(fact["column"]), fact["value"], {str(k): v for k, v in fact.items()})
        if fact["key"]:  # what an overlay measured on one card
            row["label"] += f" · {words.gpu(fact['key'])}"
        made.append(row)
    return made


def _input(words: Wording, column: str, row: Row, symbol: Callable[[str], str]) -> dict[str, Any]:
    """One row of the table of inputs: what it is, its value and band, and where it comes from."""
    leaf = LEAF[column]
    picture = math.typeset(symbol(column), words.translate(leaf.label), SYMBOL_SIZE_PT).svg
    return {"scope": leaf.scope, "symbol": picture, **_known(words, column, row.get(column), _fact(words, column, row))}


def _known(words: Wording, column: str, value: Any, fact: Mapping[str, Any]) -> dict[str, Any]:
    """A number with its band, and where it comes from."""
    leaf = LEAF[column]
    unit = str(fact.get("unit") or leaf.unit)
    found_by = {"layout": "search", "solved": "search"}.get(leaf.scope, "")
    low, high = finite(fact.get("low")), finite(fact.get("high"))
    return {
        "name": column,
        "label": words.translate(leaf.label),
        "value": words.number(value, unit, column),
        "unit": words.unit(unit),
        "band": f"{words.number(low, unit, column)}–{words.number(high, unit, column)}"
        if low is not None and high is not None and low != high
        else "",
        "basis": words.translate.known(str(fact.get("basis") or found_by)),
        "source": str(fact.get("source") or ""),
        "as_of": str(fact.get("as_of") or ""),
        "confirmed": bool(fact.get("confirmed", True)),
    }


def _fact(words: Wording, column: str, row: Row) -> Mapping[str, Any]:
    try:
        scope, key, name = fact_reference(dict(row), column)
    except KeyError:
        return {}
    facts = words.run.facts
    found = facts[(facts["scope"] == scope) & (facts["key"].astype(str) == key) & (facts["column"] == name)]
    return {str(k): v for k, v in found.iloc[0].to_dict().items()} if len(found) else {}


def used_sources(chains: Iterable[Mapping[str, Any]]) -> list[str]:
    """Source ids that the chains quote, each once, in order."""
    found: dict[str, None] = {}
    for each in chains:
        for row in each["inputs"]:
            if row["source"] and row["source"] != "scenario":
                found[row["source"]] = None
        for block in each["blocks"]:
            for step in block["steps"]:
                found.update(dict.fromkeys(step["sources"]))
    return list(found)
