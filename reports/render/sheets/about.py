"""About: what this workbook answers, how to read its colours, what may be edited, and where things are."""

from __future__ import annotations

from collections.abc import Iterator

from reports.manifest import inputs_digest
from reports.render.excel_style import NAVY
from reports.render.formats import NOT_AVAILABLE
from reports.render.sheet import N_, Book, Cell, Picture, Row, Rows, Sheet, gap, heading

ORDER = 10
NAME = N_("About")

INDEX: tuple[tuple[str, str], ...] = (
    ("Summary", N_("The answer, its cost, and whether the checks hold")),
    ("Recommendation", N_("The short list side by side, ranked; every other card in one sentence")),
    ("Matrix", N_("Every candidate with its figures and its reason, with filters")),
    ("Calculation", N_("Every formula in reading order, one column an option")),
    ("Cost by month", N_("Cash flow of renting and of buying, and the break-even")),
    ("Inputs", N_("Every number used, with band, basis, source and date; edit here")),
    ("Evidence", N_("How far off a prediction may be, and the nearest measured servers")),
    ("Checks", N_("What must hold whatever is edited")),
    ("Sources", N_("Where the numbers and formulas come from")),
)

LEGEND: tuple[tuple[str, str, str], ...] = (
    ("input", "1,234", N_("An input to edit: everything follows")),
    ("fixed input", "1,234", N_("An input that needs a new run of the program when it changes")),
    ("link", "1,234", N_("A link to another sheet")),
    ("formula", "1,234", N_("A formula")),
    ("solved", "1,234", N_("Found by a search of the program, and proved by the formulas beside it")),
    ("value", NOT_AVAILABLE, N_("Not available: an input is missing; what depends on it is n/a too")),
)


def declare(book: Book) -> Sheet:
    """One page of text."""
    look = book.run.scenario.look
    rows = [*_facts(book), gap(), *_index(book), gap(), *_legend(book), gap(), *_edit(book)]
    if look.disclaimer[book.language]:
        rows += [gap(), Row({1: Cell(look.disclaimer[book.language], "wrapped note", across=2)})]
    logo = [Picture(look.logo_png)] if look.logo_png else []
    return Sheet(
        name=NAME,
        blocks=[book.top(NAME), *logo, Rows(rows)],
        widths={1: 26, 2: 96},
        colour=NAVY,
        one_page=True,
    )


def _facts(book: Book) -> Iterator[Row]:
    _, scenario = book.translate, book.run.scenario
    rows: dict[str, str] = {
        N_("Question"): _("Which cards for this workload, how many, how connected, rent or buy."),
        N_("Scenario"): scenario.name,
        N_("Period"): scenario.period,
        N_("Prices as of"): scenario.as_of.isoformat(),
        N_("Currency"): book.currency,
        N_("Region"): book.known(scenario.region),
        N_("Method"): _(book.run.method.title),
        N_("Candidates"): f"{len(book.run.candidates):,}",
        N_("Short list"): str(len(book.options)),
        N_("Hash of all inputs"): inputs_digest(scenario, book.run.catalog)[:16],
    }
    if scenario.client:
        rows[N_("Client")] = scenario.client
    if book.classification:
        rows[N_("Classification")] = book.classification
    yield heading(_("This workbook"), 2)
    for label, text in rows.items():
        yield Row({1: Cell(_(label), "unit"), 2: Cell(text)})
    for path, old, new in scenario.changes:
        yield Row({1: Cell(f"{_('Changed')}: {path}", "unit"), 2: Cell(f"{old} → {new}")})


def _index(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Sheets"), 2)
    for name, text in INDEX:
        yield Row({1: Cell(_(name), "index", sheet=name), 2: Cell(_(text))})


def _legend(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Colours"), 2)
    for look, sample, text in LEGEND:
        yield Row({1: Cell(book.known(sample), look), 2: Cell(_(text))})


def _edit(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("How to use it"), 2)
    for text in (
        N_("Edit a yellow cell on Inputs: cards, costs, break-even, ranks and the Summary follow."),
        N_("Limits found by search stay as they are: a change of lengths, targets or efficiencies needs a new run."),
        N_("Amounts are before tax unless the source of a price says otherwise; negative amounts are payments."),
    ):
        yield Row({1: Cell(_(text), "wrapped", across=2)})
