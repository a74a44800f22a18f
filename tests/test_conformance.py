"""PDF/A-3a and PDF/UA-1 in one file, judged by two validators that share no code with ours; and what travels inside."""

from __future__ import annotations

import base64
import re
import zlib
from datetime import date
from pathlib import Path

import page
import pikepdf
import pydyf
import pytest
from outloud import check

from reports import outputs
from reports.catalog.records import Catalog
from reports.pipeline import evaluate
from reports.render import conformance, pdf
from reports.scenario.read import read_scenario

PROFILES = ("3a", "ua1")

TOLERATED = {
    "PAG-001",  # the PDF engine tags running lines as text; in the tree they are left out
    "ORD-001",  # values float beside their names: painted later than read
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, repository: Path, catalog: Catalog) -> Path:
    scenario = read_scenario(repository / "scenarios" / "capacity-proposal.yaml", catalog)
    target = tmp_path_factory.mktemp("out") / "report"
    outputs.write_outputs(evaluate(scenario, catalog), target, lambda step: None, repository / "scenarios")
    return target


def documents(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.pdf"))


def test_every_document_is_both_an_archive_and_accessible(folder: Path) -> None:
    assert len(documents(folder)) == 4
    for path in documents(folder):
        for profile in PROFILES:
            report = page.validate_pdf(path, profile=profile)
            assert report.is_compliant, [(path.name, each.rule_id, each.message) for each in report.failures]


def test_what_a_screen_reader_says_makes_sense(folder: Path) -> None:
    for path in documents(folder):
        found = [each for each in check(str(path)).findings if each.severity in ("error", "warning")]
        assert {each.rule for each in found} <= TOLERATED, [(path.name, each.rule, each.message) for each in found]


def test_attachments_are_bit_for_bit_the_files_beside_the_document(folder: Path) -> None:
    for path in documents(folder):
        with pikepdf.open(path) as document:
            names = set(document.attachments)
            assert names == set(outputs.ATTACHED)
            for name in names:
                file = document.attachments[name].get_file()
                assert file.read_bytes() == (folder / name).read_bytes()
                assert file.creation_date.date() == date(2026, 11, 30)
            relations = {str(each["/UF"]): str(each["/AFRelationship"]) for each in document.Root.AF}
        assert relations["workbook.xlsx"] == "/Source"
        assert relations["cost_lines.csv"] == "/Data"


def test_the_document_without_its_attachments_is_small(folder: Path) -> None:
    """2 MB for 15 pages; the proposal has more than 15."""
    for path in documents(folder):
        with pikepdf.open(path) as document:
            inside = sum(len(each["/EF"]["/F"].read_raw_bytes()) for each in document.Root.AF)
            pages = len(document.pages)
        assert path.stat().st_size - inside < 2e6 * max(1, pages / 15)


def test_what_does_not_fit_stays_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in zip(outputs.ATTACHED, (60, 50, 40), strict=False):
        (tmp_path / name).write_bytes(b"x" * size)
    for name in outputs.ATTACHED[3:]:
        (tmp_path / name).write_bytes(b"x")
    monkeypatch.setattr(outputs, "ATTACHED_LIMIT_BYTES", 100)
    kept = [path.name for path in outputs._attached(tmp_path)]
    assert kept[:2] == [outputs.ATTACHED[0], outputs.ATTACHED[2]]


PLAIN = '<html lang="en"><head><title>T</title></head><body><h1>T</h1>{body}</body></html>'


def verdicts(content: bytes) -> dict[str, bool]:
    return {profile: page.validate_pdf_bytes(content, profile=profile).is_compliant for profile in PROFILES}


def test_validators_find_what_we_plant(monkeypatch: pytest.MonkeyPatch) -> None:
    good = pdf.document(PLAIN.format(body="<p>x</p>"), "capacity-proposal", identifier="x")
    assert verdicts(good) == {"3a": True, "ua1": True}
    monkeypatch.setattr(pdf, "finish", lambda document, written: None)
    unclaimed = pdf.document(PLAIN.format(body="<p>x</p>"), "capacity-proposal", identifier="x")
    assert verdicts(unclaimed) == {"3a": False, "ua1": False}  # its metadata is compressed, too
    monkeypatch.undo()
    skipped = PLAIN.format(body="<h3>levels are skipped</h3>")
    assert not verdicts(pdf.document(skipped, "capacity-proposal", identifier="x"))["ua1"]


def test_a_stream_never_ends_in_a_carriage_return() -> None:
    """Adler-32 of 12 zero bytes and one 0x0C: a = 1 + 12 = 13, so the last byte of the compressed stream is CR."""
    content = b"\0" * 12 + b"\x0c"
    assert zlib.compress(content)[-1] == 13
    stream = pydyf.Stream([content], compress=True)
    conformance.no_carriage_return_at_the_end(stream)
    written = re.search(rb"stream\n(.*)\nendstream", stream.data, re.DOTALL)
    assert written
    assert written[1].endswith(b"~>")
    assert zlib.decompress(base64.a85decode(written[1][:-2])) == content
    other = pydyf.Stream([b"abc"], compress=True)
    before = other.data
    conformance.no_carriage_return_at_the_end(other)
    assert other.data == before


def test_a_code_of_the_packaged_chinese_font_is_its_glyph(repository: Path) -> None:
    """Readers that follow the standard look a code up in the font's own list; the PDF engine writes glyph numbers."""
    from fontTools.ttLib import TTFont

    for weight in ("Regular", "Bold"):
        font = TTFont(repository / "templates" / "fonts" / f"NotoSansSC-{weight}.otf")
        names = font["CFF "].cff.topDictIndex[0].charset
        assert names[1:] == [f"cid{number:05d}" for number in range(1, len(names))]
