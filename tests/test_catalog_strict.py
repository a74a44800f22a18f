"""What a catalog file must not say: each is refused with its file and line, all at once; and what overlays do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reports import strict_yaml
from reports.catalog.entries import KINDS, read_entries
from reports.catalog.read import read_catalog
from reports.catalog.select import assumption
from reports.errors import InputError, Problem

GPU = """\
name: My card
aliases: [MC1]
vendor: Ours
arch: New
pcie: pcie5
host: dgx-h100
source: own-judgement
at: 2026-11-30
basis: judgement
confirmed: false
facts:
  memory_nominal_gb: 80
  memory_usable_gib: 79
  peak_16bit_tflops: 100
  peak_int8_tops: 200
  tdp_w: 300
  kernel_time_factor: 1
  rocm: 0
"""
RENTAL = (
    "offer_id,gpu,provider,segment,instance,instance_cards,region,currency,price_per_card_hour,term,as_of,source,basis\n"
)
OFFER = "mine,l40s,Us,neocloud,big,8,us,USD,1.5,on-demand,2026-11,own-judgement,judgement\n"
ASSUMPTIONS = "name,region,currency,low,mid,high,unit,basis,source,checked_on\n"


def refusals(folder: Path, files: dict[str, str]) -> list[str]:
    """What is wrong with an overlay of these files."""
    overlay = folder / "mine"
    for name, text in files.items():
        path = overlay / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refusal:
        read_catalog([overlay])
    return [str(problem) for problem in refusal.value.problems]


def changed(old: str, new: str, text: str = GPU) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (changed("vendor: Ours", "vendr: Ours"), "CARD:3", "unknown key"),
        (changed("tdp_w: 300", "tdp: 300"), "CARD:16", 'did you mean "tdp_w"'),
        (changed("source: own-judgement\n", ""), "CARD:1", "source"),
        (changed("own-judgement", "own-judgment"), "CARD:7", 'did you mean "own-judgement"'),
        (changed("tdp_w: 300", "tdp_w: .inf"), "CARD:16", "number"),
        (changed("tdp_w: 300", "tdp_w: -300"), "CARD:16", "0 or more"),
        (changed("tdp_w: 300", "tdp_w: 0"), "CARD:16", "more than 0"),
        (changed("tdp_w: 300", "tdp_w: many"), "CARD:16", "number"),
        (changed("tdp_w: 300", "tdp_w: {value: 300, low: 310}"), "CARD:16", "low <= value <= high"),
        (changed("tdp_w: 300", "tdp_w: {value: 300, source: nowhere}"), "CARD:16", "unknown source"),
        (changed("rocm: 0", "rocm: 2"), "CARD:18", "0 or 1"),
        (changed("peak_int8_tops: 200", "peak_int8_tops: 99"), "CARD:15", "below peak_16bit_tflops"),
        (changed("memory_usable_gib: 79", "memory_usable_gib: 81"), "CARD:13", "more than the card has"),
        (changed("  memory_nominal_gb: 80\n", ""), "CARD:", "memory_nominal_gb is missing"),
        (changed("[MC1]", "[H100]"), "CARD:2", "names another entry too"),
        (changed("pcie: pcie5", "pcie: pcie9"), "CARD:5", "unknown link"),
        (changed("pcie: pcie5", "pcie: nvswitch-ampere"), "CARD:5", "link of another kind"),
        (changed("host: dgx-h100", "host: dgx-h10"), "CARD:6", 'did you mean "dgx-h100"'),
        (changed("at: 2026-11-30", "at: 30.11.2026"), "CARD:8", "is not a date"),
        (changed("basis: judgement", "basis: guess"), "CARD:9", "measured, published"),
        (changed("host: dgx-h100", "host: dgx-h100\nnvlink: nvswitch-ampere"), "CARD:", "nvlink_domain"),
        (changed("host: dgx-h100", "host: dgx-h100\nrelease_year: 0"), "CARD:7", "more than 0"),
        (
            changed("basis: judgement", "basis: published").replace("300", "{value: 300, basis: judgement}"),
            "CARD:16", "add source: own-judgement",
        ),
    ],
)
def test_entry_is_refused(tmp_path: Path, text: str, place: str, words: str) -> None:
    found = refusals(tmp_path, {"gpus/my-card.yaml": text})
    place = place.replace("CARD", "mine/gpus/my-card.yaml")
    assert any(each.startswith(place) and words in each for each in found), found


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (OFFER.replace("l40s", "l40s-pro"), ":2", 'did you mean "l40s"'),
        (OFFER.replace("USD", "GBP"), ":2", "currency"),
        (OFFER.replace(",1.5,", ",0,"), ":2", "more than 0"),
        (OFFER.replace(",1.5,", ",nan,"), ":2", "is not a number"),
        (OFFER.replace(",8,", ",0,"), ":2", "at least 1"),
        (OFFER.replace("2026-11", "11/2026"), ":2", "is not a date"),
        (OFFER.replace("own-judgement", ""), ":2", "source: is empty"),
        (OFFER.replace("own-judgement", "who"), ":2", "unknown source"),
        (OFFER.replace("on-demand", "reserved-long"), ":2", "rental term"),
        (OFFER.replace("neocloud", "cloud"), ":2", "segment"),
        (OFFER + OFFER, ":3", "was given before"),
        (OFFER + "one,two\n", ":3", "number of cells"),
    ],
)
def test_offer_is_refused(tmp_path: Path, text: str, place: str, words: str) -> None:
    found = refusals(tmp_path, {"prices/rental.csv": RENTAL + text})
    assert any(each.startswith(f"mine/prices/rental.csv{place}") and words in each for each in found), found


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("safety_factor,global,,0.9,0.8,0.7,ratio,judgement,own-judgement,2026-11-30\n", "low <= mid <= high"),
        ("safety_factor,global,,0.7,0.8,0.9,percent,judgement,own-judgement,2026-11-30\n", "another unit"),
        ("safety_factor,mars,,0.7,0.8,0.9,ratio,judgement,own-judgement,2026-11-30\n", "region"),
        ("pue,global,USD,1.1,1.2,1.3,ratio,judgement,own-judgement,2026-11-30\n", "does not agree with the unit"),
        ("residual_share,global,,0.1,0.2,0.3,ratio,judgement,own-judgement,2026-11-30\n", "is interpolated"),
    ],
)
def test_assumption_is_refused(tmp_path: Path, row: str, words: str) -> None:
    found = refusals(tmp_path, {"assumptions.csv": ASSUMPTIONS + row})
    assert any(each.startswith("mine/assumptions.csv:2") and words in each for each in found), found


def test_unknown_column_and_missing_column(tmp_path: Path) -> None:
    found = refusals(tmp_path, {"prices/rental.csv": RENTAL.replace("currency", "curency") + OFFER})
    assert any('did you mean "currency"' in each for each in found)
    assert any('a column is missing; expected "currency"' in each for each in found)


def test_misspelt_folder_is_refused(tmp_path: Path) -> None:
    found = refusals(tmp_path, {"gpu/my-card.yaml": GPU})
    assert found[0].startswith("mine/gpu/my-card.yaml")
    assert 'did you mean "gpus"' in found[0]


def test_missing_overlay_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read_catalog([tmp_path / "nowhere"])


def test_all_problems_at_once(tmp_path: Path) -> None:
    bad = changed("tdp_w: 300", "tdp_w: -1", changed("rocm: 0", "rocm: 7"))
    found = refusals(tmp_path, {"gpus/my-card.yaml": bad, "prices/rental.csv": RENTAL + OFFER.replace("USD", "GBP")})
    assert {each.split(":")[0] for each in found} == {"mine/gpus/my-card.yaml", "mine/prices/rental.csv"}


def test_everything_about_one_entry_at_once(tmp_path: Path) -> None:
    """Schema, facts and references in one phase; a refused value has one problem, not a second that follows from it."""
    text = changed("vendor: Ours\n", "")
    text = changed("pcie: pcie5", "pcie: pcie9", text)
    text = changed("source: own-judgement", "source: nowhere", text)
    text = changed("basis: judgement", "basis: guess", text)
    text = changed("  memory_nominal_gb: 80\n", "", text)
    text = changed("peak_16bit_tflops: 100", "peak_16bit_tflops: many", text)
    text = changed("tdp_w: 300", "tdp: 300", text)
    found = refusals(tmp_path, {"gpus/my-card.yaml": changed("rocm: 0", "rocm: 2", text)})
    words = ("vendor: is missing", "unknown link", "unknown source", "guess", "memory_nominal_gb is missing", "many",
             'did you mean "tdp_w"', "0 or 1")  # fmt: skip
    assert [word for word in words if not any(word in each for each in found)] == []
    assert len(found) == len(words), found


@pytest.mark.parametrize("card", [changed("rocm: 0", "rocm: 2"), "name: [torn", changed("name: My card\n", "")])
def test_one_bad_card_is_one_problem(tmp_path: Path, card: str) -> None:
    """Who refers to it is not told that it is unknown."""
    offer = RENTAL + OFFER.replace("l40s", "my-card")
    found = refusals(tmp_path, {"gpus/my-card.yaml": card, "prices/rental.csv": offer})
    assert len(found) == 1, found


def test_one_bad_row_of_a_table_is_one_problem(tmp_path: Path) -> None:
    sources = "id,title,locator,licence,checked_on\nown-note,A note,here,own work,30.11.2026\n"
    pue = ASSUMPTIONS + "pue,global,,1.3,1.2,1.1,ratio,judgement,own-note,2026-11-30\n"
    card = changed("source: own-judgement", "source: own-note")
    found = refusals(tmp_path, {"sources.csv": sources, "assumptions.csv": pue, "gpus/my-card.yaml": card})
    assert [each.split(" ")[0] for each in found] == ["mine/assumptions.csv:2:", "mine/sources.csv:2:"]


WEIRD = (
    None, True, -1, 0, 1e308, "", "x", [], [None], {}, {"a": 1}, {"value": "x"}, {"value": {"value": 1}}, "2026-02-30",
)  # fmt: skip


@pytest.mark.parametrize("name", ["gpus/l40s", "models/deepseek-v3", "quantizations/mxfp4", "links/pcie4"])
def test_any_value_anywhere_is_accepted_or_refused_on_purpose(tmp_path: Path, repository: Path, name: str) -> None:
    whole = strict_yaml.read(repository / "catalogs" / f"{name}.yaml").data
    kind = next(kind for kind in KINDS if name.startswith(kind.folder))
    (tmp_path / kind.folder).mkdir()
    file = tmp_path / kind.folder / "weird.yaml"
    paths = [(key,) for key in whole]
    paths += [(key, inner) for key, value in whole.items() if isinstance(value, dict) for inner in value]
    for path in paths:
        for weird in WEIRD:
            data = json.loads(json.dumps(whole))
            inside = data[path[0]] if len(path) > 1 else data
            inside[path[-1]] = weird
            file.write_text(json.dumps(data), encoding="utf-8")
            problems: list[Problem] = []
            (found,) = read_entries(tmp_path, kind, "mine/", problems, set())
            assert found.entry.id == "weird"


def test_impossible_model_is_refused(tmp_path: Path, repository: Path) -> None:
    text = (repository / "catalogs/models/qwen3-30b-a3b.yaml").read_text(encoding="utf-8")
    found = refusals(tmp_path, {"models/qwen3-30b-a3b.yaml": changed("experts: 128", "experts: 1280", text)})
    assert "the experts alone have more parameters than the model" in found[0]


def test_a_slower_format_with_a_reason_loads(tmp_path: Path) -> None:
    text = changed("peak_int8_tops: 200", "peak_int8_tops: 99") + "exceptions:\n  peak_int8_tops: units were cut\n"
    path = tmp_path / "mine" / "gpus" / "my-card.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    assert read_catalog([tmp_path / "mine"]).gpus["my-card"].value("peak_int8_tops") == 99


def test_overlay_replaces_and_appends(tmp_path: Path, repository: Path) -> None:
    overlay = tmp_path / "mine"
    (overlay / "gpus").mkdir(parents=True)
    (overlay / "prices").mkdir()
    card = (repository / "catalogs/gpus/l40s.yaml").read_text(encoding="utf-8")
    (overlay / "gpus/l40s.yaml").write_text(changed("tdp_w: 350", "tdp_w: 300", card), encoding="utf-8")
    (overlay / "prices/rental.csv").write_text(RENTAL + OFFER, encoding="utf-8")
    (overlay / "assumptions.csv").write_text(
        ASSUMPTIONS + "pue,eu,,1.1,1.2,1.3,ratio,judgement,own-judgement,2026-11-30\n", encoding="utf-8"
    )
    shipped, ours = read_catalog(), read_catalog([overlay])
    assert shipped.gpus["l40s"].value("tdp_w") == 350
    assert ours.gpus["l40s"].value("tdp_w") == 300
    assert ours.gpus["l40s"].file == "mine/gpus/l40s.yaml"
    assert len(ours.rental) == len(shipped.rental) + 1
    last = ours.rental.iloc[-1]
    assert (last["offer_id"], last["as_of"], last["precision"], last["status"]) == ("mine", "2026-11-01", "month", "ok")
    assert assumption(ours, "pue", "eu").mid == 1.2
    assert assumption(shipped, "pue", "eu").region == "global"
    assert ours.overlays == (str(overlay),)
    assert len(ours.files) == len(shipped.files) + 3
