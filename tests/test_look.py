"""A company's theme: its colours, logo and words in workbook and documents, and what a theme file may not say."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from pathlib import Path

import pytest
from openpyxl import load_workbook

from reports.catalog.records import Catalog
from reports.errors import InputError
from reports.history import store
from reports.pipeline import evaluate
from reports.render import pdf, view, workbook
from reports.render.i18n import translator
from reports.render.lint import problems
from reports.scenario.look import Look
from reports.scenario.look_file import contrast_on_white, pixels
from reports.scenario.read import read_scenario


def png(width: int, height: int) -> bytes:
    """A black picture."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\0" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", rows) + part(b"IEND", b"")


def example(repository: Path) -> str:
    """The theme file that docs/THEME.md shows."""
    blocks = re.findall(r"```yaml\n(.*?)```", (repository / "docs" / "THEME.md").read_text(encoding="utf-8"), re.DOTALL)
    return str(blocks[1])


def scenario_in(folder: Path, repository: Path, theme: str, logo: bytes = b"") -> Path:
    path = folder / "case.yaml"
    text = (repository / "scenarios" / "eight-a100-7b.yaml").read_text(encoding="utf-8")
    path.write_text(text + "theme: harbour.yaml\n", encoding="utf-8")
    (folder / "harbour.yaml").write_text(theme, encoding="utf-8")
    if logo:
        (folder / "harbour.png").write_bytes(logo)
    return path


def test_the_example_reaches_workbook_and_document(repository: Path, catalog: Catalog, tmp_path: Path) -> None:
    path = scenario_in(tmp_path, repository, example(repository), png(60, 20))
    run = evaluate(read_scenario(path, catalog), catalog)
    workbook.write(run, tmp_path / "book.xlsx")
    assert problems(tmp_path / "book.xlsx") == []
    book = load_workbook(tmp_path / "book.xlsx")
    about = book["About"]
    assert about["A1"].font.color.rgb.endswith("3B1F5B")
    assert about["A1"].font.name == "Calibri"
    assert about.oddHeader.left.text == "Group IT"
    assert about.oddHeader.right.text == "Internal"
    assert "Harbour Mutual" in about.oddFooter.left.text
    assert any("bind nobody" in str(cell.value) for row in about for cell in row)
    with zipfile.ZipFile(tmp_path / "book.xlsx") as package:
        pictures = [name for name in package.namelist() if name.startswith("xl/media/")]
        assert [package.read(name) for name in pictures] == [png(60, 20)]
    for language, said in (("en", "bind nobody"), ("zh", "不构成承诺")):
        kind, words = "monthly-procurement", translator(language)
        html = pdf.page(kind, view.context(run, language, words, pdf.section_templates(kind)), words)
        assert said in html
        assert 'class="logo"' in html
    assert "--title: #3B1F5B" in pdf.own_style(run.scenario)
    assert pdf.document(html, kind, identifier="x", own_style=pdf.own_style(run.scenario))
    store.write(run.scenario, catalog, tmp_path, tmp_path / "inputs.zip")
    with zipfile.ZipFile(tmp_path / "inputs.zip") as kept:
        assert {"scenario/harbour.yaml", "scenario/harbour.png"} <= set(kept.namelist())


def test_without_a_theme_all_looks_as_shipped(repository: Path, catalog: Catalog) -> None:
    scenario = read_scenario(repository / "scenarios" / "eight-a100-7b.yaml", catalog)
    assert scenario.look == Look()


@pytest.mark.parametrize(
    ("theme", "logo", "said"),
    [
        ("colours: {title: FFFF00}", b"", ["too light", "contrast of 1.1", "colours.title"]),
        ("colours: {title: red}", b"", ["harbour.yaml:1", "colours.title"]),
        ("colour: {title: 000000}", b"", ["colour"]),
        ("logo: harbor.png", png(2, 2), ["no such file", 'did you mean "harbour.png"']),
        ("logo: ../secret.png", b"", ["leaves the scenario's folder"]),
        ("logo: harbour.png", b"GIF89a", ["no picture that can be used", "PNG"]),
        ("logo: harbour.png", png(2001, 1), ["no picture that can be used"]),
        ("logo: harbour.yaml", b"", ["no picture that can be used"]),
    ],
)
def test_what_is_wrong_with_a_theme_is_said(
    theme: str, logo: bytes, said: list[str], repository: Path, catalog: Catalog, tmp_path: Path
) -> None:
    path = scenario_in(tmp_path, repository, theme, logo)
    with pytest.raises(InputError) as refused:
        read_scenario(path, catalog)
    text = str(refused.value)
    assert all(each in text for each in said), text


def test_a_theme_that_is_not_there(repository: Path, catalog: Catalog, tmp_path: Path) -> None:
    path = scenario_in(tmp_path, repository, "")
    (tmp_path / "harbour.yaml").rename(tmp_path / "harbor.yaml")
    with pytest.raises(InputError, match=r'no such file.*did you mean "harbor\.yaml"'):
        read_scenario(path, catalog)


def test_contrast_is_that_of_the_standard() -> None:
    """WCAG 2.2: black on white 21:1, white on white 1:1; #767676 is the lightest grey that passes 4.5."""
    assert contrast_on_white("000000") == pytest.approx(21)
    assert contrast_on_white("FFFFFF") == pytest.approx(1)
    assert contrast_on_white("767676") > 4.5 > contrast_on_white("777777")


def test_size_of_a_picture_comes_from_its_header() -> None:
    assert pixels(png(60, 20)) == (60, 20)
    assert pixels(b"not a picture") == (0, 0)
