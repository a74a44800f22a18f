"""What a PDF costs beside the PDF engine alone: the whole document against the same HTML and style sheets, bare.

``make bench`` appends one line to pdf.md beside this file. Bare means no tags, no archive profile, no attachments, no
checks of glyphs and warnings; both are the best of three runs in one process, fonts read once before.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pikepdf
import weasyprint
from bench_matrix import processor
from weasyprint.text.fonts import FontConfiguration

from reports.catalog.read import read_catalog
from reports.pipeline import evaluate
from reports.render import pdf, view
from reports.render.i18n import translator
from reports.scenario.read import read_scenario

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "pdf.md"
SCENARIO, KIND, LANGUAGE = "capacity-proposal", "capacity-proposal", "en"
REPEATS = 3


def best_s(action: Callable[[], object]) -> float:
    """The least of three times, in seconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure and append."""
    catalog = read_catalog()
    run = evaluate(read_scenario(HERE.parents[1] / "scenarios" / f"{SCENARIO}.yaml", catalog), catalog)
    translate = translator(LANGUAGE)
    html = pdf.page(KIND, view.context(run, LANGUAGE, translate, pdf.section_templates(KIND)), translate)
    texts = (*pdf.style_sheets(KIND), pdf.own_style(run.scenario))

    def bare() -> None:
        fonts, fetcher = FontConfiguration(), pdf.PackagedFilesOnly()
        sheets = [weasyprint.CSS(string=text, font_config=fonts, url_fetcher=fetcher) for text in texts]
        weasyprint.HTML(string=html, base_url="about:blank", url_fetcher=fetcher).write_pdf(
            stylesheets=sheets, font_config=fonts
        )

    with TemporaryDirectory() as folder:
        path = Path(folder) / "document.pdf"
        whole_s = best_s(lambda: pdf.write(run, KIND, LANGUAGE, path))
        with pikepdf.open(path) as written:
            pages = len(written.pages)
    bare_s = best_s(bare)
    load = os.getloadavg()[0]
    line = (
        f"| {datetime.datetime.now(datetime.UTC).date()} | {pages} | {whole_s:.1f} | {bare_s:.1f} | "
        f"{whole_s / bare_s:.2f} | {pages / whole_s:.1f} | {load:.1f} | {processor()} |\n"
    )
    print(line, end="")
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(line)


if __name__ == "__main__":
    main()
