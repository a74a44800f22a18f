"""What strict YAML accepts, refuses, and says about it. Expected values: the YAML text itself, read by eye."""

from __future__ import annotations

import datetime
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from reports import strict_yaml
from reports.errors import InputError


def read(text: str) -> object:
    return strict_yaml.parse(text, "file.yaml").data


def problems(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        strict_yaml.parse(text, "file.yaml")
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("-5", -5), ("0", 0), ("1.5", 1.5), ("-0.5", -0.5), (".5", 0.5), ("1e9", 1e9), ("2.5E-3", 0.0025),
        ("true", True), ("false", False), ("null", None), ("", None),
        ("0123", "0123"), ("00", "00"), ("0x1F", "0x1F"), ("0o17", "0o17"), ("1_000", "1_000"), ("1,000", "1,000"),
        ("22:22", "22:22"), ("5%", "5%"), ("NO", "NO"), ("no", "no"), ("yes", "yes"), ("on", "on"), ("off", "off"),
        ("True", "True"), ("NULL", "NULL"), ("~", "~"), (".inf", ".inf"), (".nan", ".nan"), ("2026-11", "2026-11"),
        ("2026-11-30", "2026-11-30"), ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00Z"), ("１２", "１２"),
        ('"5"', "5"), ("'true'", "true"), ('""', ""), ("1.0.0", "1.0.0"), ("1e", "1e"), ("12 GB", "12 GB"),
    ],
)  # fmt: skip
def test_only_plain_numbers_and_flags_are_typed(text: str, value: object) -> None:
    found = read(f"key: {text}")["key"]  # type: ignore[index]
    assert found == value
    assert type(found) is type(value)


def test_keys_are_text() -> None:
    assert read("1: a\ntrue: b\n2026-11: c\nno: d") == {"1": "a", "true": "b", "2026-11": "c", "no": "d"}


def test_duplicate_keys_are_refused_with_both_places() -> None:
    found = problems("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n")
    assert found == [
        'file.yaml:4:3: a key that was given before; read "c"; expected each key once (the first is in line 3)',
        'file.yaml:5:1: a key that was given before; read "a"; expected each key once (the first is in line 1)',
    ]


def test_a_quoted_key_is_the_same_key() -> None:
    assert len(problems('a: 1\n"a": 2\n')) == 1


def test_anchors_aliases_tags_and_merge_keys_are_all_reported_at_once() -> None:
    found = problems("a: &x {b: 1}\nc: *x\nd: !!int 3\ne: !custom 4\nf:\n  <<: {b: 1}\n")
    assert [line.split(": ", 2)[1].split(";")[0] for line in found] == [
        "an anchor", "an alias", "a tag", "a tag", "a merge key",
    ]  # fmt: skip
    assert [line.split(":")[1] for line in found] == ["1", "2", "3", "4", "6"]


def test_an_alias_bomb_is_refused_without_expanding_it() -> None:
    text = "a: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a, *a, *a]\n" for n in range(2000))
    assert "an anchor" in problems(text)[0]


def test_every_line_with_a_tab_is_named() -> None:
    assert problems("a:\n\tb: 1\nc:\t2\n") == [
        "file.yaml:2:1: a tab; expected spaces (indent with two spaces a level)",
        "file.yaml:3:3: a tab; expected spaces (indent with two spaces a level)",
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: [1, 2\nb: 3\n", "file.yaml:2"), ("a: b: c\n", "file.yaml:1:5"), ("a: 'x\n", "file.yaml:"),
        ("a: @x\n", "file.yaml:1:4"), ("- a\nb: 1\n", "file.yaml:2:1"), ("a: %x\n", "file.yaml:1:4"),
        ("{a: 1", "file.yaml:"), ("]", "file.yaml:1:1"),
    ],
)  # fmt: skip
def test_broken_yaml_has_a_place(text: str, place: str) -> None:
    assert problems(text)[0].startswith(place)


def test_a_full_width_colon_is_explained() -> None:
    assert "full-width colon" in problems("标题：月报\nperiod: 2026-11\n")[0]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_empty_files_are_refused(text: str) -> None:
    assert problems(text) == ["file.yaml:1:1: is empty; expected keys with values"]


def test_two_documents_are_refused() -> None:
    assert "a second document" in problems("a: 1\n---\nb: 2\n")[0]


def test_directives_are_refused() -> None:
    assert "a directive" in problems("%YAML 1.1\n---\na: 1\n")[0]


@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_deep_nesting_is_refused_early(opening: str) -> None:
    assert "nested too deeply" in problems("a: " + opening * 100_000)[0]
    assert "nested too deeply" in problems("\n".join(" " * n + "a:" for n in range(500)))[0]


def test_twenty_levels_are_accepted() -> None:
    assert read("[" * 20 + "]" * 20) is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: 1e999", "too large"), ("a: " + "9" * 5000, "too many digits"), ("? [a]\n: 1", "a key that is itself")],
)
def test_numbers_and_keys_out_of_range(text: str, message: str) -> None:
    assert message in problems(text)[0]


def test_files_are_limited_in_size(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    path.write_text("# " + "x" * strict_yaml.MAX_BYTES)
    with pytest.raises(InputError, match="too large"):
        strict_yaml.read(path)
    with pytest.raises(InputError, match="too large"):
        strict_yaml.parse("x" * (strict_yaml.MAX_BYTES + 1), "big.yaml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("价格: 1\n".encode("gbk"), "cannot be read|not UTF-8"), (b"a: 1\nb: \xff\n", r"x.yaml:2:4: is not UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not UTF-8"), (b"PK\x03\x04", "not a text file"), (b"a: \x00\n", "x.yaml:1:4"),
        ("a: 1".encode("utf-16"), "not UTF-8"),
    ],
)  # fmt: skip
def test_files_that_are_not_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        strict_yaml.read(path)


def test_a_byte_order_mark_and_crlf_are_harmless(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes("a: 1\r\nb: 中\r\n".encode("utf-8-sig"))
    assert strict_yaml.read(path).data == {"a": 1, "b": "中"}


def test_a_missing_file_suggests_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "monthly.yaml").write_text("a: 1")
    with pytest.raises(InputError, match=r'no such file \(did you mean "monthly.yaml"\?\)'):
        strict_yaml.read(tmp_path / "montly.yaml")
    with pytest.raises(InputError, match="is a folder"):
        strict_yaml.read(tmp_path)


def test_positions_count_from_one_and_keys_have_their_own() -> None:
    document = strict_yaml.parse("a: 1\nb:\n  c: [x, y]\n", "f")
    assert document.positions["a",] == (1, 4)
    assert document.positions["b", "c", 1] == (3, 10)
    assert document.place(("b", "c"), key=True) == ("f", 3, 3)
    assert document.place(("b", "nothing", "here")) == ("f", 2, 1)


class Part(BaseModel):
    """A record with one of each kind of field."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: Literal["alpha", "beta"]
    size: Annotated[int, Field(ge=1)]
    share: float = 0.0
    day: datetime.date | None = None
    flag: bool = False
    points: dict[int, float] = {}
    names: tuple[str, ...] = ()


def validated(text: str) -> Part:
    return strict_yaml.validate(Part, strict_yaml.parse(text, "f.yaml"))


def test_a_good_record() -> None:
    part = validated("kind: alpha\nsize: 2\nshare: 1\nday: 2026-11-30\npoints: {2: 1.5}\nnames: [a, b]\n")
    assert (part.share, part.day, part.points, part.names) == (1.0, datetime.date(2026, 11, 30), {2: 1.5}, ("a", "b"))


def test_all_problems_of_a_record_at_once() -> None:
    text = "kind: alfa\nsize: 0\nshare: 5%\nday: 2026-1-30\nflag: NO\nnames: [a, 3]\nsiz: 4\n"
    with pytest.raises(InputError) as caught:
        validated(text)
    found = [str(problem) for problem in caught.value.problems]
    assert found[0] == (
        'f.yaml:1:7: kind: is not one of the accepted values; read "alfa"; expected alpha, beta (did you mean "alpha"?)'
    )
    assert found[1] == "f.yaml:2:7: size: is out of range; read 0; expected 1 or more"
    assert found[2] == 'f.yaml:3:8: share: cannot be used; read "5%"; expected a number (write 0.05)'
    assert found[3] == 'f.yaml:4:6: day: cannot be used; read "2026-1-30"; expected a date such as 2026-11-30'
    assert found[4].startswith('f.yaml:5:7: flag: cannot be used; read "NO"; expected true or false')
    assert found[5] == 'f.yaml:6:12: names[1]: cannot be used; read 3; expected text (put it in quotes: "3")'
    assert found[6].startswith('f.yaml:7:1: unknown key; read "siz"')
    assert found[6].endswith('(did you mean "size"?)')
    assert len(found) == 7


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("0123", "leading zero"), ("1,000", "write 1000"), ("1_000_000", "write 1000000"), ('"5"', "remove the quotes"),
        ("12.5%", "write 0.125"), ("true", ""), ("22:22", ""), ("１２", ""),
    ],
)  # fmt: skip
def test_text_never_becomes_a_number(value: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        validated(f"kind: alpha\nsize: 1\nshare: {value}\n")
    assert len(caught.value.problems) == 1
    assert hint in caught.value.problems[0].hint


@pytest.mark.parametrize("value", ["1.0", "1e0", "true", '"1"'])
def test_a_whole_number_is_written_as_one(value: str) -> None:
    with pytest.raises(InputError, match="expected a whole number"):
        validated(f"kind: alpha\nsize: {value}\n")


def test_a_missing_key_names_the_record_it_belongs_to() -> None:
    with pytest.raises(InputError, match=r"f.yaml:1:1: size: is missing"):
        validated("kind: alpha\n")


def test_something_else_than_a_record() -> None:
    with pytest.raises(InputError, match="expected keys with values"):
        validated("- a\n- b\n")


@pytest.mark.parametrize(
    ("word", "answer"),
    [("qwen3-32", 'did you mean "qwen3-32b"?'), ("QWEN3-32B", 'did you mean "qwen3-32b"?'), ("zzz", ""), ("", "")],
)
def test_did_you_mean(word: str, answer: str) -> None:
    assert strict_yaml.did_you_mean(word, ["qwen3-32b", "deepseek-r1"]) == answer


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="ab:-{}[],&*!|>'\"# \n%@`?0123456789.", max_size=80))
def test_any_text_is_read_or_refused_on_purpose(text: str) -> None:
    with suppress(InputError):
        strict_yaml.parse(text, "fuzz.yaml")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "x.yaml"
    path.write_bytes(content)
    with suppress(InputError):
        strict_yaml.read(path)
