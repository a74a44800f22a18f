"""The evidence chain of one candidate: capacity, cards and money, each formula with its numbers and its sources.

An option of the short list is shown as the report has it. Any other candidate is priced and dated here by the same
stages; what it lacks (a price, a feasible load) is said and its formulas are left out.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from reports import bottleneck
from reports.columns import LEAF, fact_reference
from reports.constraints import SENTENCES, sentence
from reports.cost import eligibility, purchases, timeline
from reports.cost.blocks import CASHFLOW, CASHFLOW_RESULTS, COST_BLOCKS, MONTH, PURCHASE_BLOCKS, UNIT_BLOCK, CashRow
from reports.cost.offers import attach
from reports.evaluate import evaluate_frame
from reports.facts import collect
from reports.field.evidence import evidence as nearby
from reports.field.measured import shipped
from reports.fleet.given import BLOCK as GIVEN_BLOCK
from reports.fleet.given import of_candidate
from reports.formulas.meta import Formula, info
from reports.methods import METHODS, Block, Method
from reports.plan import spares
from reports.recommend import OPTION
from reports.run import Run
from reports.units import day_of

_REASONS = {**eligibility.REASONS, **purchases.REASONS}
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
    low: Any = None
    high: Any = None
    """The interval of what was measured, or the range of an assumption."""


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
class Near:
    """One measured server near a candidate, with what the method predicts for it."""

    row_id: str
    what: str
    metric: str
    measured: float
    predicted: float
    distance: float
    source: str


@dataclass(frozen=True)
class Evidence:
    """All of one candidate under one method."""

    candidate_id: str
    method: str
    title: str
    feasible: bool
    excuse: str
    notes: tuple[str, ...]
    """What a reader of this candidate must know besides: which candidate stands for its option, what has no price."""
    steps: tuple[Step, ...]
    inputs: tuple[Input, ...]
    label: str
    """measured, interpolated or extrapolated; blank where nothing is predicted."""
    bands: Mapping[str, tuple[float, float]]
    """Column -> the band that four of five measured servers fall into."""
    nearest: tuple[Near, ...]
    labels: Mapping[str, str]
    """Column -> the label of its own metric."""

    def plain(self) -> dict[str, Any]:
        """The same as data that JSON has."""
        return asdict(self)


@dataclass(frozen=True)
class _Row:
    """One candidate with every column that can be had for it."""

    values: dict[str, Any]
    facts: pd.DataFrame
    months: pd.DataFrame
    blocks: tuple[Block, ...]


def evidence(run: Run, candidate_id: str) -> list[Evidence]:
    """The evidence of a candidate, one record a method of the scenario; empty when there is no such candidate."""
    candidates = run.candidates
    return [
        _evidence(run, METHODS[str(candidates.loc[index, "method"])], candidates.loc[[index]])
        for index in candidates.index[candidates["candidate_id"] == candidate_id]
    ]


def _whole(run: Run, method: Method, candidate: pd.DataFrame) -> _Row:
    """The candidate as the report has it, or priced by the same stages; an infeasible one has no money."""
    blocks = (*method.blocks(), spares.BLOCK, *COST_BLOCKS, UNIT_BLOCK)
    if method.name == run.method.name:
        listed = run.shortlist[run.shortlist["candidate_id"] == candidate["candidate_id"].iloc[0]]
        if len(listed):
            months = run.timelines[run.timelines["option_id"] == listed["option_id"].iloc[0]]
            return _Row({**candidate.iloc[0].to_dict(), **listed.iloc[0].to_dict()}, run.facts, months, run.blocks)
    known = run.facts if method.name == run.method.name else collect(run.scenario, run.catalog, method).frame
    if not candidate["feasible"].iloc[0]:
        without = tuple(block for block in method.blocks() if not block.point)
        return _Row(candidate.iloc[0].to_dict(), known, pd.DataFrame(), without)
    named = candidate.reset_index(drop=True).assign(option_id=_option(candidate))
    priced, prices, _ = attach(named, run.scenario, run.catalog)
    full = evaluate_frame(evaluate_frame(priced, (*COST_BLOCKS, UNIT_BLOCK)), method.proofs)
    months, results = timeline.evaluate(full)
    facts = pd.concat([known, prices], ignore_index=True)
    return _Row({**full.iloc[0].to_dict(), **results.iloc[0].to_dict()}, facts, months, blocks)


def _option(candidate: pd.DataFrame) -> str:
    return ".".join(str(candidate[axis].iloc[0]) for axis in OPTION)


def _evidence(run: Run, method: Method, candidate: pd.DataFrame) -> Evidence:
    whole = _whole(run, method, candidate)
    row = {**of_candidate(candidate, run.scenario, run.catalog), **whole.values}
    facts = {
        (str(fact["scope"]), str(fact["key"]), str(fact["column"])): fact for fact in whole.facts.to_dict("records")
    }
    steps: list[Step] = []
    inputs: dict[str, Input] = {}
    for block in (*whole.blocks, GIVEN_BLOCK):
        for function in block.formulas:
            made = block.column(info(function).name)
            if made not in row or (block in (*COST_BLOCKS, *PURCHASE_BLOCKS) and pd.isna(row[made])):
                continue  # money without a price: a note says why
            read = {name: block.resolve(name) for name in info(function).inputs}
            steps.append(_step(block, function, made, read, row))
            for column in read.values():
                if column in LEAF and column not in inputs:
                    inputs[column] = _input(column, row, facts)
    if len(whole.months):
        steps += _cashflow(whole)
        for column in {name: None for each in CASHFLOW for name in each.reads if name in LEAF}:
            inputs.setdefault(column, _input(column, row, facts))
    code = str(row.get("excuse_code") or "")
    return Evidence(
        candidate_id=str(row["candidate_id"]),
        method=method.name,
        title=method.title,
        feasible=bool(row["feasible"]),
        excuse=_excuse(run, str(row["candidate_id"]), code),
        notes=tuple(_notes(run, method, candidate, row)),
        steps=tuple(steps),
        inputs=tuple(inputs.values()),
        **_measured(run, method, candidate, row),
    )


BANDED = ("tpot_ms", "ttft_ms", "output_tokens_per_s", "recommended_concurrency", "cards_needed")


def _measured(run: Run, method: Method, candidate: pd.DataFrame, row: Mapping[str, Any]) -> dict[str, Any]:
    """Label, bands and nearest measured servers; only the roofline predicts what servers measure."""
    if method.name != "roofline" or not row["feasible"]:
        return {"label": "", "bands": {}, "nearest": (), "labels": {}}
    near = nearby(candidate.assign(option_id=str(row["candidate_id"])), run.catalog, shipped(run.catalog))
    found = candidate.iloc[0]
    servers = (
        Near(
            row_id=str(one["row_id"]),
            what=f"{one['model']} {one['quantization']} on {number(one['tensor_parallel'])} x {one['gpu']}, "
            f"{one['engine']}, {number(one['input_tokens'])} in, {number(one['output_tokens'])} out, "
            f"{number(one['batch_requests'])} at once",
            metric=str(one["metric"]),
            measured=float(one["measured"]),
            predicted=float(one["predicted"]),
            distance=float(one["distance"]),
            source=str(one["source"]),
        )
        for one in near.to_dict("records")
    )
    bands = {
        name: (float(found[f"{name}_low"]), float(found[f"{name}_high"])) for name in BANDED if f"{name}_low" in found
    }
    labels = {name: str(found[f"{name}_label"]) for name in bands}
    return {"label": str(found["label"]), "bands": bands, "nearest": tuple(servers), "labels": labels}


def _notes(run: Run, method: Method, candidate: pd.DataFrame, row: Mapping[str, Any]) -> Iterator[str]:
    if method.name == run.method.name:
        stand_in = run.options.loc[run.options["option_id"] == _option(candidate), "candidate_id"]
        if len(stand_in) and stand_in.iloc[0] != row["candidate_id"]:
            why = "it needs the fewest cards" if row["feasible"] else "it comes closest, or needs the fewest cards"
            yield f"In the report {stand_in.iloc[0]} stands for this option: of its counts {why}."
    if method.name == bottleneck.METHOD:
        for message, values in bottleneck.messages(row, run.scenario, run.catalog):
            yield bottleneck.plain(message, values)
    if not row["feasible"]:
        yield "Not priced: it cannot serve the demand."
    for way in ("rent", "buy"):
        reason = str(row.get(f"{way}_reason") or "")
        if reason:
            values = {"gpu": row["gpu"], **row[f"{way}_reason_values"]}
            yield f"No price to {way}: {_REASONS[reason].format(**values)}"


def _cashflow(whole: _Row) -> Iterator[Step]:
    """The rows of the timeline in its last month, then the figures drawn from all months."""
    last = whole.months.iloc[-1].to_dict()
    title = "Cash flow over the horizon"
    for row in (*CASHFLOW, *CASHFLOW_RESULTS):
        monthly = row.column in last
        value = last[row.column] if monthly else whole.values[row.column]
        if pd.isna(value) and any(pd.isna(_last(whole.values, last, name)) for name in row.reads):
            continue
        if row.formula is not None:
            formula = written(row.formula, {name: name for name in row.reads})
            numbers = written(row.formula, {name: number(_last(whole.values, last, name)) for name in row.reads})
            numbers += f" in month {last[MONTH]}"
        else:
            assert row.aggregate is not None
            formula = f"{row.aggregate.name}({', '.join(row.reads)})"
            numbers = f"over the months 0 to {last[MONTH]}: {row.aggregate.doc.split(';')[0].rstrip('.')}"
        yield Step(title, row.column, row.label, formula, numbers, _plain(value), row.unit, _sources(row))


def _last(values: Mapping[str, Any], last: Mapping[Any, Any], name: str) -> Any:
    return last[name] if name in last else values[name]


def _sources(row: CashRow) -> tuple[str, ...]:
    """An aggregate has the sources of the rows it adds up."""
    if row.formula is not None:
        return info(row.formula).sources
    read = [each for each in CASHFLOW if each.column in row.reads and each.formula is not None]
    return tuple(dict.fromkeys(source for each in read if each.formula for source in info(each.formula).sources))


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
        low=None if fact.get("basis") == "given" else _plain(fact.get("low")),
        high=None if fact.get("basis") == "given" else _plain(fact.get("high")),
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


def number(value: Any, unit: str = "") -> str:
    """A number as a person reads it in a formula: at most six significant digits; a day as a date."""
    value = _plain(value)
    if value is None:
        return "n/a"
    if unit == "day" and value >= 1:
        return day_of(value).isoformat()
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
    lines += found.notes
    block = ""
    for step in found.steps:
        if step.block != block:
            block = step.block
            lines += ["", f"== {block}"]
        lines.append(f"{step.name}: {step.label}")
        lines.append(f"    = {step.formula}")
        lines.append(f"    = {step.numbers}")
        sources = f"   [{', '.join(step.sources)}]" if step.sources else ""
        lines.append(f"    = {number(step.value, step.unit).strip('()')} {step.unit}{sources}")
    if found.label:
        lines += ["", f"== Measured nearby: {found.label}"]
        lines += [
            f"{name}: {found.labels[name]}; four of five servers between {number(low)} and {number(high)}"
            for name, (low, high) in found.bands.items()
        ]
        for near in found.nearest:
            error = near.predicted / near.measured - 1
            lines.append(
                f"{near.what}: {near.metric} measured {number(near.measured)}, predicted {number(near.predicted)} "
                f"({error:+.0%})   [{near.source}, {near.row_id}]"
            )
    lines += ["", "== Inputs"]
    for given in found.inputs:
        lines.append(f"{given.name} = {number(given.value, given.unit)} {given.unit}: {given.label}")
        facts = [
            f"basis {given.basis}" if given.basis else "",
            f"source {given.source}" if given.source else "",
            f"as of {given.as_of}" if given.as_of else "",
            given.note,
            f"between {number(given.low)} and {number(given.high)}" if given.low != given.high else "",
        ]
        lines.append("    " + "; ".join(fact for fact in facts if fact))
    return "\n".join(lines)
