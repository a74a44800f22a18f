"""Sections on card count, growth and switches: what they say, in both languages, and when they are left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scenario_text import read

from reports import pipeline
from reports.catalog.records import Catalog
from reports.plan import outlook, pools, switches
from reports.render import sections, view_count, view_growth, view_switches
from reports.render.growth_chart import cards_by_month
from reports.render.i18n import translator
from reports.render.wording import Wording
from reports.run import Run

TEXT = """\
title: {en: A growing service}
period: 2026-11
currency: CNY
region: china
workload:
  input_tokens: {distribution: long_tail, mean: 800, p95: 2500}
  output_tokens: {distribution: long_tail, mean: 256, p95: 1024}
  demand: {peak_concurrency: 600, growth: {2027-06: 1200}}
targets: {tpot_ms: 50, ttft_ms: 2000, availability: 0.9995}
matrix:
  model: [qwen3-32b]
  quantization: [fp8]
  gpu: [h20-141gb]
  count: [1, 2]
  interconnect: [pcie]
assumptions: {lead_time_hopper_weeks: 26}
costs: {horizon_months: 12, compare: [buy]}
"""
FLAT = TEXT.replace(", growth: {2027-06: 1200}", "").replace(", availability: 0.9995", "")


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, catalog: Catalog) -> Any:
    """Text of a scenario -> its run with the plan, nothing simulated."""
    monkeypatch.setattr(pipeline, "STAGES", (outlook.stage, switches.stage, pools.stage))
    monkeypatch.setattr(pipeline, "settle", lambda recommended: recommended({}))
    return lambda text: pipeline.evaluate(read(tmp_path, catalog, text), catalog)


def shown(run: Run, language: str) -> dict[str, Any]:
    """What each of the three sections gives its template; nothing may lack its translation."""
    translate = translator(language)
    document = sections.Document(Wording(run, language, translate))
    names = ("card_count", "growth", "switches")
    found = {each["id"]: each for each in sections.shown(document, [(name, "") for name in names])}
    translate.require_complete()
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_growing_service(planned: Any, language: str) -> None:
    run = planned(TEXT)
    found = shown(run, language)
    assert list(found) == ["card_count", "growth", "switches"]
    (order,) = [row for row in found["growth"]["orders"] if not row["late"]]
    # needed in June 2027, 26 weeks are six months: ordered in December 2026
    assert order["month"] == {"en": "December 2026", "zh": "2026年12月"}[language]
    assert order["arrival"] == {"en": "June 2027", "zh": "2027年6月"}[language]
    (count,) = found["card_count"]["rows"]
    assert count["target"].endswith({"en": "99.95\u00a0%", "zh": "99.95%"}[language])
    assert "<svg" in found["growth"]["figures"][0]["picture"]


def test_nothing_grows_nothing_is_said(planned: Any) -> None:
    found = shown(planned(FLAT), "en")
    assert "growth" not in found
    assert found["card_count"]["rows"][0]["spares"] == "0"
    assert found["card_count"]["rows"][0]["target"] == ""


def test_what_caution_costs_adds_up(planned: Any) -> None:
    run = planned(TEXT)
    words = Wording(run, "en", translator("en"))
    row = run.winners().iloc[0].to_dict()
    (line,) = view_count.caution(words, [row])
    parts = [int(line[name].replace(",", "").lstrip("+")) for name in ("bare", "headroom", "spares", "development",
                                                                       "rounding")]  # fmt: skip
    assert sum(parts) == int(line["total"].replace(",", "")) == row["bought_cards"]


def test_no_availability_is_rounded_up_to_the_whole(planned: Any) -> None:
    words = Wording(planned(FLAT), "en", translator("en"))
    assert view_count._fine(words, 0.99997) == "99.997\u00a0%"
    assert view_count._fine(words, 0.999999999) == "100.000000\u00a0%"
    assert view_count._fine(words, 0.9) == "90.00\u00a0%"


def test_every_switch_has_its_words() -> None:
    known = {value for name, value in vars(switches).items() if name.isupper() and isinstance(value, str)}
    assert set(view_switches.SAID) == known - {switches.UNCHANGED}
    assert set(view_growth.WHY) == {"now", "growth", "lease", "budget"}


def test_the_chart_marks_what_is_rented_and_ordered() -> None:
    picture = cards_by_month(
        "Cards", ["2026-11", "2026-12", "2027-01"], needed=[8, 16, 16], at_hand=[8, 8, 16], rented=[0, 8, 0],
        orders=[(0, "1")], unit="cards", number=lambda value: f"{value:g}",
        words=("needed", "at hand", "rented", "servers ordered"),
    )  # fmt: skip
    assert picture.count("<rect") == 4, "three columns at hand, one rented on top"
    for text in ("needed 16", "at hand 16", "rented 8", "servers ordered", "2026-11"):
        assert text in picture
