"""A run as a PDF: view, template, style sheet and packaged fonts in; any doubt about the result is an error."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import TemplateError

from reports.errors import MissingLibrary, RenderError
from reports.paths import templates_folder
from reports.render import glyphs, view
from reports.render.book_status import read_status
from reports.render.conformance import VARIANT, attachment, finish
from reports.render.i18n import Translator, translator
from reports.render.sandbox import MOST_SECONDS, environment, limited
from reports.render.sections import SECTIONS
from reports.run import Run
from reports.scenario.schema import Scenario

try:
    import weasyprint
    from weasyprint.text.fonts import FontConfiguration
    from weasyprint.urls import URLFetcher, URLFetcherResponse
except OSError as error:  # it loads Pango and its companions while it is imported
    raise MissingLibrary(
        "PDF documents need Pango, which this machine lacks. Debian, Ubuntu: apt-get install libpango-1.0-0 "
        "libpangoft2-1.0-0 libharfbuzz0b libharfbuzz-subset0 fontconfig; macOS: brew install pango"
    ) from error

WORKBOOK = "workbook.xlsx"
"""Beside the document."""

SECTION_NAMES = "section_names"
"""What a report kind's template calls the list of its sections."""


def write(run: Run, kind: str, language: str, path: Path, attached: Callable[[], Sequence[Path]] = tuple) -> None:
    """Write one report kind in one language; RenderError when it would not come out exactly as designed.

    ``attached`` is asked, when the sections stand, for the files that travel inside the document.
    """
    translate = translator(language)
    own = run.scenario.own_templates
    context = view.context(run, language, translate, section_templates(kind, own))
    files = attached()  # the workbook stands from here on
    context["document"]["checks"] = _checks(read_status(path.with_name(WORKBOOK)), translate)
    html = page(kind, context, translate, own)
    translate.require_complete()
    identifier = f"{run.scenario.name}/{run.scenario.period}/{kind}/{language}"
    day = run.scenario.as_of
    path.write_bytes(
        document(
            html, kind, identifier=identifier, own_style=own_style(run.scenario),
            attached=lambda: [attachment(each, day) for each in files],
        )
    )


def _checks(found: tuple[int, int] | None, translate: Translator) -> str:
    """Whether the checks of the workbook beside the document hold, in words; blank without a workbook."""
    if found is None:
        return ""
    failed, count = found
    if not failed:
        return translate("All {count} checks hold", count=str(count))
    return translate("{failed} of {count} checks FAIL: see Checks", failed=str(failed), count=str(count))


def kinds() -> list[str]:
    """The report kinds there are: the folders with a ``document.html.j2``."""
    return sorted(folder.parent.name for folder in templates_folder().glob("*/document.html.j2"))


def section_templates(kind: str, own: Mapping[str, str] = MappingProxyType({})) -> list[tuple[str, str]]:
    """The sections that ``document.html.j2`` of a report kind names, each with its template: its own, or a shared one.

    ``own`` are a company's templates (path -> text); where its document names no sections, the shipped ones stay. A
    name without a template or without a view function is a RenderError that says which files to look at.
    """
    require_kind(kind)
    file = f"{kind}/document.html.j2"
    lists = _section_lists(own[file]) if file in own else []
    lists = lists or _section_lists((templates_folder() / file).read_text(encoding="utf-8"))
    items = [item for each in lists if isinstance(each, nodes.List) for item in each.items]
    names = [item.value for item in items if isinstance(item, nodes.Const) and isinstance(item.value, str)]
    if len(lists) != 1 or not names or len(names) != len(items):
        raise RenderError(f'templates/{file} has no line {{% set {SECTION_NAMES} = ["...", "..."] %}}')
    found, problems = [], []
    for name in names:
        places = [f"{kind}/sections/{name}.html.j2", f"sections/{name}.html.j2"]
        template = next((place for place in places if place in own or (templates_folder() / place).is_file()), "")
        if not template:
            problems.append(f"section {name} has no template: write templates/{places[1]} or templates/{places[0]}")
        if name not in SECTIONS:
            problems.append(
                f"section {name} has no view function in reports/render/sections.py; there are {', '.join(SECTIONS)}"
            )
        found.append((name, template))
    if problems:
        raise RenderError(f"templates/{file}: " + "; ".join(problems))
    return found


def _section_lists(text: str) -> list[nodes.Node]:
    try:
        tree = environment({}).parse(text)
    except TemplateError as problem:
        raise RenderError(f"a template cannot be read: {type(problem).__name__}: {problem}") from problem
    return [
        each.node
        for each in tree.find_all(nodes.Assign)
        if isinstance(each.target, nodes.Name) and each.target.name == SECTION_NAMES
    ]


def require_kind(kind: str) -> None:
    """RenderError for a report kind without a template."""
    if kind not in kinds():
        raise RenderError(f"there is no report kind {kind}, only {', '.join(kinds())}")


def page(
    kind: str, context: dict[str, Any], translate: Translator, own: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The HTML of a document; ``own`` templates stand in the place of shipped ones of the same path."""
    require_kind(kind)
    try:
        with limited(MOST_SECONDS, f"template of {kind}"):
            return environment(own).get_template(f"{kind}/document.html.j2").render(_=translate, **context)
    except (TemplateError, RecursionError, TypeError, ValueError, ArithmeticError) as problem:
        raise RenderError(f"template of {kind}: {type(problem).__name__}: {problem}") from problem


def document(
    html: str,
    kind: str,
    *,
    identifier: str,
    own_style: str = "",
    attached: Callable[[], Sequence[weasyprint.Attachment]] = tuple,
) -> bytes:
    """The PDF of an HTML page. Any warning of the PDF engine, and any character without a glyph, is a RenderError."""
    glyphs.require_drawable(glyphs.texts_of(html))
    fonts = FontConfiguration()
    with warnings_are_errors():
        fetcher = PackagedFilesOnly()
        texts = (*style_sheets(kind), own_style)
        sheets = [weasyprint.CSS(string=text, font_config=fonts, url_fetcher=fetcher) for text in texts]
        page = weasyprint.HTML(string=html, base_url="about:blank", url_fetcher=fetcher)
        result = page.render(stylesheets=sheets, font_config=fonts, pdf_tags=True)
        content = result.write_pdf(
            pdf_identifier=hashlib.sha256(identifier.encode()).digest()[:16],
            attachments=attached(),
            pdf_variant=VARIANT,
            finisher=finish,
        )
    if not isinstance(content, bytes):
        raise RenderError("the PDF engine returned nothing")
    return content


def style_sheets(kind: str) -> list[str]:
    """Fonts, the shared style sheets in the order of their names, then the report kind's own."""
    shared = sorted((templates_folder() / "css").glob("*.css"))
    own = sorted((templates_folder() / kind).glob("*.css"))
    return [glyphs.font_faces(), *(path.read_text(encoding="utf-8") for path in (*shared, *own))]


def own_style(scenario: Scenario) -> str:
    """A style sheet with a company's colours in the place of ours, and the style sheets of its template folder."""
    colours = scenario.look.colours
    own = [text for path, text in scenario.own_templates.items() if path.endswith(".css")]
    return "\n".join((f":root {{ --title: #{colours.title}; --mark: #{colours.mark}; }}", *own))


class PackagedFilesOnly(URLFetcher):
    """Lets a document read data: addresses and the packaged fonts; everything else is refused."""

    def fetch(self, url: str, headers: dict[str, str] | None = None) -> URLFetcherResponse:
        allowed = url.startswith("data:") or url in {path.as_uri() for path in glyphs.font_files().values()}
        if not allowed:
            raise RenderError(f"a document may not read {url}")
        return super().fetch(url, headers)


class _Collected(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def warnings_are_errors() -> Iterator[None]:
    """Everything the PDF engine or the font library warns of becomes a RenderError that quotes it."""
    collected = _Collected()
    loggers = [logging.getLogger(name) for name in ("weasyprint", "fontTools")]
    before = [(logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.addHandler(collected)
        logger.setLevel(logging.WARNING)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (level, propagate) in zip(loggers, before, strict=True):
            logger.removeHandler(collected)
            logger.setLevel(level)
            logger.propagate = propagate
    if collected.messages:
        quoted = "\n".join(f"  {each}" for each in dict.fromkeys(collected.messages))
        raise RenderError(f"the PDF engine warns:\n{quoted}")
