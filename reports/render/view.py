"""What a document shows, as plain dictionaries of finished text: selection, wording and rounding, no computing."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from reports.manifest import program_version
from reports.render import sections, view_summary
from reports.render.i18n import Translator
from reports.render.view_summary import rows
from reports.render.wording import Wording
from reports.run import Run

Row = dict[str, Any]


def context(run: Run, language: str, translate: Translator, templates: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Everything the templates of a report kind read; ``templates`` has its sections as (name, template)."""
    words = Wording(run, language, translate)
    document = sections.Document(words, tuple(name for name, _ in templates))
    return {
        "language": language,
        "document": front(words),
        "summary": view_summary.summary(words, document.winners),
        "sections": sections.shown(document, templates),
    }


def front(words: Wording) -> dict[str, Any]:
    """What the cover and the running titles say about the document itself."""
    scenario, look = words.run.scenario, words.run.scenario.look
    return {
        "title": scenario.title[words.language],
        "period": words.month(scenario.period),
        "date": words.day(scenario.as_of),
        "iso_date": scenario.as_of.isoformat(),
        "prices": price_dates(words),
        "client": scenario.client,
        "version": scenario.version,
        "validity": words.day(scenario.validity) if scenario.validity else "",
        "classification": words.translate.known(scenario.classification) or look.classification[words.language],
        "company": look.company[words.language],
        "logo": f"data:image/png;base64,{b64encode(look.logo_png).decode()}" if look.logo_png else "",
        "header": look.header[words.language],
        "footer": look.footer[words.language],
        "disclaimer": look.disclaimer[words.language],
        "currency": scenario.currency,
        "method": words.translate(words.run.method.title),
        "program": f"gpubook {program_version()}",
        "scenario": scenario.name,
        "checks": "",
        "files": [{"path": path.rpartition("/")[2], "digest": digest[:16]} for path, digest in scenario.files],
        "changes": [{"path": path, "old": str(old), "new": str(new)} for path, old, new in scenario.changes],
    }


PRICE_DAYS = {"rent": "rent_as_of", "buy": "purchase_as_of"}
"""Way -> column with the day of its price."""


def price_dates(words: Wording) -> str:
    """From the oldest to the newest price that the winners are compared by, of the ways that are compared."""
    winners = rows(words.run.winners())
    columns = [column for way, column in PRICE_DAYS.items() if way in words.ways]
    dates = sorted({str(row[name])[:10] for row in winners for name in columns if row.get(name)})
    if not dates:
        return ""
    first, last = words.day(dates[0]), words.day(dates[-1])
    return first if first == last else words.translate("{first} to {last}", first=first, last=last)
