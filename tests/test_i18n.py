"""Every message there is has a Chinese translation, and documents say what they lack."""

from __future__ import annotations

import ast
import importlib
import io
import pkgutil
import re
import string
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

import reports.formulas
from reports.catalog.read import read_catalog
from reports.catalog.records import BASES, CURRENCIES
from reports.columns import LEAVES
from reports.constraints import CONSTRAINTS, SENTENCES
from reports.cost import bill, comparison, eligibility, payments, purchases, quotes
from reports.cost.blocks import CASHFLOW, CASHFLOW_RESULTS, COST_BLOCKS, PURCHASE_BLOCKS
from reports.cost.lines import LINES, OTHER_COSTS
from reports.errors import RenderError
from reports.formulas.meta import info
from reports.methods import METHODS
from reports.paths import templates_folder
from reports.plan import growth, spares
from reports.plan.rows import COMPARED, COMPARED_RESULTS, RESULTS, TIMELINE
from reports.render.formats import NOT_AVAILABLE, UNIT_WORDS
from reports.render.i18n import (
    catalogue,
    catalogue_file,
    missing,
    one_line,
    source_messages,
    template_messages,
    translator,
)  # fmt: skip
from reports.units import UNITS

REGIONS = ("china", "us", "eu", "global")
WITHOUT_SENTENCES = ("evaluate.py", "facts.py", "explain.py", "strict_yaml.py", "yaml_problems.py", "cli.py")
WITH_SENTENCES = ("bottleneck.py", "pipeline.py", "recommend.py")


def messages(repository: Path) -> set[str]:
    """Every message a document or workbook may show."""
    found: set[str] = {NOT_AVAILABLE, *BASES, *CURRENCIES, "given", "not stated", "search", "solved"}
    found |= {"Confidential", "Internal", "Public"}
    for module in pkgutil.iter_modules(reports.formulas.__path__):
        for function in getattr(importlib.import_module(f"reports.formulas.{module.name}"), "FORMULAS", ()):
            found |= {info(function).label, one_line(info(function).doc)}
    found |= {text for each in spares.PROOF.formulas for text in (info(each).label, one_line(info(each).doc))}
    found |= {block.title for block in (spares.BLOCK, spares.PROOF, growth.BLOCK)}
    found |= {row.label for row in (*TIMELINE, *RESULTS, *COMPARED, *COMPARED_RESULTS)}
    found |= {leaf.label for leaf in LEAVES}
    found |= {UNIT_WORDS.get(unit, unit) for unit in UNITS} - {""} | {"currency/server"}
    for method in METHODS.values():
        found |= {method.title, *(block.title for block in method.blocks())}
    found |= {block.title for block in (*COST_BLOCKS, *PURCHASE_BLOCKS)}
    found |= {row.label for row in (*CASHFLOW, *CASHFLOW_RESULTS)}
    found |= {text for line in LINES for text in (line.unit, line.label, line.when)} | set(OTHER_COSTS.values())
    found |= {each.label for each in (*bill.ITEMS, *payments.PAYMENTS)} | set(comparison.MISSING.values())
    found |= {quotes.DAYS, quotes.MONTHS, quotes.TIMES, *REGIONS, "Recommended load", "At the limit"}
    found |= {record.label for records in CONSTRAINTS.values() for record in records}
    found |= {*SENTENCES.values(), *eligibility.REASONS.values(), *purchases.REASONS.values()}
    found |= {entry.quality.text for entry in read_catalog().quantizations.values() if entry.quality.text}
    for folder in ("render", "cost", "history", "."):
        for path in sorted((repository / "reports" / folder).glob("*.py" if folder == "." else "**/*.py")):
            if path.name not in WITHOUT_SENTENCES and (folder != "." or path.name in WITH_SENTENCES):
                found |= source_messages(path.read_text(encoding="utf-8"))
    return found | template_messages(templates_folder())


def test_every_message_is_translated(repository: Path) -> None:
    lacking = missing(messages(repository), "zh")
    assert not lacking, "add to templates/locale/zh/LC_MESSAGES/gpubook.po:\n" + "\n".join(lacking)


def test_translations_keep_the_placeholders() -> None:
    def names(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    wrong = [message for message, text in catalogue("zh").items() if names(message) != names(text)]
    assert not wrong


def test_translations_are_chinese_and_use_full_width_punctuation() -> None:
    half_width = [text for text in catalogue("zh").values() if re.search(r"[\u4e00-\u9fff][,;:!?]", text)]
    assert not half_width


def test_a_message_without_translation_fails_the_document() -> None:
    translate = translator("zh")
    assert translate("Rent") == "租赁"
    assert translate("A sentence nobody translated about {n}.", n=3) == "A sentence nobody translated about 3."
    translate('Say "so" to {who}')
    with pytest.raises(RenderError) as caught:
        translate.require_complete()
    assert str(catalogue_file("zh")) in str(caught.value)
    entries = str(caught.value).partition("\n\n")[2]
    # what is printed can be pasted into the file: Babel reads the same messages back
    pasted = {str(each.id) for each in read_po(io.StringIO(entries)) if each.id}
    assert pasted == {"A sentence nobody translated about {n}.", 'Say "so" to {who}'}


def test_words_of_a_user_never_block_a_document() -> None:
    translate = translator("zh")
    assert translate.known("No loss on our own questions") == "No loss on our own questions"
    assert translate.known("published") != "published"
    translate.require_complete()


def test_unknown_languages_are_refused() -> None:
    with pytest.raises(RenderError, match="fr"):
        translator("fr")


def test_extraction_finds_calls_conditions_and_sentences() -> None:
    source = "_('Plain')\nx.translate('A' if c else 'B', n=1)\nW = 'Price of {gpu} is old.'\nf'{x} no {y}.'\n"
    assert ast.parse(source)
    assert source_messages(source) == {"Plain", "A", "B", "Price of {gpu} is old."}
