"""What documents say: one way alone, a method without targets, no price, how sure; texts that no font can draw."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from reports import confidence
from reports.catalog.read import read_catalog
from reports.errors import InputError
from reports.field import accuracy
from reports.field.predict import predict
from reports.field.reading import load
from reports.field.score import prepare, scored
from reports.pipeline import build, evaluate
from reports.render import pdf, view, view_money, view_nearby, view_summary
from reports.render.glyphs import texts_of
from reports.render.i18n import translator
from reports.render.wording import Wording
from reports.run import Run
from reports.scenario.read import read_scenario

ROOT = Path(__file__).resolve().parent.parent
SMALL = (
    "matrix.quantization=[fp8]", "matrix.gpu=[h100-sxm5-80gb]", "matrix.count=[2]", "matrix.interconnect=[nvlink]",
)  # fmt: skip


@cache
def run_of(*sets: str, scenario: str = "capacity-proposal") -> Run:
    catalog = read_catalog()
    return evaluate(read_scenario(ROOT / "scenarios" / f"{scenario}.yaml", catalog, sets=sets), catalog)


def text_of(run: Run, kind: str = "capacity-proposal", language: str = "en", *, without: str = "") -> str:
    """What a document says, without the section of one name."""
    translate = translator(language)
    templates = [each for each in pdf.section_templates(kind) if each[0] not in without.split()]
    context = view.context(run, language, translate, templates)
    html = pdf.page(kind, context, translate)
    translate.require_complete()
    return re.sub(r"\s+", " ", " ¦ ".join(texts_of(html)).replace("\u00a0", " "))


def words_of(run: Run, language: str = "en") -> Wording:
    return Wording(run, language, translator(language))


BUYING = r"\bbuy(ing)?\b|\bbought\b|\bowning\b|\bpurchase\b|break.?even|\bserver amount"
RENTING = r"\brent(ing|ed|s)?\b|break.?even|\binstances?\b"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("way", ["rent", "buy"])
def test_one_way_alone_never_speaks_of_the_other(way: str, language: str) -> None:
    run = run_of(f"costs.compare=[{way}]")
    other = {"rent": BUYING, "buy": RENTING}[way]
    if language == "zh":
        other = {"rent": "采购|自购|回本", "buy": "租|回本"}[way]
    said = text_of(run, language=language, without="evidence assumptions sources options")
    found = [match.group() for match in re.finditer(rf"[^¦]*(?:{other})[^¦]*", said, re.IGNORECASE)]
    assert not found


def test_the_chain_of_one_way_leaves_out_what_only_the_other_needs() -> None:
    both, rent, buy = (run_of(f"costs.compare=[{ways}]") for ways in ("rent,buy", "rent", "buy"))
    assert confidence.left_out(both) == frozenset()
    assert {"server_price", "capex_amount", "buy_npv_amount", "break_even_month"} <= confidence.left_out(rent)
    assert {"rent_amount_per_month", "rent_npv_amount", "saving_share"} <= confidence.left_out(buy)
    assert not confidence.left_out(rent) & {"rent_npv_amount", "annuity_factor", "stage_cards"}
    assert not confidence.left_out(buy) & {"buy_npv_amount", "annuity_factor", "stage_cards"}


def test_a_method_without_targets_says_so() -> None:
    said = text_of(run_of("method=rule-of-thumb"))
    assert "n/a ms" not in said
    assert "≤ n/a" not in said
    assert "This method has no latency targets" in said
    assert "this method predicts nothing that servers report, so it has no band" in said
    assert "meet the targets" not in said


def test_a_candidate_without_a_price_is_not_a_missed_target() -> None:
    run = run_of("prices.max_age_days=0", "costs.compare=[rent]")
    words = words_of(run)
    assert view_summary.headline(words, []) == (
        "Llama-3.3-70B-Instruct: meets the targets but has no price; see why each price was passed over."
    )
    said = text_of(run)
    assert "No card meets the targets" not in said
    assert "neither a rental offer nor a purchase price" not in said
    assert "Meets the targets with 16 cards, but has no price." in said


def test_one_is_singular() -> None:
    run = run_of(*SMALL, "costs.horizon_months=1")
    words = words_of(run)
    assert view_summary.compared(words).startswith("1 candidate compared (1 model × 1 weight format × 1 kind of card")
    assert view_summary.compared(words).endswith("; 1 of them meets the targets.")
    assert not re.search(r"\b1 (months|candidates|cards|instances|servers)\b", text_of(run, without="evidence"))


def test_figures_carry_their_band() -> None:
    run = run_of()
    (row,) = view_summary.rows(run.winners())
    cards, *_, latency = view_summary.figures_of_one(words_of(run), row)
    assert cards["band"] == f"({row['cards_needed_low']:.0f}–{row['cards_needed_high']:.0f} needed)"
    assert latency["band"] == f"({row['tpot_ms_low']:.1f}–{row['tpot_ms_high']:.1f})"
    assert row["tpot_ms_low"] < row["tpot_ms"] < row["tpot_ms_high"]


def test_support_counts_each_fact_once() -> None:
    run = run_of()
    found = confidence.support(run, run.winners())
    # the label is that of the binding limit, TPOT, which nobody measured for this model, card and format together
    assert dict(found.labels) == {"interpolated": 1}
    twice = pd.concat([run.winners(), run.winners()], ignore_index=True)
    assert confidence.support(run, twice).inputs == found.inputs
    assert found.judged_share == found.judged / found.inputs
    # every input that rests on judgement is marked so in the table of inputs of the same winner
    assumed = run.facts[(run.facts["basis"] == "judgement") & run.facts["column"].isin(confidence.inputs(run))]
    assert 0 < found.judged <= len(assumed)
    line = view_nearby.how_sure(words_of(run), view_summary.rows(run.winners()))
    assert line.startswith("How sure: interpolated; nearest measured servers: typical error ")
    share = f"{found.judged_share * 100:.0f} %"
    assert line.endswith(f"{found.judged} of {found.inputs} inputs ({share}) rest on judgement.")


def test_the_error_of_a_measured_row_is_predicted_over_measured_less_one() -> None:
    near = run_of().evidence
    assert len(near) > 4
    for row in near.to_dict("records"):
        assert row["error_share"] == pytest.approx(row["predicted"] / row["measured"] - 1)
    assert view_nearby.signed(words_of(run_of()), 0.143) == "+14 %"
    assert view_nearby.signed(words_of(run_of()), -0.09) == "−9 %"
    assert view_nearby.signed(words_of(run_of()), -0.001) == "0 %"


def test_documented_errors_are_those_of_the_shipped_rows() -> None:
    """The errors on file, taken from docs/ROOFLINE.md, are computed again where nothing is left out."""
    catalog = read_catalog()
    rows = scored(prepare(predict(load([], catalog), catalog)))
    documented = accuracy.left_out_errors()
    assert len(documented) == 9
    for line in documented.to_dict("records"):
        group = rows[(rows["metric"] == line["metric"]) & (rows["start"] == line["start"])]["error"].abs()
        assert len(group) == line["n"]
        assert group.median() == pytest.approx(line["median_"], abs=0.006)
        assert group.quantile(0.9) == pytest.approx(line["p90_"], abs=0.011)


def test_a_refit_knows_less_than_the_rows_on_file_say() -> None:
    compared = accuracy.comparison()
    ours = compared[compared["method"] == "roofline"].set_index("metric")["median_error_share"]
    assert dict(ours) == {"tpot_ms": 0.092, "ttft_ms": 0.295, "output_tok_s": 0.107}
    assert compared["source"].isin(read_catalog().sources).all()
    assert compared["as_of"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()


@pytest.mark.parametrize("name", ["errors.csv", "comparison.csv"])
def test_a_table_on_file_with_other_columns_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "measured").mkdir()
    for each in ("errors.csv", "comparison.csv"):
        text = (ROOT / "catalogs" / "measured" / each).read_text(encoding="utf-8")
        if each == name:
            text = text.replace("median_error_share", "median", 1)
        (tmp_path / "measured" / each).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"measured/{name}: has other columns"):
        accuracy.comparison(tmp_path)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_appendix_has_every_assumption_and_every_compared_method(language: str) -> None:
    run = run_of()
    said = text_of(run, "technical-appendix", language)
    for column in run.facts.loc[run.facts["scope"] == "assumption", "column"]:
        assert f" {column} " in said
    for figure in ("20.3", "42.5", "902", "159", "67.0", "882"):
        assert figure in said
    assert ("The sets of rows differ" if language == "en" else "各自的数据集并不相同") in said


def test_a_title_that_no_font_can_draw_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        build(
            ROOT / "scenarios" / "capacity-proposal.yaml",
            out=tmp_path,
            sets=["title.en=Plan \N{GRINNING FACE}", "client=مرحبا", "version=2"],
            progress=lambda step: None if step in ("catalogs", "scenario") else pytest.fail(step),
        )
    assert [problem.where for problem in caught.value.problems] == ["title.en", "client"]
    assert "capacity-proposal.yaml: title.en: " in str(caught.value)
    assert "U+1F600 GRINNING FACE" in str(caught.value)
    assert "U+0645 ARABIC LETTER MEEM" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_charts_of_one_way_have_one_line() -> None:
    for way, word in (("rent", "renting"), ("buy", "owning")):
        run = run_of(f"costs.compare=[{way}]")
        (row,) = view_summary.rows(run.winners())
        figure = view_money.cost_figure(words_of(run), row)
        assert figure["title"] == f"Llama-3.3-70B-Instruct: what {word} costs over 36 months"
        assert view_money.changes(words_of(run), row) == []


def test_a_missing_system_library_is_one_line_that_says_what_to_install(tmp_path: Path) -> None:
    """WeasyPrint raises OSError while it is imported; a stand-in that does the same."""
    package = tmp_path / "weasyprint"
    package.mkdir()
    (package / "__init__.py").write_text("raise OSError('cannot load library libpango-1.0-0')\n")
    root = str(Path(__file__).parent.parent)
    found = subprocess.run(
        [sys.executable, "-c", "import reports.render.pdf"],
        capture_output=True, text=True, check=False, env={"PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
    )  # fmt: skip
    last = found.stderr.strip().splitlines()[-1]
    assert last.startswith("reports.errors.MissingLibrary: PDF documents need Pango")
    assert "libharfbuzz-subset0" in last


def test_a_target_that_no_card_meets_names_the_closest() -> None:
    """A token in 0.01 ms is faster than any memory can be read; the closest is the option that misses it least."""
    run = run_of("targets.tpot_ms=0.01")
    words = words_of(run)
    headline = view_summary.headline(words, [])
    options = run.options.assign(miss=run.options["tpot_tail_ms"] / run.options["tpot_target_ms"])
    least = options[options["excuse_code"] == "tpot-target"].sort_values("miss").iloc[0]
    assert headline.startswith("No card meets the targets. The closest is ")
    assert words.gpu(least["gpu"]) in headline
    assert "per token with a single request; the target is 0.01 ms." in headline
    assert headline in text_of(run)
