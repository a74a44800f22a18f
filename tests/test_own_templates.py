"""A company's own templates: blocks replaced and extended, in a sandbox, with a time limit; the documented example."""

from __future__ import annotations

import re
import signal
import zipfile
from pathlib import Path

import pytest

from reports.catalog.records import Catalog
from reports.errors import InputError, RenderError
from reports.history import store
from reports.pipeline import evaluate
from reports.render import pdf, sandbox, view
from reports.render.i18n import translator
from reports.run import Run
from reports.scenario.read import read_scenario

KIND = "monthly-procurement"
DOCUMENT = f"{KIND}/document.html.j2"


def blocks(repository: Path, language: str) -> list[str]:
    text = (repository / "docs" / "TEMPLATES.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.fixture(scope="module")
def run(repository: Path, catalog: Catalog) -> Run:
    return evaluate(read_scenario(repository / "scenarios" / "eight-a100-7b.yaml", catalog), catalog)


def page(run: Run, own: dict[str, str], language: str = "en", kind: str = KIND) -> str:
    words = translator(language)
    return pdf.page(kind, view.context(run, language, words, pdf.section_templates(kind, own)), words, own)


def test_the_documented_example(run: Run, repository: Path, catalog: Catalog, tmp_path: Path) -> None:
    folder = tmp_path / "harbour-templates" / "capacity-proposal"
    folder.mkdir(parents=True)
    (folder / "document.html.j2").write_text(blocks(repository, "jinja")[0], encoding="utf-8")
    (folder.parent / "approval.css").write_text(blocks(repository, "css")[0], encoding="utf-8")
    text = (repository / "scenarios" / "eight-a100-7b.yaml").read_text(encoding="utf-8")
    (tmp_path / "case.yaml").write_text(f"{text}\n{blocks(repository, 'yaml')[0]}", encoding="utf-8")
    scenario = read_scenario(tmp_path / "case.yaml", catalog)
    assert set(scenario.own_templates) == {"capacity-proposal/document.html.j2", "approval.css"}
    assert "harbour-templates/approval.css" in dict(scenario.files)
    for language, said in (("en", "Chief information officer"), ("zh", "首席信息官")):
        html = page(run, dict(scenario.own_templates), language, "capacity-proposal")
        assert said in html
        assert html.index("cover-title") < html.index('id="approval"')
    style = pdf.own_style(scenario)
    assert "break-before: page" in style
    assert pdf.document(html, "capacity-proposal", identifier="x", own_style=style).startswith(b"%PDF")
    store.write(scenario, catalog, tmp_path, tmp_path / "inputs.zip")
    with zipfile.ZipFile(tmp_path / "inputs.zip") as kept:
        assert "scenario/harbour-templates/approval.css" in kept.namelist()


def test_own_sections_are_chosen_and_replaced(run: Run) -> None:
    own = {
        DOCUMENT: '{% extends "packaged/' + DOCUMENT + '" %}{% set section_names = ["sources", "options"] %}',
        "sections/options.html.j2": "<section id={{ section.id }}><h1>{{ section.title }}</h1>replaced by us</section>",
    }
    html = page(run, own)
    assert "replaced by us" in html
    assert html.index('href="#sources"') < html.index('href="#options"')
    assert "#workload" not in html
    assert "replaced by us" not in page(run, {})


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{% include '/etc/passwd' %}", "TemplateNotFound"),
        ("{% include '../../etc/passwd' %}", "TemplateNotFound"),
        ("{{ ''.__class__.__mro__ }}", "SecurityError"),
        ("{{ document.title.format.__globals__ }}", "SecurityError"),
        ("{{ nothing_of_this_name }}", "UndefinedError"),
        ("{{ 'x' * 1000000000 }}", "SecurityError"),
        ("{{ 9 ** 9 ** 9 }}", "SecurityError"),
        ("{{ range(10000000) | list }}", "OverflowError"),
        ("{% for x in [1] %}", "TemplateSyntaxError"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
    ],
)
def test_what_a_template_may_not_do(template: str, said: str, run: Run) -> None:
    with pytest.raises(RenderError, match=said):
        page(run, {DOCUMENT: template})


def test_an_endless_loop_is_stopped(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MOST_SECONDS", 0.3)
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    with pytest.raises(RenderError, match=r"longer than 0\.3 s"):
        page(run, {DOCUMENT: loop})


def test_a_limit_leaves_the_timer_as_it_was() -> None:
    def for_ever() -> None:
        with sandbox.limited(0.01, "x"):
            while True:
                pass

    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(RenderError):
        for_ever()
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_what_is_wrong_with_a_folder_is_said(repository: Path, catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin").mkdir()
    (tmp_path / "latin" / "a.css").write_bytes(b"/* \xe9 */")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "a.css").symlink_to("/etc/hostname")
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / "a.css").write_bytes(b" " * 500_001)
    text = (repository / "scenarios" / "eight-a100-7b.yaml").read_text(encoding="utf-8")
    for name, said in (
        ("none", "no such folder"), ("..", "leaves the scenario's folder"), ("/etc", "leaves the scenario's folder"),
        (".", "leaves the scenario's folder"), ("empty", "holds no template"), ("latin", "not UTF-8"),
        ("link", "leads out of it"), ("large", "holds too much"),
    ):  # fmt: skip
        (tmp_path / "case.yaml").write_text(f'{text}\ntemplates: "{name}"\n', encoding="utf-8")
        with pytest.raises(InputError, match=said):
            read_scenario(tmp_path / "case.yaml", catalog)
