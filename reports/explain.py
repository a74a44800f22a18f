"""The evidence chain of one candidate: each formula with its numbers, and where every input comes from."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from reports.columns import LEAF, fact_reference
from reports.constraints import SENTENCES, sentence
from reports.formulas.meta import Formula, info
from reports.methods import METHODS, Block, Method
from reports.run import Run

_FOUND = {"layout": "chosen by the search for the best layout", "solved": "found by a search, proved by the formulas"}


@dataclass(frozen=True)
class Input:
    """One number that no formula makes, and its provenance."""

    name: str
    label: str
    value: Any
    unit: str
    source: str
    as_of: str
    basis: str
    note: str


@dataclass(frozen=True)
class Step:
    """One formula: its text, the same with numbers, and its result."""

    block: str
    name: str
    label: str
    formula: str
    numbers: str
    value: Any
    unit: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """All of one candidate under one method."""

    candidate_id: str
    method: str
    title: str
    feasible: bool
    excuse: str
    steps: tuple[Step, ...]
    inputs: tuple[Input, ...]

    def plain(self) -> dict[str, Any]:
        """The same as data that JSON has."""
        return asdict(self)


def evidence(run: Run, candidate_id: str) -> list[Evidence]:
    """The evidence of a candidate, one record a method of the scenario; empty when there is no such candidate."""
    found = []
    for _, plain in run.candidates[run.candidates["candidate_id"] == candidate_id].iterrows():
        method = METHODS[str(plain["method"])]
        row, blocks = _fullest(run, method, plain)
        found.append(_evidence(run, method, row, blocks))
    return found


def _fullest(run: Run, method: Method, plain: pd.Series) -> tuple[dict[str, Any], Sequence[Block]]:
    """The row with the most columns: on the short list, among the options, or as a candidate."""
    if method.name == run.method.name:
        for frame in (run.shortlist, run.options):
            rows = frame[frame["candidate_id"] == plain["candidate_id"]]
            if len(rows):
                return {**plain.to_dict(), **rows.iloc[0].to_dict()}, run.blocks
    return plain.to_dict(), tuple(method.blocks())


def _evidence(run: Run, method: Method, row: Mapping[str, Any], blocks: Sequence[Block]) -> Evidence:
    facts = {
        (str(fact["scope"]), str(fact["key"]), str(fact["column"])): fact for fact in run.facts.to_dict("records")
    }
    steps: list[Step] = []
    inputs: dict[str, Input] = {}
    for block in blocks:
        for function in block.formulas:
            made = block.column(info(function).name)
            if made not in row:
                continue
            read = {name: block.resolve(name) for name in info(function).inputs}
            steps.append(_step(block, function, made, read, row))
            for column in read.values():
                if column in LEAF and column not in inputs:
                    inputs[column] = _input(column, row, facts)
    code = str(row.get("excuse_code") or "")
    return Evidence(
        candidate_id=str(row["candidate_id"]),
        method=method.name,
        title=method.title,
        feasible=bool(row["feasible"]),
        excuse=_excuse(run, str(row["candidate_id"]), code),
        steps=tuple(steps),
        inputs=tuple(inputs.values()),
    )


def _excuse(run: Run, candidate_id: str, code: str) -> str:
    if code not in SENTENCES:
        return ""
    rows = run.excuses[(run.excuses["candidate_id"] == candidate_id) & (run.excuses["code"] == code)]
    return sentence(code, rows["values"].iloc[0]) if len(rows) else code


def _step(block: Block, function: Formula, made: str, read: Mapping[str, str], row: Mapping[str, Any]) -> Step:
    known = info(function)
    return Step(
        block=block.title,
        name=made,
        label=known.label,
        formula=written(function, read),
        numbers=written(
            function, _constants(function) | {name: number(row.get(column)) for name, column in read.items()}
        ),
        value=_plain(row[made]),
        unit=known.unit,
        sources=known.sources,
    )


def _input(column: str, row: Mapping[str, Any], facts: Mapping[tuple[str, str, str], Mapping[Any, Any]]) -> Input:
    leaf = LEAF[column]
    try:
        fact = facts.get(fact_reference(dict(row), column), {})
    except KeyError:
        fact = {}
    source = str(fact.get("source") or _FOUND.get(leaf.scope, ""))
    return Input(
        name=column,
        label=leaf.label,
        value=_plain(row.get(column)),
        unit=str(fact.get("unit") or leaf.unit),
        source=source,
        as_of=_text(fact.get("as_of")),
        basis=_text(fact.get("basis")) or ("solved" if leaf.scope in _FOUND else ""),
        note=_text(fact.get("note")),
    )


@cache
def _expression(function: Formula) -> ast.expr:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is not None:
            return node.value
    raise LookupError(f"formula {info(function).name} has no return expression")


def _constants(function: Formula) -> dict[str, str]:
    """Unit factors the formula names, as numbers."""
    known = function.__globals__
    return {name: number(value) for name, value in known.items() if name.isupper() and isinstance(value, float)}


def written(function: Formula, names: Mapping[str, str]) -> str:
    """The formula's expression in reading form, with other words for its parameters."""
    return ast.unparse(_Reading(names).visit(ast.parse(ast.unparse(_expression(function)), mode="eval")))


class _Reading(ast.NodeTransformer):
    """``np.minimum(a, b)`` as ``minimum(a, b)``, parameters under the given names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(id=self.names.get(node.id, node.id))

    def visit_Attribute(self, node: ast.Attribute) -> ast.Name:
        return ast.Name(id=node.attr)


def number(value: Any) -> str:
    """A number as a person reads it in a formula: at most six significant digits, no needless zeros."""
    value = _plain(value)
    if value is None:
        return "n/a"
    if isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, int | float):
        return str(value)
    text = f"{value:.6g}" if abs(value) < 1e15 and (value == 0 or abs(value) >= 1e-4) else f"{value:.6e}"
    if "e" in text and abs(value) < 1e15 and abs(value) >= 1:
        text = f"{value:.0f}"
    return f"({text})" if value < 0 else text


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return None
    return value


def _text(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and np.isnan(value)) else str(value)


def as_text(found: Evidence) -> str:
    """The evidence as lines for a terminal."""
    lines = [f"{found.candidate_id}", f"method: {found.method} ({found.title})"]
    lines.append("feasible: yes" if found.feasible else f"feasible: no. {found.excuse}")
    block = ""
    for step in found.steps:
        if step.block != block:
            block = step.block
            lines += ["", f"== {block}"]
        lines.append(f"{step.name}: {step.label}")
        lines.append(f"    = {step.formula}")
        lines.append(f"    = {step.numbers}")
        sources = f"   [{', '.join(step.sources)}]" if step.sources else ""
        lines.append(f"    = {number(step.value)} {step.unit}{sources}")
    lines += ["", "== Inputs"]
    for given in found.inputs:
        lines.append(f"{given.name} = {number(given.value)} {given.unit}: {given.label}")
        facts = [f"basis {given.basis}" if given.basis else "", f"source {given.source}" if given.source else "",
                 f"as of {given.as_of}" if given.as_of else "", given.note]
        lines.append("    " + "; ".join(fact for fact in facts if fact))
    return "\n".join(lines)
