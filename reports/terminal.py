"""How the command line speaks: problems, files with sizes, progress, records; loads nothing heavy."""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.errors import InputError, Problem

if TYPE_CHECKING:
    import pandas as pd

    from reports.catalog.records import Catalog, Entry

_WIDEST = 60


def foreign_package() -> str:
    """Another project on PyPI installs a package called ``reports``: say so when it lies where ours should."""
    import reports

    if "gpubook" in (reports.__doc__ or ""):
        return ""
    folder = Path(reports.__file__ or "").parent
    return (
        f"the package `reports` in {folder} is not the one of gpubook; another distribution installs that name. "
        "Remove it (pip uninstall reports) and install gpubook again, best in an environment of its own."
    )


@contextmanager
def known_name(verb: str) -> Iterator[None]:
    """A name nobody knows is a problem of the input."""
    from reports.catalog.select import UnknownName

    try:
        yield
    except UnknownName as error:
        raise InputError(Problem(verb, str(error))) from None


def find_entry(catalog: Catalog, name: str, kind: str | None) -> tuple[Entry, pd.DataFrame]:
    """An entry by any of its names, of any kind unless one is given, and its facts."""
    from reports.catalog.browse import KINDS, show
    from reports.catalog.entries import FACTS
    from reports.catalog.select import UnknownName
    from reports.strict_yaml import did_you_mean

    for each in (kind,) if kind else FACTS:
        try:
            return show(catalog, each, name)
        except UnknownName:
            if kind:
                raise
    ids = [known for each in FACTS for known in getattr(catalog, KINDS[each])]
    hint = did_you_mean(name, ids)
    raise UnknownName(f'unknown entry "{name}"' + (f"; {hint}" if hint else ""))


def entry_record(entry: Entry) -> dict[str, Any]:
    """What an entry says about itself besides its facts."""
    apart = ("facts", "moe_facts", "points")
    nothing: tuple[Any, ...] = ("", None, (), {})
    found = {name: value for name, value in vars(entry).items() if name not in apart and value not in nothing}
    return {name: plain(vars(value) if hasattr(value, "__dict__") else value) for name, value in found.items()}


def plain(data: Any) -> Any:
    """The same with only what JSON has: NaN becomes null, NumPy scalars become Python's."""
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if hasattr(data, "item"):
        data = data.item()
    return None if isinstance(data, float) and not math.isfinite(data) else data


def table(records: Sequence[Mapping[Any, Any]]) -> str:
    """Records as aligned columns; long text is cut."""
    if not records:
        return "nothing"
    names = list(records[0])
    rows = [[str(name) for name in names]] + [[_cell(record[name]) for name in names] for record in records]
    widths = [max(_width(row[index]) for row in rows) for index in range(len(names))]
    return "\n".join(
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _cell(value: Any) -> str:
    value = plain(value)
    text = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _width(text: str) -> int:
    """Columns on a terminal: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def print_frame(frame: pd.DataFrame, form: str) -> None:
    """A frame as csv, json or parquet, for other tools."""
    if form == "csv":
        frame.to_csv(sys.stdout, index=False, lineterminator="\n")
    elif form == "json":
        frame.to_json(sys.stdout, orient="records", force_ascii=False, double_precision=15, lines=False, indent=1)
        print()
    else:
        sys.stdout.buffer.write(frame.to_parquet(index=False))
    sys.stdout.flush()


def print_records(records: Sequence[Mapping[Any, Any]], quiet: bool, as_json: bool) -> None:
    if as_json:
        print(as_json_text(records))
    elif not quiet:
        print(table(records))


def as_json_text(data: Any) -> str:
    """Data as indented JSON."""
    return json.dumps(plain(data), ensure_ascii=False, indent=2, default=str)


def print_result(files: Sequence[Path], answer: Sequence[str]) -> None:
    """The files of a report with their sizes, then the answer."""
    width = max(len(str(file)) for file in files)
    for file in files:
        print(f"{file!s:<{width}}  {_size(file.stat().st_size):>9}")
    print()
    for line in answer:
        print(line)


def _size(size: int) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000  # type: ignore[assignment]
    return f"{size:.1f} GB"


class _Lines:
    """Says what is finished when the next step begins."""

    def __init__(self, name: str) -> None:
        self.name, self.last, self.evaluated = name, "", False

    def step(self, step: str) -> None:
        if self.evaluated:
            print(f"{self.name}: {self.last} ready", file=sys.stderr, flush=True)
        self.evaluated = self.evaluated or self.last == "matrix"
        self.last = step


@contextmanager
def progress_bar(name: str, quiet: bool, files: bool = False) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal; in a pipe nothing, or a plain line for each finished step after the matrix."""
    if quiet or not sys.stderr.isatty():
        lines = _Lines(name) if files and not quiet else None
        yield lines.step if lines else lambda step: None
        if lines:
            lines.step("")
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda step: bar.update(task, description=f"{name}: {step}")


def problem_records(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Problems as plain data."""
    return [asdict(problem) for problem in problems]


def complain(text: str) -> None:
    """One line on standard error."""
    print(f"gpubook: {text}", file=sys.stderr)


def print_problems(problems: Sequence[Problem]) -> None:
    """Every problem in a line, then how many there are."""
    for problem in problems:
        print(problem, file=sys.stderr)
    complain(f"{len(problems)} problem{'s' if len(problems) != 1 else ''} in the input")
