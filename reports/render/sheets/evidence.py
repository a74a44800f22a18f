"""Evidence: how far off a prediction may be, and the nearest servers that were measured, both numbers side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.field import own
from reports.render.excel_style import GREEN
from reports.render.formats import COUNT, PERCENT, QUANTITY, NumberKind
from reports.render.live import Anchor, Call, Ref
from reports.render.sentences import said
from reports.render.sheet import N_, TOP_ROWS, Book, Cell, Row, Rows, Sheet, gap, heading, missing

ORDER = 75
NAME = N_("Evidence")

LABELS = {"measured": N_("measured"), "interpolated": N_("interpolated"), "extrapolated": N_("extrapolated")}

BANDS: tuple[tuple[str, str, NumberKind], ...] = (
    ("cards_needed", N_("Cards"), COUNT),
    ("tpot_ms", N_("TPOT, ms"), QUANTITY),
    ("ttft_ms", N_("TTFT, ms"), QUANTITY),
    ("output_tokens_per_s", N_("Output tokens per second"), QUANTITY),
    ("recommended_concurrency", N_("Requests at once, one unit"), COUNT),
)

MEASURED: tuple[tuple[str, str, str, NumberKind], ...] = (
    ("model", N_("Model"), "text", COUNT),
    ("gpu", N_("Card"), "text", COUNT),
    ("quantization", N_("Format"), "text", COUNT),
    ("engine", N_("Engine"), "text", COUNT),
    ("tensor_parallel", N_("Tensor parallel"), "value", COUNT),
    ("input_tokens", N_("Input tokens"), "value", COUNT),
    ("output_tokens", N_("Output tokens"), "value", COUNT),
    ("batch_requests", N_("Requests at once"), "value", COUNT),
    ("metric", N_("Metric"), "text", COUNT),
    ("measured", N_("Measured"), "value", QUANTITY),
    ("predicted", N_("Predicted"), "value", QUANTITY),
    ("error", N_("Error"), "formula", PERCENT),
    ("distance", N_("Distance"), "value", QUANTITY),
    ("source", N_("Source"), "note", COUNT),
    ("date", N_("Date"), "unit", COUNT),
)


def anchor(key: str, name: str) -> Anchor:
    """One figure of one measured row beside one option."""
    return ("evidence", key, name)


def declare(book: Book) -> Sheet:
    """Labels and bands of the short list, then the measured rows nearest to each option."""
    rows = [*_bands(book), gap(16), *_nearest(book)] if "label" in book.run.shortlist else [_absent(book)]
    return Sheet(
        name=NAME,
        blocks=[book.top(NAME), Rows(rows)],
        widths={1: (24, 46), 2: (22, 34), 3: (14, 26), 4: (10, 18), 5: (10, 18), **dict.fromkeys(range(6, 15), 11.5),
                15: (20, 40), 16: 11, **dict.fromkeys(range(17, 24), 11.5)},
        colour=GREEN,
        freeze=(TOP_ROWS, 1),
    )  # fmt: skip


def _absent(book: Book) -> Row:
    return Row({1: Cell(book.translate("This method predicts nothing that servers report."), "note")}, 18)


def _bands(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("How sure is it? Four of five measured servers lie inside the band"), 3 + 4 * len(BANDS))
    note = _("measured: the same model, card and format were; interpolated: model and card were, apart; "
             "extrapolated: otherwise. The bands are as evaluated.")  # fmt: skip
    yield Row({1: Cell(note, "note")}, 18)
    for message, values in book.run.warnings:
        if message in own.MESSAGES:
            yield Row({1: Cell(said(book.words, message, values), "note")}, 18)
    head = {1: Cell(_("Model"), "head"), 2: Cell(_("Option"), "head"), 3: Cell(_("Label"), "head")}
    for index, (_name, label, _kind) in enumerate(BANDS):
        column = 4 + 4 * index
        head |= {
            column: Cell(_(label), "head number"),
            column + 1: Cell(_("low"), "head number"),
            column + 2: Cell(_("high"), "head number"),
            column + 3: Cell(_("Label"), "head"),
        }
    yield Row(head, 44)
    for option in book.options:
        cells = {
            1: Cell(book.service(str(option["service"])), "strong"),
            2: Cell(book.label(option), "text"),
            3: Cell(_(LABELS[str(option["label"])]), "text"),
        }
        for index, (name, _label, kind) in enumerate(BANDS):
            for offset, fact in enumerate((name, f"{name}_low", f"{name}_high")):
                cells[4 + 4 * index + offset] = Cell(_value(option.get(fact)), "solved", kind)
            cells[4 + 4 * index + 3] = Cell(_(LABELS[str(option[f"{name}_label"])]), "text")
        yield Row(cells)


def _nearest(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("The nearest measured servers"), len(MEASURED) + 1)
    head = {1: Cell(_("Option"), "head")}
    for index, (_name, label, look, _kind) in enumerate(MEASURED, 2):
        head[index] = Cell(_(label), "head number" if look in ("value", "formula") else "head")
    yield Row(head, 30)
    names = {row["option_id"]: f"{book.service(str(row['service']))} · {book.label(row)}" for row in book.options}
    for key, row in enumerate(book.run.evidence.to_dict("records")):
        cells = {1: Cell(names[row["option_id"]], "strong")}
        for index, (name, _label, look, kind) in enumerate(MEASURED, 2):
            cells[index] = Cell(_content(book, row, str(key), name), look, kind, anchor(str(key), name))
        yield Row(cells)


def _content(book: Book, row: dict[str, Any], key: str, name: str) -> object:
    if name == "error":
        ratio = Call("/", Ref(anchor(key, "predicted")), Ref(anchor(key, "measured")))
        return Call("-", ratio, 1)
    if name == "model":
        return book.model(str(row["model"]))
    if name == "gpu":
        return book.gpu(row)
    if name == "batch_requests" and missing(row[name]):
        return book.translate("most")
    return _value(row[name])


def _value(value: object) -> object:
    return None if missing(value) else value
