"""Aggregates: each against a row small enough to add up by hand, and its spreadsheet form against the closed list."""

from __future__ import annotations

import re

import numpy as np
import pytest

from reports.formulas.aggregate import (
    AGGREGATES,
    FIRST_WHERE,
    ahead,
    behind,
    cumulative_max,
    cumulative_sum,
    first_where,
    largest,
    lookup,
    npv,
    previous,
    renewed,
    total,
)


def test_total_adds_the_last_axis_only() -> None:
    # by hand: 1+2+3 = 6, 10+20+30 = 60
    assert total([[1, 2, 3], [10, 20, 30]]).tolist() == [6, 60]


def test_cumulative_sum_runs_along_each_row() -> None:
    # by hand: -5, -5+2 = -3, -3+2 = -1
    assert cumulative_sum([[-5, 2, 2], [1, 1, 1]]).tolist() == [[-5, -3, -1], [1, 2, 3]]


def test_npv_at_ten_per_cent() -> None:
    # by hand: -100 + 60/1.1 + 60/1.21 = -100 + 54.545454… + 49.586776… = 4.132231…
    factors = [1, 1 / 1.1, 1 / 1.21]
    assert npv([-100, 60, 60], factors) == pytest.approx(4.132231404958678, rel=1e-12)


def test_npv_broadcasts_one_row_of_factors_over_options() -> None:
    # by hand: 1*1 + 2*0.5 = 2; 4*1 + 4*0.5 = 6
    assert npv([[1, 2], [4, 4]], [1, 0.5]).tolist() == [2, 6]


def test_first_where_gives_the_month_of_the_first_one() -> None:
    flags = [[0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0], [np.nan] * 4]
    months = [0, 1, 2, 3]
    answer = first_where(flags, months)
    assert answer[:2].tolist() == [2, 0]
    assert np.isnan(answer[2:]).all(), "never, and unknown, are both blank"


def test_lookup_finds_the_value_beside_the_key() -> None:
    keys, values = [0, 12, 24], [5.0, 6.0, 7.0]
    assert lookup([12, 24], keys, values).tolist() == [6, 7]
    assert np.isnan(lookup(13, keys, values)), "no neighbour's value for a missing key"


def test_the_largest_of_a_row_and_so_far() -> None:
    assert largest([[1, 5, 2], [-3, -7, -1]]).tolist() == [5, -1]
    assert cumulative_max([[1, 5, 2, 6]]).tolist() == [[1, 5, 5, 6]]


def test_a_row_looked_at_later_and_earlier() -> None:
    # two months later 3 is 1, and the end stays; two months earlier there was nothing; the second row is moved by one
    row = [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert ahead(row, [[2], [1]]).tolist() == [[3, 4, 4, 4], [6, 7, 8, 8]]
    assert behind(row, [[2], [1]]).tolist() == [[0, 0, 1, 2], [0, 5, 6, 7]]
    assert previous(row).tolist() == [[0, 1, 2, 3], [0, 5, 6, 7]]
    assert np.isnan(ahead([[1, 2]], [[np.nan]])).all()


def test_orders_come_again_after_every_life() -> None:
    # a life of two months: month 4 sees its own order and those of months 2 and 0; a life of three: 4 and 1
    assert renewed([[1, 0, 10, 0, 100]], [[2]]).tolist() == [[1, 0, 11, 0, 111]]
    assert renewed([[1, 2, 4, 8, 16]], [[3]]).tolist() == [[1, 2, 4, 9, 18]]


@pytest.mark.parametrize("aggregate", AGGREGATES, ids=lambda each: each.name)
def test_every_aggregate_has_all_its_forms(aggregate) -> None:
    used = set(re.findall(r"\{(\w+)\}", aggregate.excel))
    assert used <= {"row", "row2", "row3", "first", "here", "key", "lag"}
    assert aggregate.along == ("here" in used)
    allowed = {"SUM", "SUMPRODUCT", "INDEX", "MATCH", "MAX", "MIN", "COUNT", "IF", "IRR", "MOD", "COLUMN"}
    assert set(re.findall(r"([A-Z]{2,})\(", aggregate.excel)) <= allowed
    assert aggregate.latex
    assert aggregate.doc


def test_the_spreadsheet_form_of_first_where_reads_flags_then_months() -> None:
    text = FIRST_WHERE.excel.format(row="$D$9:$F$9", row2="$D$1:$F$1")
    assert text == "INDEX($D$1:$F$1,MATCH(1,$D$9:$F$9,0))"
