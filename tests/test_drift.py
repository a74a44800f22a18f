"""Drift: two calibrations are compared by their coefficients and by what they do to typical answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reports.catalog.read import read_catalog
from reports.errors import InputError
from reports.field.drift import METRICS, compare, lines, references

HEAD = "name,region,currency,low,mid,high,unit,basis,source,locator,checked_on,note\n"


def an_overlay(folder: Path, name: str, **coefficients: tuple[float, float, float]) -> Path:
    place = folder / name
    place.mkdir()
    (place / "sources.csv").write_text(
        f"id,title,locator,licence,checked_on\n{name},Own runs,a file,own work,2026-09-30\n", encoding="utf-8"
    )
    units = {"eta_weights": "ratio", "kernel_floor_us": "us", "overhead_base_gib": "GiB"}
    rows = [
        f"{key},global,,{low},{mid},{high},{units[key]},measured,{name},,2026-09-30,\n"
        for key, (low, mid, high) in coefficients.items()
    ]
    (place / "assumptions.csv").write_text(HEAD + "".join(rows), encoding="utf-8")
    return place


def test_every_reference_is_in_the_catalog(repository: Path) -> None:
    asked = (repository / "catalogs" / "measured" / "references.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert len(references(read_catalog())) == len(METRICS) * len(asked)


def test_a_coefficient_of_memory_moves_the_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """8 GiB more of an L40S (44.4 GiB usable, 0.9 of it for the engine, 9 GiB of weights) are about a quarter of its
    KV room; latencies hardly hear of it."""
    from reports.cli import run_command

    place = an_overlay(tmp_path, "q3", overhead_base_gib=(7, 8.19, 9))
    drift = compare([place])
    by_metric = drift.answers.groupby("metric")["change"].agg(lambda change: change.abs().max())
    assert by_metric["kv_cache_tokens"] > 0.2
    assert by_metric["tpot_ms"] < 0.1  # only where memory limits the requests that run
    assert not drift.within
    assert run_command(["validate", "--drift", str(place)]) == 1
    assert "NOT within 10%" in capsys.readouterr().out
    assert run_command(["validate", "--drift", str(place), "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["within"], record["limit"]) == (False, 0.1)


def test_an_overlay_of_one_card_is_asked_about_that_card(tmp_path: Path) -> None:
    place = tmp_path / "q3"
    (place / "measured").mkdir(parents=True)
    (place / "sources.csv").write_text(
        "id,title,locator,licence,checked_on\nq3,Own runs,a file,own work,2026-09-30\n", encoding="utf-8"
    )
    (place / "assumptions.csv").write_text(
        HEAD.replace("note", "note,engine,gpu")
        + "eta_weights,global,,0.5,0.6,0.7,ratio,measured,q3,,2026-09-30,,vllm,l20\n",
        encoding="utf-8",
    )
    unasked = compare([place])
    assert list(unasked.coefficients["name"]) == ["eta_weights of l20 under vllm"]
    assert unasked.within  # no typical question is about this card
    (place / "measured" / "calibration_rows.csv").write_text(
        "model_name,gpu_name,metric,value,input_tokens,output_tokens,batch_requests,quantization,engine,tensor_parallel\n"
        "qwen2.5-7b-instruct,l20,tpot_ms,25,512,256,4,fp16,vllm,1\n",
        encoding="utf-8",
    )
    asked = compare([place])
    assert not asked.within  # weights read a third slower, at four requests most of a step
    assert asked.answers.loc[~asked.answers["within"], "configuration"].str.contains("1 x l20").all()


def test_from_to_and_change(tmp_path: Path) -> None:
    # 2 % below the shipped share of bandwidth, which lies inside its interval
    shipped = read_catalog().assumptions["eta_weights", "global"].mid
    drift = compare([an_overlay(tmp_path, "q3", eta_weights=(0.5 * shipped, 0.98 * shipped, shipped))])
    moved = drift.coefficients.set_index("name")
    assert list(moved.index) == ["eta_weights"]
    row = moved.loc["eta_weights"]
    assert (row["before"], row["after"]) == (shipped, 0.98 * shipped)
    assert row["change"] == pytest.approx(-0.02)
    assert bool(row["inside"])
    # dense weights are a part of a step: not faster, and slower by less than the coefficient itself
    tokens = drift.answers[drift.answers["metric"] == "tpot_ms"]["change"]
    assert ((tokens >= 0) & (tokens < 1 / 0.98 - 1)).all()
    assert tokens.max() > 0.005
    assert drift.within
    assert "within 10%" in lines(drift)[-1]
    assert "NOT" not in lines(drift)[-1]


def test_two_quarters_and_a_large_move(tmp_path: Path) -> None:
    third = an_overlay(tmp_path, "q3", eta_weights=(0.80, 0.83, 0.86), kernel_floor_us=(5.4, 5.6, 5.8))
    fourth = an_overlay(tmp_path, "q4", eta_weights=(0.50, 0.55, 0.60), kernel_floor_us=(5.4, 5.6, 5.8))
    drift = compare([third, fourth])
    assert list(drift.coefficients["name"]) == ["eta_weights"]  # the other one is the same in both
    row = drift.coefficients.iloc[0]
    assert (row["before"], row["after"]) == (0.83, 0.55)
    assert not row["inside"]
    assert not drift.within
    assert "NOT within" in lines(drift)[-1]


def test_the_same_twice_is_no_drift(tmp_path: Path) -> None:
    third = an_overlay(tmp_path, "q3", eta_weights=(0.80, 0.83, 0.86))
    drift = compare([third, third])
    assert drift.coefficients.empty
    assert (drift.answers["change"] == 0).all()
    assert "no coefficient moved" in lines(drift)


def test_a_coefficient_that_the_later_overlay_lacks_returns_to_the_shipped_one(tmp_path: Path) -> None:
    third = an_overlay(tmp_path, "q3", eta_weights=(0.80, 0.83, 0.86))
    fourth = an_overlay(tmp_path, "q4", kernel_floor_us=(5.4, 5.6, 5.8))
    moved = compare([third, fourth]).coefficients.set_index("name")
    assert moved.loc["eta_weights", "after"] == read_catalog().assumptions["eta_weights", "global"].mid


def test_the_verb_takes_one_folder_or_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from reports.cli import run_command

    third = an_overlay(tmp_path, "q3", eta_weights=(0.80, 0.83, 0.86))
    fourth = an_overlay(tmp_path, "q4", eta_weights=(0.80, 0.82, 0.86))
    assert run_command(["validate", "--drift", str(third), str(fourth)]) == 0
    assert "0.83 -> 0.82" in capsys.readouterr().out
    assert run_command(["validate", "--drift", str(third), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["before"] == "shipped"


def test_what_is_not_an_overlay(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        compare([tmp_path / "missing"])
    with pytest.raises(InputError, match="holds no coefficients"):
        compare([tmp_path])
    with pytest.raises(InputError, match="one overlay or two"):
        compare([])
