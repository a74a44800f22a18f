"""YAML without surprises: what the file says is what is read, and every problem has a file, a line and a column.

Only ``true``, ``false``, ``null``, whole numbers without a leading zero and decimal numbers are typed; all else is text
(``NO``, ``0123``, ``22:22``, ``2026-11``), and the schema decides what the text means. Keys are always text.
Duplicate keys, anchors, aliases, merge keys, tags, tabs, several documents in a file, and files that are too large or
too deep are refused.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from reports.errors import InputError, Problem
from reports.yaml_problems import KeyPath, Place, did_you_mean, model_problems

__all__ = ["YamlDocument", "did_you_mean", "parse", "read", "validate"]

T = TypeVar("T", bound=BaseModel)

MAX_BYTES = 2_000_000
MAX_DEPTH = 20
MAX_VALUES = 10_000
_MAX_DIGITS = 18

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_DECIMAL = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")
UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""What no output can hold: XML, and so a workbook, has no such characters."""
_WORDS = {"true": True, "false": False, "null": None, "": None}


@dataclass(frozen=True)
class YamlDocument:
    """The data of one file, and where each value stands in it."""

    data: Any
    positions: dict[KeyPath, tuple[int, int]]
    """Path of a value -> (line, column), both from 1; for a mapping or list under a key, where the key stands."""
    file: str
    key_positions: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    """The same for the keys."""

    def place(self, path: KeyPath, key: bool = False) -> Place:
        """(file, line, column) of a value (or key), or of the nearest part around it that the file has."""
        for length in range(len(path), -1, -1):
            part = path[:length]
            if key and length == len(path) and part in self.key_positions:
                return (self.file, *self.key_positions[part])
            if part in self.positions:
                return (self.file, *self.positions[part])
        return (self.file, None, None)


class Placed(Protocol):
    """Data that knows where each of its values stands: one document, or several merged."""

    @property
    def data(self) -> Any: ...

    def place(self, path: KeyPath, key: bool = False) -> Place: ...


def read(path: str | Path, *, name: str | None = None) -> YamlDocument:
    """Read one file; ``name`` is what problems call it (the path as given, otherwise)."""
    path = Path(path)
    file = name if name is not None else str(path)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError(_too_large(file, size))
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(_unreadable(path, file, error)) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = len(before) - (before.rfind(b"\n") + 1) + 1
        raise InputError(
            Problem(
                file,
                "is not UTF-8 text",
                line,
                column,
                read=f"byte 0x{raw[error.start]:02x}",
                expected="UTF-8",
                hint="save the file as UTF-8",
            )
        ) from None
    return parse(text, file)


def _unreadable(path: Path, file: str, error: OSError) -> Problem:
    if isinstance(error, FileNotFoundError):
        beside = [other.name for other in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
        return Problem(file, "no such file", hint=did_you_mean(path.name, beside))
    if path.is_dir():
        return Problem(file, "is a folder", expected="a YAML file")
    return Problem(file, f"cannot be read: {error.strerror or error}")


def _too_large(file: str, size: int) -> Problem:
    return Problem(file, "is too large", read=f"{size:,} bytes", expected=f"at most {MAX_BYTES:,} bytes")


def parse(text: str, file: str) -> YamlDocument:
    """Read YAML from a text; ``file`` is what problems call it."""
    if len(text) > MAX_BYTES:
        raise InputError(_too_large(file, len(text)))
    problems = [*_tabs(text, file), *_control_characters(text, file)]
    if problems:
        raise InputError(problems)
    builder = _Builder(file)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.context, error.problem) if part)
        builder.problems.append(
            Problem(
                file,
                "is nested too deeply" if "nesting depth" in reason else f"is not valid YAML: {reason}",
                mark.line + 1 if mark else None,
                mark.column + 1 if mark else None,
                hint=_syntax_hint(text, mark),
            )
        )
    except yaml.YAMLError as error:
        builder.problems.append(Problem(file, f"is not valid YAML: {error}"))
    if not builder.problems and not builder.documents:
        builder.problems.append(Problem(file, "is empty", 1, 1, expected="keys with values"))
    if builder.problems:
        raise InputError(builder.problems)
    return YamlDocument(builder.root, builder.positions, file, builder.key_positions)


def validate(model: type[T], document: Placed, *, data: Any = None) -> T:
    """The document (or ``data`` with the same paths) as a record; InputError with every problem otherwise.

    Validation is strict: text is never turned into a number, nor a number into a flag.
    """
    given = document.data if data is None else data
    try:
        return model.model_validate_json(json.dumps(given), strict=True)
    except ValidationError as error:
        raise InputError(model_problems(model, error, given, document.place)) from None


def _tabs(text: str, file: str) -> list[Problem]:
    lines = text.splitlines() if "\t" in text else []
    return [
        Problem(file, "a tab", number, line.index("\t") + 1, expected="spaces", hint="indent with two spaces a level")
        for number, line in enumerate(lines, 1)
        if "\t" in line
    ]


def _control_characters(text: str, file: str) -> list[Problem]:
    found = _CONTROL.search(text.replace("\r\n", "\n").replace("\t", " "))
    if not found:
        return []
    before = text[: found.start()]
    return [
        Problem(
            file,
            "is not a text file",
            before.count("\n") + 1,
            len(before) - before.rfind("\n"),
            read=f"character U+{ord(found.group()):04X}",
            expected="text in UTF-8",
        )
    ]


def _syntax_hint(text: str, mark: Any) -> str:
    lines = text.splitlines()
    around = "".join(lines[max(mark.line - 1, 0) : mark.line + 1]) if mark else text
    if "：" in around:
        return "a full-width colon was read; YAML needs an ASCII colon and a space"
    if "%" in around or "@" in around or "`" in around:
        return "put text that holds % @ ` at its start in quotes"
    return "look at the line above too: a missing colon, quote or bracket shows up late"


class _Builder:
    """Turns parser events into data; iterative, so that depth is limited by a number and not by the stack."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.positions: dict[KeyPath, tuple[int, int]] = {}
        self.key_positions: dict[KeyPath, tuple[int, int]] = {}
        self.root: Any = None
        self.documents = 0
        self._open: list[tuple[KeyPath, Any]] = []
        self._key: list[tuple[str, tuple[int, int]] | None] = []
        self._skip = 0
        """Nesting inside a key that is itself a mapping or list: refused and passed over."""

    def _problem(self, event: Any, message: str, **more: str) -> None:
        mark = event.start_mark
        self.problems.append(Problem(self.file, message, mark.line + 1, mark.column + 1, **more))

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._document(event)
        elif isinstance(event, yaml.NodeEvent):
            self._node(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end()

    def _document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            self._problem(event, "a second document in one file", expected="one document", hint="remove the line ---")
        if event.version or event.tags:
            self._problem(event, "a directive", expected="no line that starts with %")

    def _node(self, event: Any) -> None:
        if self._skip:
            self._skip += isinstance(event, yaml.CollectionStartEvent)
            return
        if self.documents > 1:
            self._skip += isinstance(event, yaml.CollectionStartEvent)
            return
        if isinstance(event, yaml.AliasEvent):
            self._problem(event, "an alias", read=f"*{event.anchor}", expected="the value itself")
        elif event.anchor:
            self._problem(event, "an anchor", read=f"&{event.anchor}", expected="a value without one")
        if len(self.positions) >= MAX_VALUES:
            self._problem(event, "holds too many values", expected=f"at most {MAX_VALUES:,} in one file")
            raise InputError(self.problems)
        if getattr(event, "tag", None):
            self._problem(event, "a tag", read=event.tag, expected="a plain value")
        if self._open and isinstance(self._open[-1][1], dict) and self._key[-1] is None:
            self._take_key(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._start(event, {} if isinstance(event, yaml.MappingStartEvent) else [])
        else:
            self._put(event, None if isinstance(event, yaml.AliasEvent) else self._scalar(event))

    def _take_key(self, event: Any) -> None:
        mark = event.start_mark
        position = (mark.line + 1, mark.column + 1)
        if not isinstance(event, yaml.ScalarEvent):
            if not isinstance(event, yaml.AliasEvent):
                self._problem(
                    event,
                    "a key that is itself a list or mapping",
                    expected="a word",
                    hint="put text that starts with { or [ in quotes",
                )
                self._skip = 1
            self._key[-1] = ("", position)
            return
        path, mapping = self._open[-1]
        key = event.value
        if key == "<<" and not event.style:
            self._problem(event, "a merge key", read="<<", expected="the keys themselves")
        elif key in mapping:
            first = self.key_positions[(*path, key)]
            self._problem(
                event,
                "a key that was given before",
                read=f'"{key}"',
                expected="each key once",
                hint=f"the first is in line {first[0]}",
            )
        self._key[-1] = (key, position)

    def _put(self, event: Any, value: Any) -> KeyPath:
        position = (event.start_mark.line + 1, event.start_mark.column + 1)
        path: KeyPath = ()
        if not self._open:
            self.root = value
        else:
            outer, container = self._open[-1]
            if isinstance(container, list):
                path = (*outer, len(container))
                container.append(value)
            else:
                key, key_position = self._key[-1] or ("", position)
                self._key[-1] = None
                path = (*outer, key)
                container[key] = value
                self.key_positions.setdefault(path, key_position)
                position = key_position if isinstance(value, dict | list) else position
        self.positions.setdefault(path, position)
        return path

    def _start(self, event: Any, container: Any) -> None:
        path = self._put(event, container)
        self._open.append((path, container))
        self._key.append(None)
        if len(self._open) > MAX_DEPTH:
            self._problem(event, "is nested too deeply", expected=f"at most {MAX_DEPTH} levels")
            raise InputError(self.problems)

    def _end(self) -> None:
        if self._skip:
            self._skip -= 1
        elif self._open:
            self._open.pop()
            self._key.pop()

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if event.style:  # quoted or a block: text
            found = UNSHOWABLE.search(text)
            if found:
                self._problem(event, "a control character in a text", read=f"U+{ord(found.group()):04X}",
                              expected="text that can be shown", hint="take out the escape, such as \\0 or \\x1b")
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _WHOLE.match(text):
            if len(text) <= _MAX_DIGITS:
                return int(text)
            self._problem(event, "a number with too many digits", read=text[:40], expected=f"at most {_MAX_DIGITS}")
        elif _DECIMAL.match(text):
            if math.isfinite(float(text)):
                return float(text)
            self._problem(event, "a number that is too large", read=text[:40])
        return text
