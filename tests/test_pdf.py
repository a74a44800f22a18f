"""PDF reports: packaged fonts only, every warning fails, the numbers of the frames, nothing read from outside."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from reports.catalog.read import read_catalog
from reports.cost import lines
from reports.cost.blocks import CASHFLOW, CASHFLOW_RESULTS, COST_BLOCKS
from reports.errors import RenderError
from reports.formulas.meta import info
from reports.methods import METHODS
from reports.pipeline import evaluate
from reports.render import (
    glyphs,
    i18n,
    math,
    pdf,
    sandbox,
    sections,
    symbols,
    view,
    view_money,
    view_options,
    view_summary,
)  # fmt: skip
from reports.render.i18n import translator
from reports.render.wording import Wording
from reports.run import Run
from reports.scenario.read import read_scenario

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = {
    "monthly-procurement": "monthly-procurement",
    "capacity-proposal": "capacity-proposal",
    "technical-appendix": "capacity-proposal",
}
"""Report kind -> the scenario it is tested with."""


@cache
def run_of(scenario: str) -> Run:
    catalog = read_catalog()
    return evaluate(read_scenario(ROOT / "scenarios" / f"{scenario}.yaml", catalog), catalog)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    folder = tmp_path_factory.mktemp("pdf")
    written = {}
    for kind, scenario in SCENARIOS.items():
        for language in ("en", "zh"):
            written[kind, language] = folder / f"{kind}.{language}.pdf"
            pdf.write(run_of(scenario), kind, language, written[kind, language])
    return written


def tool(*arguments: object) -> str:
    return subprocess.run([str(each) for each in arguments], capture_output=True, text=True, check=True).stdout


def text_of(path: Path, *options: str) -> str:
    return tool("pdftotext", *options, path, "-").replace("\u00a0", " ").replace("\u202f", " ")


EVERY = [(kind, language) for kind in SCENARIOS for language in ("en", "zh")]


@pytest.mark.parametrize("document", EVERY)
def test_only_packaged_fonts_are_embedded(document: tuple[str, str], documents: dict[tuple[str, str], Path]) -> None:
    rows = tool("pdffonts", documents[document]).splitlines()[2:]
    names = {re.sub(r"^[A-Z]{6}\+", "", row.split()[0]) for row in rows}
    own = {family.replace(" ", "-") for family in glyphs.FONTS}
    assert names
    assert all(any(name == each or name == f"{each}-Bold" for each in own) for name in names), names
    assert all(" yes yes yes " in row for row in rows), "embedded, subset and readable as text"


@pytest.mark.parametrize("document", EVERY)
def test_page_one_has_the_decision_and_its_money(
    document: tuple[str, str], documents: dict[tuple[str, str], Path]
) -> None:
    kind, language = document
    run = run_of(SCENARIOS[kind])
    words = Wording(run, language, translator(language))
    winners = view_summary.rows(run.winners())
    first = re.sub(r"[\s-]+", "", text_of(documents[document], "-l", "1"))  # a hyphen at a line's end is not extracted
    headline = view_summary.headline(words, winners)
    assert re.sub(r"[\s-]+", "", headline) in first


@pytest.mark.parametrize("document", EVERY)
def test_headline_numbers_of_every_winner_are_in_the_document(
    document: tuple[str, str], documents: dict[tuple[str, str], Path]
) -> None:
    kind, language = document
    run = run_of(SCENARIOS[kind])
    words = Wording(run, language, translator(language))
    text = re.sub(r"\s+", "", text_of(documents[document]))
    for row in view_summary.rows(run.winners()):
        for shown in (
            words.model(row["model"]), words.gpu(row["gpu"]), words.amount(row["monthly_cost_amount"]),
            words.short(row["tpot_ms"]), words.short(row["ttft_ms"], 4),
            words.price(row[f"{row['way']}_amount_per_mtok"]),
        ):  # fmt: skip
            assert re.sub(r"\s+", "", shown) in text, (row["model"], shown)


def test_chinese_documents_are_chinese(documents: dict[tuple[str, str], Path]) -> None:
    text = text_of(documents["monthly-procurement", "zh"])
    for message in ("各模型建议", "方案比较", "输入与假设", "请先阅读"):
        assert message in text
    assert "万元" in text
    assert "2026年11月" in text


@pytest.mark.parametrize("document", EVERY)
def test_metadata_bookmarks_and_size(document: tuple[str, str], documents: dict[tuple[str, str], Path]) -> None:
    path = documents[document]
    about = tool("pdfinfo", "-isodates", path)
    run = run_of(SCENARIOS[document[0]])
    assert run.scenario.title[document[1]] in about
    assert f"CreationDate:    {run.scenario.as_of.isoformat()}" in about
    assert re.search(r"Tagged: +yes", about)
    assert path.stat().st_size < 2_000_000
    outline = tool("pdftohtml", "-xml", "-i", "-stdout", path).partition("<outline>")[2]
    assert translator(document[1])("Inputs and assumptions") in outline
    in_appendix = document[0] == "technical-appendix"  # the decision documents leave the chain to it
    assert (translator(document[1])("Evidence chain") in outline) is in_appendix


def test_the_same_run_gives_the_same_bytes(documents: dict[tuple[str, str], Path], tmp_path: Path) -> None:
    again = tmp_path / "again.pdf"
    pdf.write(run_of("capacity-proposal"), "capacity-proposal", "en", again)
    assert again.read_bytes() == documents["capacity-proposal", "en"].read_bytes()


def test_chinese_renders_without_any_font_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "fonts.conf").write_text(
        f'<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>{tmp_path}/none</dir>'
        f"<cachedir>{tmp_path}/cache</cachedir></fontconfig>",
        encoding="utf-8",
    )
    script = (
        "from reports.render import pdf; from pathlib import Path;"
        "html = '<html lang=zh-Hans><head><title>t</title></head><body><p>月度采购 租赁 Rent 12.5 ≤</p></body>';"
        f"Path({str(tmp_path / 'x.pdf')!r}).write_bytes(pdf.document(html, 'capacity-proposal', identifier='x'))"
    )
    environment = os.environ | {"FONTCONFIG_FILE": str(tmp_path / "fonts.conf"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "月度采购 租赁 Rent 12.5" in text_of(tmp_path / "x.pdf")


def html(body: str) -> str:
    return f'<html lang="en"><head><title>t</title></head><body>{body}</body></html>'


@pytest.mark.parametrize(
    "element",
    [
        '<img alt="x" src="file:///etc/passwd">',
        '<img alt="x" src="http://127.0.0.1:9/x.png">',
        '<link rel="attachment" href="file:///etc/passwd">',
        '<link rel="stylesheet" href="https://example.org/x.css">',
        '<object data="ftp://example.org/x"></object>',
        '<p style="background: url(file:///etc/hostname)">x</p>',
        '<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd" width="9" height="9"/></svg>',
    ],
)
def test_nothing_outside_is_read(element: str) -> None:
    with pytest.raises(RenderError, match=r"may not read|engine warns"):
        pdf.document(html(element), "capacity-proposal", identifier="x")


def test_a_packaged_file_may_not_lead_out_of_its_folder() -> None:
    address = f"{glyphs.fonts_folder().as_uri()}/../css/document.css"
    with pytest.raises(RenderError):
        pdf.PackagedFilesOnly().fetch(address)


def test_any_warning_fails_the_document() -> None:
    with pytest.raises(RenderError, match="colour"):
        pdf.document(html('<p style="colour: red">x</p>'), "capacity-proposal", identifier="x")


def test_a_character_without_glyph_is_named() -> None:
    with pytest.raises(RenderError, match=r"Project \\?.* U\+1F600 GRINNING FACE"):
        pdf.document(html("<p>Project \N{GRINNING FACE}</p>"), "capacity-proposal", identifier="x")


def test_gb2312_and_western_punctuation_have_glyphs() -> None:
    hanzi = [bytes([high, low]).decode("gb2312", "ignore") for high in range(0xB0, 0xF8) for low in range(0xA1, 0xFF)]
    assert glyphs.missing("".join(hanzi)) == []
    assert len("".join(hanzi)) == 6763  # the number of hanzi in GB/T 2312-1980
    assert glyphs.missing("“Zürich” – Málaga … ≤ ≥ → × ± € ¥ ½ 万亿") == []


def page_with(**changes: Any) -> str:
    run = run_of("capacity-proposal")
    translate = translator("en")
    context = view.context(run, "en", translate, pdf.section_templates("capacity-proposal"))
    context["document"] |= changes
    return pdf.page("capacity-proposal", context, translate)


def test_markup_in_titles_is_shown_not_obeyed() -> None:
    page = page_with(title='<script>alert(1)</script><img src="file:///etc/passwd">', client="A & B <i>")
    assert "<script>" not in page
    assert 'src="file:' not in page
    assert "&lt;script&gt;" in page
    assert "A &amp; B &lt;i&gt;" in page


def test_a_name_the_templates_do_not_get_is_an_error() -> None:
    run = run_of("capacity-proposal")
    translate = translator("en")
    context = view.context(run, "en", translate, pdf.section_templates("capacity-proposal"))
    del context["summary"]["headline"]
    with pytest.raises(RenderError, match="headline"):
        pdf.page("capacity-proposal", context, translate)


@pytest.fixture
def own_templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the templates that a test may change."""
    folder = tmp_path / "templates"
    shutil.copytree(ROOT / "templates", folder, ignore=shutil.ignore_patterns("fonts"))
    for module in (pdf, i18n, sandbox):
        monkeypatch.setattr(module, "templates_folder", lambda: folder)
    sandbox._environment.cache_clear()
    yield folder
    sandbox._environment.cache_clear()


def test_a_section_is_a_template_a_view_function_and_a_name_in_one_report_kind(
    own_templates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections, "SECTIONS", dict(sections.SECTIONS))
    monkeypatch.setattr(pdf, "SECTIONS", sections.SECTIONS)

    @sections.section("Harvest")
    def harvest(document: sections.Document) -> dict[str, Any]:
        return {"count": len(document.winners)}

    own = own_templates / "capacity-proposal"
    (own / "sections").mkdir()
    (own / "sections" / "harvest.html.j2").write_text(
        "<h1 id=harvest>{{ section.title }}: {{ section.count }} in all</h1>"
    )
    document = own / "document.html.j2"
    document.write_text(document.read_text().replace('"options",', '"options", "harvest",'))
    page = page_with()
    assert "<h1 id=harvest>Harvest: 1 in all</h1>" in page
    assert '<a href="#harvest">Harvest</a>' in page
    assert "harvest" not in dict(pdf.section_templates("monthly-procurement"))
    assert "harvest" in dict(pdf.section_templates("capacity-proposal"))


def test_a_section_without_template_or_view_function_says_which(own_templates: Path) -> None:
    document = own_templates / "capacity-proposal" / "document.html.j2"
    text = document.read_text()
    document.write_text(text.replace('"options",', '"harvest",'))
    with pytest.raises(
        RenderError, match=r"section harvest has no template: write templates/sections/harvest\.html\.j2"
    ):
        pdf.section_templates("capacity-proposal")
    with pytest.raises(RenderError, match=r"section harvest has no view function in reports/render/sections\.py"):
        pdf.section_templates("capacity-proposal")
    document.write_text(text.replace("section_names", "chapters"))
    with pytest.raises(RenderError, match=r"has no line .*section_names"):
        pdf.section_templates("capacity-proposal")


def test_every_section_is_used_and_every_template_belongs_to_one() -> None:
    named = {name for kind in pdf.kinds() for name, _ in pdf.section_templates(kind)}
    assert named == set(sections.SECTIONS)
    assert {path.name.removesuffix(".html.j2") for path in (ROOT / "templates").glob("**/sections/*.j2")} == named


def test_the_report_about_one_service_has_it_and_the_one_about_many_has_not() -> None:
    for name, has in (("capacity-proposal", True), ("monthly-procurement", False)):
        found = view_options.front_figure(Wording(run_of(name), "en", translator("en")))
        assert bool(found) == has, name
    one = Wording(run_of("capacity-proposal"), "en", translator("en"))
    nothing = dataclasses.replace(one.run, options=one.run.options.assign(rank=float("nan")))
    assert view_options.front_figure(dataclasses.replace(one, run=nothing)) == {}


def test_cards_and_money_of_the_options_table_agree_with_page_one() -> None:
    run = run_of("monthly-procurement")
    words = Wording(run, "en", translator("en"))
    groups = {group["model"]: group for group in view_options.by_service(words)}
    for row in view_summary.rows(run.winners()):
        (shown,) = [each for each in groups[words.model(row["model"])]["rows"] if each["winner"]]
        way, paid = ("bought", "bought_cards") if row["way"] == "buy" else ("rented", "rented_cards")
        assert shown[way]["cards"] == words.count(row[paid])
        assert f"{shown[way]['cards']} × {words.gpu(row['gpu'])}" in view_summary.decision(words, row)
        assert shown["cards"] == words.count(row["demand_cards"])


def test_what_is_counted_follows_the_cost_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    words = Wording(run_of("capacity-proposal"), "en", translator("en"))
    said = view_money.counted(words)
    assert said.startswith(
        "Renting counts: rent, egress, storage, credit for missed availability, tax not recovered, early end of the "
        "rent. Owning counts: servers,"
    )
    assert said.endswith("Not included: income tax, land and buildings.")
    kind = dataclasses.replace(lines.LINES[-2], line="land", label="Land")
    monkeypatch.setattr(lines, "LINES", (*lines.LINES, kind))
    said = view_money.counted(words)
    assert "value left at the end, land." in said
    assert said.endswith("Not included: income tax.")


def chains() -> dict[str, dict[str, set[str]]]:
    """For every method: LaTeX symbol -> the columns it stands for in one printed chain."""
    found: dict[str, dict[str, set[str]]] = {}
    for method in METHODS.values():
        blocks = (*method.blocks(), *COST_BLOCKS)
        known = symbols.symbols(function for block in blocks for function in block.formulas)
        columns = {info(function).name for block in blocks for function in block.formulas}
        columns |= {block.resolve(name) for block in blocks for each in block.formulas for name in info(each).inputs}
        taken = found.setdefault(method.name, {})
        for column in {name.partition("@")[0] for name in columns}:
            taken.setdefault(known(column), set()).add(column)
        for row in (*CASHFLOW, *CASHFLOW_RESULTS):
            taken.setdefault(symbols.upright(row.symbol), set()).add(row.column)
    return found


def test_a_symbol_means_one_thing_in_a_chain() -> None:
    batch = {"batch_requests", "load_requests", "limit_requests", "one_more_requests"}  # one symbol at three points
    twice = {
        (method, symbol): columns
        for method, taken in chains().items()
        for symbol, columns in taken.items()
        if len(columns - batch) > 1
    }
    assert twice == {}


def test_a_column_without_a_symbol_is_written_out() -> None:
    symbol = symbols.symbols(())("insurance_share")
    assert symbol == r"\mathrm{insurance\ share}"
    assert "<title>x</title>" in math.typeset(rf"{symbol} = \frac{{1}}{{2}}", "x").svg


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(RenderError, match="capacity-proposal"):
        pdf.page("no-such-kind", {}, translator("en"))


def test_equations_fit_their_column_and_repeat_exactly() -> None:
    right = " + ".join(rf"\frac{{a_{{{n}}}}}{{b \cdot 12345}}" for n in range(30))
    lines = math.lines("x", right, 200.0, "a long sum")
    assert len(lines) > 2
    assert all(line.width_pt <= 200.01 for line in lines)
    assert lines == math.lines("x", right, 200.0, "a long sum")
    assert all("<title>a long sum</title>" in line.svg for line in lines)


def test_an_equation_that_cannot_be_typeset_is_an_error() -> None:
    with pytest.raises(RenderError):
        math.typeset(r"\frac{1}{")


def test_percentile_targets_are_labelled(documents: dict[tuple[str, str], Path]) -> None:
    assert run_of("monthly-procurement").scenario.targets is not None
    assert "The TTFT target is a P99: a closed form finds the load, and a simulation checks the short list" in re.sub(
        r"\s+", " ", text_of(documents["monthly-procurement", "en"])
    )


def test_quality_notes_stand_where_a_narrower_format_wins(documents: dict[tuple[str, str], Path]) -> None:
    run = run_of("monthly-procurement")
    words = Wording(run, "en", translator("en"))
    text = re.sub(r"\s+", "", text_of(documents["monthly-procurement", "en"]))
    notes = [view_summary.quality_note(words, row) for row in view_summary.rows(run.winners())]
    assert any(notes)
    assert all(re.sub(r"\s+", "", note) in text for note in notes)


def test_a_proposal_names_its_risks_and_is_signed_for_its_inputs(documents: dict[tuple[str, str], Path]) -> None:
    """The hash is that of the files a reader can hash again: their digests, one after the other."""
    run = run_of("capacity-proposal")
    joined = "".join(code for _, code in (*run.scenario.files, *run.catalog.files))
    said = " ".join(text_of(documents["capacity-proposal", "en"]).split())
    assert f"hash {hashlib.sha256(joined.encode()).hexdigest()[:16]}" in said
    assert all(words in said for words in ("Risks and exclusions", "Not included:", "Outside every amount", "Sign-off"))
    assert "Sign-off" not in text_of(documents["monthly-procurement", "en"])
