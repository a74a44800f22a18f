"""Matrix: every candidate with its figures of this run and, where it cannot serve, the reason in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.constraints import CONSTRAINTS
from reports.methods import METHODS
from reports.render.excel_style import MUTED
from reports.render.formats import COUNT, GENERAL, PERCENT, QUANTITY, NumberKind
from reports.render.lint import MOST_ROWS
from reports.render.sheet import N_, TOP_ROWS, Book, Cell, DataTable, Row, Rows, Sheet, missing
from reports.render.sheets.recommendation import excuse

ORDER = 40
NAME = N_("Matrix")

MOST_TABLE_ROWS = MOST_ROWS - 100
"""Rows of one sheet: what a spreadsheet holds, less room for what stands above them."""

COLUMNS: tuple[tuple[str, str, NumberKind], ...] = (
    ("candidate_id", N_("Candidate"), GENERAL),
    ("method", N_("Method"), GENERAL),
    ("service", N_("Service"), GENERAL),
    ("model", N_("Model"), GENERAL),
    ("gpu", N_("Card"), GENERAL),
    ("quantization", N_("Format"), GENERAL),
    ("interconnect", N_("Link"), GENERAL),
    ("count", N_("Cards of one unit"), COUNT),
    ("feasible", N_("Serves"), GENERAL),
    ("binding_constraint", N_("Limited by"), GENERAL),
    ("tensor_parallel", N_("Tensor parallel"), COUNT),
    ("pipeline_parallel", N_("Pipeline parallel"), COUNT),
    ("data_parallel", N_("Data parallel"), COUNT),
    ("replicas", N_("Replicas"), COUNT),
    ("weights_gib", N_("Weights per card, GiB"), QUANTITY),
    ("kv_request_gib", N_("KV per request, GiB"), QUANTITY),
    ("memory_concurrency", N_("Requests by memory"), COUNT),
    ("tpot_concurrency", N_("Requests by TPOT"), COUNT),
    ("ttft_concurrency", N_("Requests by TTFT"), COUNT),
    ("prefill_concurrency", N_("Requests by prefill"), QUANTITY),
    ("decode_concurrency", N_("Requests by decode"), QUANTITY),
    ("recommended_concurrency", N_("Requests recommended"), COUNT),
    ("output_tokens_per_s", N_("Output tokens per s"), QUANTITY),
    ("tpot_ms", N_("TPOT, ms"), QUANTITY),
    ("ttft_ms", N_("TTFT (mean), ms"), QUANTITY),
    ("units_needed", N_("Units for the demand"), COUNT),
    ("demand_cards", N_("Cards for the demand"), COUNT),
    ("cards_needed", N_("Least cards of this option"), COUNT),
    ("headroom_share", N_("Spare capacity"), PERCENT),
    ("excuse", N_("Result"), GENERAL),
)


def declare(book: Book) -> tuple[Sheet, ...]:
    """One row a candidate, on as many sheets as the rows need; columns that the run does not have are left out."""
    shown = {*book.run.candidates.columns, "excuse"} - (set() if book.run.scenario.services else {"service"})
    columns = [each for each in COLUMNS if each[0] in shown]
    rows = len(book.run.candidates)
    starts = range(0, max(rows, 1), MOST_TABLE_ROWS)
    parts = [(start, min(start + MOST_TABLE_ROWS, rows)) for start in starts]
    return tuple(_sheet(book, columns, parts, number) for number in range(len(parts)))


def part_name(number: int) -> str:
    """The sheet of a part, from 0."""
    return f"{NAME} {number + 1}" if number else NAME


def _sheet(book: Book, columns: list[tuple[str, str, NumberKind]], parts: list[tuple[int, int]], number: int) -> Sheet:
    _ = book.translate
    names = [name for name, _label, _kind in columns]
    start, end = parts[number]
    table = DataTable(
        name=f"Candidates{number + 1}" if number else "Candidates",
        header=[_(label) for _name, label, _kind in columns],
        kinds=[kind for _name, _label, kind in columns],
        rows=_rows(book, names, start, end),
        count=end - start,
        quiet=(names.index("feasible"), _("no")),
    )
    wide = {
        "candidate_id": 50.0, "model": 26.0, "gpu": 24.0, "excuse": 84.0, "method": 24.0, "binding_constraint": 16.0,
        "quantization": 11.0,
    }  # fmt: skip
    widths = {index: wide.get(name, 12.5) for index, (name, _label, _kind) in enumerate(columns, 1)}
    head = Rows([Row({1: Cell(text, "note")}, 18) for text in _notes(book)] + _index(book, parts))
    return Sheet(
        name=part_name(number),
        continues=NAME if number else "",
        blocks=[book.top(NAME), head, table],
        widths=widths,
        colour=MUTED,
        freeze=(TOP_ROWS + len(head.rows) + 1, 1),
        large_paper=True,
        repeat_rows=(TOP_ROWS + len(head.rows) + 1, TOP_ROWS + len(head.rows) + 1),
    )


def _notes(book: Book) -> list[str]:
    text = N_("Values of this run. The short list is calculated live on Calculation; filter here for all the others.")
    return [book.translate(text)]


def _index(book: Book, parts: list[tuple[int, int]]) -> list[Row]:
    """Where the rows are, on every sheet of a table that needs several."""
    if len(parts) == 1:
        return []
    return [
        Row({1: Cell(book.translate("Candidates {first} to {last}", first=f"{start + 1:,}", last=f"{end:,}"), "index",
                     sheet=part_name(number))})
        for number, (start, end) in enumerate(parts)
    ]  # fmt: skip


def _rows(book: Book, names: list[str], start: int, end: int) -> Iterator[list[object]]:
    _ = book.translate
    run = book.run
    said = run.excuses
    reasons: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
        (method, candidate): (str(code), values)
        for method, candidate, code, values in zip(
            said["method"], said["candidate_id"], said["code"], said["values"], strict=True
        )
    }
    words = {True: _("yes"), False: _("no")}
    another = _("Serves; another number of cards meets the demand with fewer cards.")
    names_of: dict[str, dict[str, str]] = {
        "model": {slug: model.name for slug, model in run.catalog.models.items()},
        "gpu": {slug: gpu.name for slug, gpu in run.catalog.gpus.items()},
        "interconnect": {"nvlink": "NVLink", "pcie": "PCIe"},
        "method": {slug: _(method.title) for slug, method in METHODS.items()},
        "binding_constraint": {record.name: _(record.label) for records in CONSTRAINTS.values() for record in records},
    }
    frame = run.candidates.iloc[start:end]
    columns = {name: frame[name].tolist() for name in (*names, "feasible", "method") if name != "excuse"}
    for index in range(len(frame)):
        row: list[object] = []
        for name in names:
            if name == "excuse":
                found = reasons.get((columns["method"][index], columns["candidate_id"][index]))
                row.append(excuse(book, *found) if found else another)
            elif name == "feasible":
                row.append(words[bool(columns[name][index])])
            elif name in names_of:
                row.append(names_of[name].get(str(columns[name][index]), str(columns[name][index])))
            else:
                value = columns[name][index]
                row.append(None if missing(value) and not columns["feasible"][index] else value)
        yield row
