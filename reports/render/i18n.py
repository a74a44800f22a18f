"""Words of a document in its language: message catalogues read at run time, and the list of all messages there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from babel.messages.pofile import read_po
from jinja2 import Environment, nodes

from reports.errors import RenderError
from reports.paths import templates_folder

SOURCE_LANGUAGE = "en"
"""Messages are written in English, so this language needs no catalogue."""

LANGUAGES = ("en", "zh")


def catalogue_file(language: str) -> Path:
    """The .po file of a language."""
    return templates_folder() / "locale" / language / "LC_MESSAGES" / "gpubook.po"


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Message -> translation, read from the language's .po file; empty for English."""
    if language == SOURCE_LANGUAGE:
        return {}
    path = catalogue_file(language)
    if not path.is_file():
        raise RenderError(f"there is no message catalogue for language {language}")
    with path.open("rb") as file:
        messages = read_po(file, locale=language)
    return {
        str(message.id): str(message.string)
        for message in messages
        if message.id and message.string and not message.fuzzy
    }


class Translator:
    """Translates messages into one language and remembers those that its catalogue lacks."""

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise RenderError(f"there are no documents in language {language}, only in {', '.join(LANGUAGES)}")
        self.language = language
        self.missing: set[str] = set()
        self._messages = catalogue(language)

    def __call__(self, message: str, /, **values: object) -> str:
        """The message in this language, its ``{names}`` filled in; an unknown one stays English and is remembered."""
        text = message
        if message and self.language != SOURCE_LANGUAGE:
            found = self._messages.get(message)
            if found is None:
                self.missing.add(message)
            else:
                text = found
        return text.format(**values) if values else text

    def known(self, text: str) -> str:
        """A word of the user's own: translated when the catalogue has it, itself otherwise, never missing."""
        return self._messages.get(text, text)

    def require_complete(self) -> None:
        """RenderError with an entry to fill in for every message met so far without a translation."""
        if self.missing:
            raise RenderError(
                f"messages without a translation into {self.language}; add to {catalogue_file(self.language)}:\n\n"
                + "\n\n".join(stub(message) for message in sorted(self.missing))
            )


def stub(message: str) -> str:
    """The entry of a message as it stands in a .po file, its translation still to be written."""
    return f"msgid {quoted(message)}\nmsgstr \"\""


def quoted(text: str) -> str:
    """Text as a quoted string of a .po file."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def translator(language: str) -> Translator:
    """``_`` of a language: call it with an English message and the values of its ``{names}``."""
    return Translator(language)


# ---- all messages there are, for the catalogue and its test ----

_TRANSLATES = frozenset({"_", "translate", "N_"})


def source_messages(text: str) -> set[str]:
    """Messages in Python source: given to ``_``, ``translate`` or ``counted``, and sentences with ``{names}``."""
    tree = ast.parse(text)
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    formatted = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in _TRANSLATES:
                found |= set(_constants(node.args[0]))
            if name == "counted":  # (number, one, many)
                found |= {text for argument in node.args[1:] for text in _constants(argument)}
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documentation | formatted
            and re.search(r"^(?=[A-Z{]).*\{[a-z_]+\}.*\.$", node.value)
        ):
            found.add(node.value)
    return found


def _constants(node: ast.expr) -> Iterator[str]:
    """String constants a first argument may be: itself, or the branches of a conditional expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _constants(node.body)
        yield from _constants(node.orelse)


def template_messages(folder: Path) -> set[str]:
    """Messages in templates: constants given to ``_``."""
    found: set[str] = set()
    for path in sorted(folder.rglob("*.j2")):
        tree = Environment(autoescape=True, extensions=["jinja2.ext.do"]).parse(path.read_text(encoding="utf-8"))
        for call in tree.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == "_" and call.args:
                found |= set(_template_constants(call.args[0]))
    return found


def _template_constants(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, nodes.CondExpr):
        yield from _template_constants(node.expr1)
        if node.expr2 is not None:
            yield from _template_constants(node.expr2)


def one_line(text: str) -> str:
    """A docstring as one line, which is how it is shown and looked up."""
    return " ".join(text.split())


def missing(messages: Iterable[str], language: str) -> list[str]:
    """Those messages that a language's catalogue lacks, sorted."""
    known = catalogue(language)
    return sorted(message for message in set(messages) if message and message not in known)
