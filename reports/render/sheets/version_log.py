"""Version log: which version this is, what it was made from, what was changed for it, and what it followed."""

from __future__ import annotations

from collections.abc import Iterator

from reports.manifest import program_version
from reports.render.excel_style import MUTED
from reports.render.sheet import N_, Book, Cell, Row, Rows, Sheet, gap, heading

ORDER = 95
NAME = N_("Version log")
COLUMNS = 3


def declare(book: Book) -> Sheet:
    """Three short tables; no clock: the day is that of the scenario."""
    rows = [*_this(book), gap(), *_changes(book), gap(), *_files(book)]
    return Sheet(
        name=NAME,
        blocks=[book.top(NAME), Rows(rows)],
        widths={1: (26, 60), 2: (20, 70), 3: (20, 70)},
        colour=MUTED,
        one_page=True,
    )


def _this(book: Book) -> Iterator[Row]:
    _, scenario = book.translate, book.run.scenario
    earlier = dict(zip(book.run.variance_about["key"], book.run.variance_about["value"], strict=True))
    followed = f"{earlier['period']} · {earlier['as_of']}" if earlier.get("period") else _("none compared")
    lines: list[tuple[str, str]] = [
        (N_("Version"), scenario.version or _("not numbered")),
        (N_("Period"), scenario.period),
        (N_("As of"), scenario.as_of.isoformat()),
        (N_("Program"), f"gpubook {program_version()}"),
        (N_("Method"), _(book.run.method.title)),
        (N_("Earlier run"), followed),
    ]
    yield heading(_("This version"), COLUMNS)
    for label, text in lines:
        yield Row({1: Cell(_(label), "unit"), 2: Cell(text)})


def _changes(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Changed against the scenario file"), COLUMNS)
    changes = book.run.scenario.changes
    if not changes:
        yield Row({1: Cell(_("Nothing: the files say it all."), "note")})
        return
    yield Row({1: Cell(_("What"), "head"), 2: Cell(_("From"), "head"), 3: Cell(_("To"), "head")})
    for path, old, new in changes:
        yield Row({1: Cell(path), 2: Cell(_("nothing") if old is None else str(old)), 3: Cell(str(new))})


def _files(book: Book) -> Iterator[Row]:
    _ = book.translate
    yield heading(_("Made from"), COLUMNS)
    yield Row({1: Cell(_("File"), "head"), 2: Cell(_("SHA-256"), "head")})
    for path, digest in (*book.run.scenario.files, *book.run.catalog.files):
        yield Row({1: Cell(path), 2: Cell(digest, "unit")})
