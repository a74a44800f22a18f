"""Traces: every shape with statistics worked by hand, every way to be wrong, and long files in little memory."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from reports.errors import InputError
from reports.scenario import trace_files, trace_rows, traces
from reports.scenario.trace_json import CharactersPerToken
from reports.scenario.traces import Trace, read_trace

CHARACTERS = CharactersPerToken(latin=4.0, cjk=1.5)

FOUR = "arrival_s,input_tokens,output_tokens,prefix_hit_tokens\n0,100,10,0\n1,200,20,50\n3,300,30,0\n4,400,60,100\n"


def read(path: Path) -> Trace:
    return read_trace(path, path.name, CHARACTERS)


def text(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def problems(path: Path) -> list[str]:
    with pytest.raises(InputError) as error:
        read(path)
    return [str(problem) for problem in error.value.problems]


def test_statistics_of_four_requests_by_hand(tmp_path: Path) -> None:
    """Input 100 to 400: mean 250, deviation sqrt(12500). Gaps 1, 2, 1: mean 4/3, variance 6/3 - 16/9 = 2/9, over the
    mean squared 1/8. Prefixes 150 of 1,000 tokens. Correlation: covariance 2000 (of 250, 30), deviations 111.8 and
    18.71."""
    trace = read(text(tmp_path, "t.csv", FOUR))
    assert (trace.rows, trace.left_out, trace.shape, trace.dated, trace.estimated) == (4, 0, "own", False, False)
    assert trace.input.mean == 250
    assert trace.input.deviation == pytest.approx(math.sqrt(12500))
    assert trace.input.quantile(np.array([0.25, 0.5, 0.75, 0.76])).tolist() == [100, 200, 300, 400]
    assert trace.output.mean == 30
    assert trace.interarrival_scv == pytest.approx(1 / 8)
    assert trace.prefix_hit_share == pytest.approx(0.15)
    assert trace.correlation == pytest.approx(2000 / (math.sqrt(12500) * math.sqrt(350)))
    assert trace.duration_s == 4
    assert trace.hourly_requests_per_s.tolist() == [1.0]
    assert trace.profile is None  # four seconds say nothing about a day
    assert trace.sample.tolist() == [[100, 10, 0], [200, 20, 50], [300, 30, 0], [400, 60, 100]]
    assert trace.replay[:, 0].tolist() == [0, 1, 2, 1]


def test_the_azure_shape_and_its_dates(tmp_path: Path) -> None:
    """2023-11-16 is a Thursday: 18 h is hour 3 x 24 + 18 = 90 of the week."""
    rows = "2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8\n"
    trace = read(text(tmp_path, "a.csv", f"TIMESTAMP,ContextTokens,GeneratedTokens\n{rows}"))
    assert (trace.shape, trace.dated) == ("azure", True)
    assert trace.duration_s == pytest.approx(0.052)
    assert np.flatnonzero(trace.week_requests).tolist() == [90]
    zoned = text(tmp_path, "z.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-13 00:00:00.5+00:00,8,1\n")
    assert np.flatnonzero(read(zoned).week_requests).tolist() == [0]  # a Monday


def test_the_mooncake_shape_and_its_prefix_blocks(tmp_path: Path) -> None:
    """Blocks of 512 tokens. The second request shares its first block (512), the third the first two blocks, but has
    only 700 tokens; the fourth repeats a later block only, which is no prefix."""
    rows = [
        {"timestamp": 0, "input_length": 1500, "output_length": 10, "hash_ids": [1, 2, 3]},
        {"timestamp": 500, "input_length": 1100, "output_length": 10, "hash_ids": [1, 4, 5]},
        {"timestamp": 1000, "input_length": 700, "output_length": 10, "hash_ids": [1, 2]},
        {"timestamp": 1500, "input_length": 1024, "output_length": 10, "hash_ids": [9, 2]},
    ]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    trace = read(text(tmp_path, "m.jsonl", content))
    assert trace.shape == "mooncake"
    assert trace.duration_s == 1.5
    assert trace.sample[:, 2].tolist() == [0, 512, 700, 0]
    assert trace.prefix_hit_share == pytest.approx(1212 / 4324)
    as_list = read(text(tmp_path, "m.json", json.dumps(rows)))
    assert as_list.sample.tolist() == trace.sample.tolist()
    table = pa.Table.from_pylist(rows)
    parquet.write_table(table, tmp_path / "m.parquet")
    assert read(tmp_path / "m.parquet").sample.tolist() == trace.sample.tolist()


def test_the_burstgpt_shape_leaves_failures_out_and_counts_them(tmp_path: Path) -> None:
    head = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    rows = "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,0,1087,API log\n118,GPT-4,417,276,693,API log\n"
    trace = read(text(tmp_path, "b.csv", head + rows))
    assert (trace.shape, trace.rows, trace.left_out, trace.duration_s) == ("burstgpt", 2, 1, 113)
    assert trace.prefix_hit_share is None


def test_conversations_are_estimated_from_characters_and_say_so(tmp_path: Path) -> None:
    """12 characters at 4 are 3 tokens, 3 Chinese ones at 1.5 are 2; only a question with its answer counts."""
    talk = [
        {"from": "system", "value": "x"},
        {"from": "human", "value": "twelve chars"},
        {"from": "gpt", "value": "好的吗"},
    ]
    unanswered = [{"from": "gpt", "value": "starts with gpt"}]
    records = [
        {"id": "1", "conversations": talk},
        {"id": "2", "conversations": unanswered},
        {"id": "3", "conversations": []},
    ]
    trace = read(text(tmp_path, "s.json", json.dumps(records, ensure_ascii=False)))
    assert (trace.shape, trace.estimated, trace.rows, trace.left_out) == ("sharegpt", True, 1, 2)
    assert trace.sample.tolist() == [[3, 2, 0]]
    assert (trace.interarrival_scv, trace.duration_s) == (None, None)
    lines = text(tmp_path, "s.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    assert read(lines).sample.tolist() == [[3, 2, 0]]


def test_lengths_alone_are_a_trace(tmp_path: Path) -> None:
    trace = read(text(tmp_path, "l.csv", "prompt_tokens,completion_tokens\n10,20\n30,40\n"))
    assert (trace.input.mean, trace.output.mean, trace.duration_s, trace.profile) == (20, 30, None, None)


def test_epochs_are_dates_and_small_numbers_seconds(tmp_path: Path) -> None:
    """1,700,000,000 is 2023-11-14 22:13:20 UTC, a Tuesday: hour 24 + 22 = 46 of the week."""
    for stamp in ("1700000000", "1700000000000", "1700000000000000000"):
        trace = read(text(tmp_path, "e.csv", f"timestamp,input_tokens,output_tokens\n{stamp},1,1\n"))
        assert trace.dated
        assert np.flatnonzero(trace.week_requests).tolist() == [46]
    assert not read(text(tmp_path, "e.csv", "timestamp,input_tokens,output_tokens\n7,1,1\n")).dated


def test_a_week_of_traffic_gives_its_profile(tmp_path: Path) -> None:
    """One request an hour, three at hour 10 of each day, for eight days from a Monday: 1/3 everywhere else."""
    times = [hour * 3600 + 60 * k for hour in range(192) for k in range(3 if hour % 24 == 10 else 1)]
    rows = "".join(f"{second},10,10\n" for second in [*times, 192 * 3600])
    trace = read(text(tmp_path, "w.csv", "arrival_s,input_tokens,output_tokens\n" + rows))
    profile = trace.profile
    assert profile is not None
    assert profile[10] == 1
    assert profile[11:24].tolist() == pytest.approx([1 / 3] * 13)
    assert profile.mean() == pytest.approx((23 / 3 + 1) / 24, rel=0.01)


def test_a_day_of_traffic_stands_for_every_day(tmp_path: Path) -> None:
    rows = "".join(f"{hour * 3600},10,10\n" for hour in range(31))
    profile = read(text(tmp_path, "d.csv", "arrival_s,input_tokens,output_tokens\n" + rows)).profile
    assert profile is not None
    assert len(profile) == 168
    assert profile[:24].tolist() == profile[24:48].tolist()


def test_burstiness_is_measured_inside_hours(tmp_path: Path) -> None:
    """A clock of one second in one hour and of ten seconds in the next is no burst; over all gaps it would be."""
    times = [*range(3600), *range(3600, 7200, 10)]
    rows = "".join(f"{second},10,10\n" for second in times)
    trace = read(text(tmp_path, "h.csv", "arrival_s,input_tokens,output_tokens\n" + rows))
    gaps = np.diff(times)
    assert trace.interarrival_scv == pytest.approx(0, abs=0.01)
    assert gaps.var() / gaps.mean() ** 2 > 2


HEAD = "arrival_s,input_tokens,output_tokens,prefix_hit_tokens\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("0,-5,10,0\n", "t.csv:2: input_tokens: is negative; read -5; expected 0 or more tokens"),
        ("0,5,10,0\n1,,10,0\n", "t.csv:3: input_tokens: is missing; expected a number"),
        ("0,5,nan,0\n", "t.csv:2: output_tokens: is not a number; read nan"),
        ("0,5,many,0\n", "t.csv:2: output_tokens: is not a number; read many"),
        ("0,5.5,10,0\n", "t.csv:2: input_tokens: is not a whole number; read 5.5"),
        ("0,1e9,10,0\n", "t.csv:2: input_tokens: is out of range; read 1000000000"),
        ("0,5,10,6\n", "t.csv:2: prefix_hit_tokens: is more than the input; read 6"),
        ("3,5,10,0\n\n2,5,10,0\n", "t.csv:4: arrival_s: is earlier than the row before; read 2"),
        ("0,5,10,0\n1,5,10\n", "t.csv:3: has the wrong number of cells; read 3; expected 4"),
        ("yesterday,5,10,0\n", "t.csv:2: arrival_s: is not a time; read yesterday"),
        ("0,5,10,0\n1e9,5,10,0\n", "t.csv: arrival_s: spans 32 years; expected arrivals within 20 years"),
        ("0,5,10,0\n1e11,5,10,0\n", "t.csv:3: arrival_s: is out of range; read 100000000000; expected a time in s"),
        ("0,0,10,0\n0,5,0,0\n", "t.csv: has no requests; read 2 rows without tokens"),
        ("", "t.csv: has no rows"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_with_its_line(tmp_path: Path, rows: str, message: str) -> None:
    found = problems(text(tmp_path, "t.csv", HEAD + rows))
    assert any(line.startswith(message) for line in found), found


def test_all_bad_rows_are_counted_and_the_first_are_quoted(tmp_path: Path) -> None:
    found = problems(text(tmp_path, "t.csv", HEAD + "0,-1,1,0\n" * 100))
    assert len(found) == 21
    assert found[-1] == "t.csv: and 80 more rows with such problems"


def test_both_kinds_of_problem_in_one_file(tmp_path: Path) -> None:
    found = problems(text(tmp_path, "t.csv", HEAD + "0,-1,,0\n"))
    assert [line.split(";")[0] for line in found] == [
        "t.csv:2: input_tokens: is negative",
        "t.csv:2: output_tokens: is missing",
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "arrival_s,inputtoken,output_tokens\n0,1,1\n", 'rename "inputtoken"; did you mean "input_tokens"?'),
        ("t.csv", "a,b\n1,2\n", "t.csv:1: has no column for the input tokens; read a, b; expected input_tokens (or"),
        ("t.csv", "input_tokens;output_tokens\n1;2\n", "t.csv:1: has no commas"),
        ("t.csv", "input_tokens,input_tokens,output_tokens\n1,2,3\n", 't.csv:1: has a column twice; read "input_'),
        ("t.csv", "", "t.csv: is empty"),
        ("t.xlsx", "x", 't.xlsx: is no kind of trace; read ".xlsx"; expected .csv, .parquet, .jsonl, .json'),
        ("t.parquet", "input_tokens", "t.parquet: is not a Parquet file"),
        ("t.parquet", "PAR1 and nothing else PAR1", "t.parquet: is not a readable parquet file"),
        ("t.jsonl", "[{}]\n", "t.jsonl:1: has no column for the input tokens"),
        ("t.jsonl", '{"input_tokens": 1, "output_tokens": 2}\nnot json\n', "t.jsonl:2: is not a JSON record"),
        ("t.jsonl", '{"input_tokens": 1, "output_tokens": 2}\n{"input_tokens": 1}\n', "jsonl:2: output_tokens: is mis"),
        ("t.jsonl", '{"input_tokens": 1, "output_tokens": 2}\n\n[1]\n', "t.jsonl:3: record: is not a record"),
        ("t.jsonl", '{"input_tokens": "1", "output_tokens": 2}\n', "t.jsonl:1: input_tokens: is not a number"),
        ("t.jsonl", '{"input_tokens": 1, "output_tokens": 2}\n' + "[" * 100_000, "2: is not a JSON record: nested"),
        ("t.json", '{"input_tokens": 1}', "t.json: is not a list of records"),
        ("t.json", '[{"input_tokens": 1, "output_tokens": 2}, {"inp', "t.json: row 2: is not JSON"),
        ("t.json", '[{"input_tokens": 1, "output_tokens": true}]', "row 1, output_tokens: is not a number; read true"),
        ("t.json", "[]", "t.json: has no rows"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_trace_says_why(tmp_path: Path, name: str, content: str, message: str) -> None:
    found = problems(text(tmp_path, name, content))
    assert any(message in line for line in found), found


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json", "t.parquet"])
@pytest.mark.parametrize(
    "content", [bytes(range(256)) * 40, b"\x89PNG\r\n" + b"\0" * 500, b"PAR1" + bytes(range(255, 0, -1))]
)
def test_binary_garbage_is_a_problem_and_no_traceback(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert problems(tmp_path / name)


def test_latin_letters_in_another_encoding_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("input_tokens,output_tokens,größe\n1,2,3\n".encode("latin-1"))
    assert problems(tmp_path / "t.csv") == ["t.csv: is not UTF-8 text; read byte 0xf6"]


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    assert "cannot be read" in problems(tmp_path / "no.csv")[0]
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in problems(tmp_path / "folder.csv")[0]


def test_a_parquet_file_that_claims_too_many_rows_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million equal rows are a few hundred bytes: the count stands in the footer, and is read first."""
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"input_tokens": [7] * 1_000_000, "output_tokens": [7] * 1_000_000}), path)
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(trace_files, "MOST_ROWS", 999_999)
    assert problems(path) == ["t.parquet: holds too many rows; expected at most 999,999 "
                              "(a shorter period or every tenth request says the same)"]  # fmt: skip
    monkeypatch.undo()
    monkeypatch.setattr(trace_files, "MOST_BYTES_UNPACKED", 100)
    assert "too large when unpacked" in problems(path)[0]


def test_text_columns_and_nulls_of_a_parquet_file(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"input_tokens": ["7", "x"], "output_tokens": ["1", "2"]}), tmp_path / "t.parquet")
    assert problems(tmp_path / "t.parquet") == [
        "t.parquet: row 2, input_tokens: is not a number; read x; expected a number"
    ]
    parquet.write_table(pa.table({"input_tokens": [7, None], "output_tokens": [1, 2]}), tmp_path / "t.parquet")
    assert "row 2, input_tokens: is missing" in problems(tmp_path / "t.parquet")[0]
    parquet.write_table(pa.table({"input_tokens": [[7]], "output_tokens": [1]}), tmp_path / "t.parquet")
    assert "holds no numbers" in problems(tmp_path / "t.parquet")[0]


def test_csv_parquet_and_json_lines_of_one_trace_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in many small pieces, and against numpy on the whole."""
    monkeypatch.setattr(trace_files, "PIECE_BYTES", 20_000)
    monkeypatch.setattr(trace_files, "PIECE_ROWS", 777)
    rng = np.random.default_rng(7)
    rows = 5000
    columns: dict[str, Any] = {
        "arrival_s": np.cumsum(rng.integers(1, 9, rows)).astype(float),
        "input_tokens": rng.integers(1, 9000, rows), "output_tokens": rng.integers(1, 900, rows),
    }  # fmt: skip
    table = pa.table(columns)
    csv.write_csv(table, tmp_path / "t.csv")
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=1000)
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    for name in ("t.csv", "t.parquet", "t.jsonl"):
        trace = read(tmp_path / name)
        assert trace.input.mean == pytest.approx(columns["input_tokens"].mean())
        assert trace.output.deviation == pytest.approx(columns["output_tokens"].std())
        assert float(trace.input.quantile(0.95)) == np.quantile(columns["input_tokens"], 0.95, method="inverted_cdf")
        assert trace.correlation == pytest.approx(np.corrcoef(columns["input_tokens"], columns["output_tokens"])[0, 1])
        assert trace.replay[1:, 0].tolist() == pytest.approx(np.diff(columns["arrival_s"]).tolist())


def test_what_is_kept_of_a_long_trace_does_not_grow_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """300,000 rows: the sample is bounded and says the same, the same file gives the same sample, and a piece at a time
    is in memory. (Ten million rows, 350 MB of CSV, took 15 s and 160 MB beside the program itself.)"""
    monkeypatch.setattr(traces, "SAMPLE_ROWS", 2000)
    monkeypatch.setattr(traces, "REPLAY_ROWS", 3000)
    monkeypatch.setattr(trace_files, "PIECE_BYTES", 200_000)
    rng = np.random.default_rng(1)
    rows = 300_000
    tokens = rng.integers(1, 10_000, rows)
    csv.write_csv(
        pa.table({"arrival_s": np.arange(rows), "input_tokens": tokens, "output_tokens": tokens}), tmp_path / "t.csv"
    )
    before = pa.default_memory_pool().bytes_allocated()
    largest = 0

    def watched(self: trace_files.TraceStream, *given: Any) -> trace_rows.Rows:
        nonlocal largest
        largest = max(largest, pa.default_memory_pool().bytes_allocated() - before)
        return checked(self, *given)

    checked = trace_files.TraceStream._checked
    monkeypatch.setattr(trace_files.TraceStream, "_checked", watched)
    first, again = read(tmp_path / "t.csv"), read(tmp_path / "t.csv")
    assert largest < 3_000_000  # of a file of 4.8 MB
    assert len(first.sample) == 2000
    assert len(first.replay) == 3000
    assert (first.sample == again.sample).all()
    assert first.sample[:, 0].mean() == pytest.approx(tokens.mean(), rel=0.05)
    assert first.rows == rows


def test_blocks_are_remembered_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_rows, "MOST_BLOCKS", 4)
    blocks = trace_rows.Blocks()
    assert blocks.hits([1, 2, 3, 4, 5]) == 0
    assert blocks.hits([1, 2, 3]) == 3
    for fresh in range(10, 30):
        blocks.hits([fresh])
    assert blocks.hits([1, 2, 3]) == 0
