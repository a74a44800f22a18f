"""What a large sheet costs beside bare openpyxl: 100,000 rows of 30 columns, written by each in a process of its own.

``make bench`` appends a line to workbook.md beside this file. Bare is openpyxl's write-only mode with the same
cells and no styles; ours types every cell, fixes the times and reads the finished package through the lint.
Memory is the most that each process held.
"""

from __future__ import annotations

import datetime
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_matrix import processor
from openpyxl import Workbook

from reports.render.excel_writer import Rows, save

RESULTS = Path(__file__).resolve().parent / "workbook.md"
ROWS, TEXTS, NUMBERS = 100_000, 8, 22
REPEATS = 3


def cells(row: int) -> list[object]:
    """A row as the matrix has them: names first, then figures."""
    return [*(f"candidate {row % 997} {column}" for column in range(TEXTS)),
            *(row * column / 7 for column in range(1, NUMBERS + 1))]  # fmt: skip


def ours(path: Path) -> None:
    """Through the writer of the product."""
    book = Workbook()
    book.worksheets[0].title = "Matrix"

    def lines() -> Iterator[tuple[int, None, list[tuple[int, object, int]]]]:
        for row in range(1, ROWS + 1):
            yield row, None, [(column, value, 0) for column, value in enumerate(cells(row), 1)]

    save(book, {"Matrix": Rows(lines(), ROWS, TEXTS + NUMBERS)}, path, datetime.date(2026, 11, 30))


def bare(path: Path) -> None:
    """The same cells in openpyxl's write-only mode."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Matrix")
    for row in range(1, ROWS + 1):
        sheet.append(cells(row))
    book.save(path)


def measured(write: Callable[[Path], None]) -> tuple[float, float]:
    """Seconds, and the most memory in MB, of one run in this process."""
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        write(Path(folder) / "large.xlsx")
        took = time.perf_counter() - start
    return took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def best(write: Callable[[Path], None]) -> tuple[float, float]:
    """The least time of some runs, and the most memory, each run in a fresh process."""
    runs = []
    for _ in range(REPEATS):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            runs.append(pool.apply(measured, (write,)))
    return min(took for took, _ in runs), max(held for _, held in runs)


def main() -> None:
    """Measure and append."""
    (own_s, own_mb), (bare_s, bare_mb) = best(ours), best(bare)
    line = (
        f"| {datetime.datetime.now(datetime.UTC).date()} | {ROWS:,} x {TEXTS + NUMBERS} | {own_s:.1f} | {bare_s:.1f} | "
        f"{own_s / bare_s:.2f} | {ROWS / own_s:,.0f} | {own_mb:.0f} | {bare_mb:.0f} | {os.getloadavg()[0]:.1f} | "
        f"{processor()} |\n"
    )
    print(line, end="")
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(line)


if __name__ == "__main__":
    main()
