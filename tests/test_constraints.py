"""Constraints are records: what one record promises must hold everywhere a candidate is judged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reports.constraints import CONSTRAINTS, LAYOUT_EXCUSES, SENTENCES, Constraint, feasibility, verdicts
from reports.errors import GpubookError
from reports.formulas import limits, rule_of_thumb
from reports.formulas.meta import info
from reports.methods import METHODS, Block

POINT = Block("", (), batch="load_requests")


def test_the_limit_formula_takes_every_capacity_of_its_method() -> None:
    """A record in constraints.py alone limits nothing: its capacity must be an argument of the limit formula."""
    roofline = {record.capacity for record in CONSTRAINTS["roofline"] if record.capacity}
    assert set(info(limits.limit_requests).inputs) == roofline
    thumb = {record.capacity for record in CONSTRAINTS["rule-of-thumb"] if record.capacity}
    assert thumb <= set(info(rule_of_thumb.recommended_concurrency).inputs)


@pytest.mark.parametrize("method", sorted(CONSTRAINTS))
def test_a_record_has_a_sentence_whose_numbers_it_quotes(method: str) -> None:
    for record in CONSTRAINTS[method]:
        assert SENTENCES[record.code] == record.sentence
        assert record.code in LAYOUT_EXCUSES
        if record.quotes:
            record.sentence.format(**dict.fromkeys(record.quotes, 1))


def roofline_row(**changes: float) -> dict[str, np.ndarray]:
    """One replica that satisfies every constraint, with what is changed."""
    row = {
        "recommended_concurrency": 8, "recommended_requests": 8, "load_requests": 8, "memory_requests": 20,
        "engine_requests": 1024, "tpot_requests": 10, "ttft_requests": 30, "answer_requests": 40,
        "utilisation_requests": 50, "simulated_requests": 1e12, "tpot_tail_ms": 40, "tpot_target_ms": 50,
        "ttft_tail_ms": 500, "ttft_target_ms": 2000, "answer_tail_ms": 9000, "answer_target_ms": 10_000,
        "queue_utilisation_ratio": 0.5, "utilisation_cap": 0.9, "run_tail_s": 20, "run_limit_s": 3600,
        "kv_room_gib": 30, "attention_heads": 32, "tensor_parallel": 4, "pipeline_parallel": 1, "data_parallel": 1,
        "experts": 0,
    }  # fmt: skip
    return {name: np.array([float(value)]) for name, value in {**row, **changes}.items()}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, ""),
        ({"kv_room_gib": -1}, "weights-do-not-fit"),
        ({"memory_requests": 0, "recommended_concurrency": 0}, "no-long-request-fits"),
        ({"engine_requests": 0, "recommended_concurrency": 0}, "engine-limit"),
        ({"ttft_requests": 0, "recommended_concurrency": 0}, "ttft-target"),
        ({"tpot_requests": 0, "recommended_concurrency": 0}, "tpot-target"),
        ({"answer_requests": 0, "recommended_concurrency": 0}, "answer-target"),
        ({"utilisation_requests": 0, "recommended_concurrency": 0}, "overloaded"),
        ({"simulated_requests": 0, "recommended_concurrency": 0}, "simulation"),
        ({"run_tail_s": 4000}, "run-too-short"),
        ({"tensor_parallel": 3}, "heads-do-not-split"),
        ({"pipeline_parallel": 16}, "pipeline-starves"),
        ({"data_parallel": 2}, "no-experts"),
        ({"data_parallel": 2, "experts": 128}, ""),
        ({"recommended_concurrency": np.nan}, "missing-fact"),
        ({"recommended_concurrency": 0}, "no-load"),
    ],
)
def test_each_broken_constraint_gets_its_own_code(changes: dict[str, float], code: str) -> None:
    assert LAYOUT_EXCUSES[int(feasibility("roofline", roofline_row(**changes))[0])] == code


def test_a_plain_yes_or_no_rejects_without_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that is no number of requests: the power of a server against what the room delivers."""
    power = Constraint(
        name="power", label="Power", value="server_power_kw", bound="room_power_kw", unit="kW", code="tpot-target",
        sentence="",
    )  # fmt: skip
    monkeypatch.setitem(CONSTRAINTS, "roofline", (*CONSTRAINTS["roofline"], power))
    held = roofline_row(server_power_kw=10, room_power_kw=10)
    broken = roofline_row(server_power_kw=11, room_power_kw=10)
    assert feasibility("roofline", held)[0] == 0
    assert LAYOUT_EXCUSES[int(feasibility("roofline", broken)[0])] == "tpot-target"


def test_verdicts_have_slack_and_a_forgotten_constraint_is_an_error() -> None:
    frame = pd.DataFrame(roofline_row()).assign(option_id="o", feasible=True)
    found = verdicts("roofline", POINT, frame).set_index("constraint")
    assert found["passed"].all()
    assert found.loc["tpot", "slack"] == pytest.approx(1 - 40 / 50)
    assert found.loc["memory", "slack"] == pytest.approx(1 - 8 / 20)
    with pytest.raises(GpubookError, match="constraint ttft does not hold at the recommended load of o"):
        verdicts("roofline", POINT, frame.assign(ttft_tail_ms=2500.0))


def test_points_of_a_method_start_with_the_recommended_load() -> None:
    assert [point.batch for point in METHODS["roofline"].points()] == [
        "load_requests",
        "limit_requests",
        "one_more_requests",
    ]
