"""Reads files of unknown size and origin: lines with bounded memory, JSON up to a limit, colour codes removed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from reports.errors import InputError, Problem
from reports.field.packed import opened, opened_text, packed

JSON_LIMIT_BYTES = 64 * 1024 * 1024
"""One JSON document, or one line of JSON lines: larger ones hold every request, not a summary."""

LINE_LIMIT_BYTES = 1024 * 1024
CHUNK_BYTES = 4 * 1024 * 1024
HEAD_BYTES = 256 * 1024
TOLD_BYTES = 128 * 1024 * 1024
"""After so much of a large file its reader says how far it is."""

_TOLD: ContextVar[Callable[[str], None]] = ContextVar("told", default=lambda step: None)

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\[\d{1,2}(?:;\d{1,3})*m")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_ARCHIVES = {b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


@contextmanager
def telling(say: Callable[[str], None]) -> Iterator[None]:
    """While it lasts, readers of large files say how far they are."""
    token = _TOLD.set(say)
    try:
        yield
    finally:
        _TOLD.reset(token)


def refuse(
    path: str | Path, message: str, line: int | None = None, *, read: str = "", expected: str = "", hint: str = ""
) -> InputError:
    """The error that says why a file cannot be used."""
    return InputError(Problem(str(path), message, line, read=read, expected=expected, hint=hint))


def head(path: Path) -> str:
    """The first part of a file as text, or InputError when it is not text."""
    if path.is_dir():
        raise refuse(path, "is a folder", expected="a result file or a log")
    try:
        with opened(path) as file:
            raw = file.read(HEAD_BYTES)
    except OSError as error:
        if error.errno is None:  # a broken archive, not a broken disk
            raise
        raise refuse(path, f"cannot be read: {os.strerror(error.errno or 0)}") from None
    if not raw.strip():
        raise refuse(path, "is empty")
    for mark, name in _ARCHIVES.items():
        if raw.startswith(mark):
            raise refuse(path, f"is a {name} archive", hint="unpack it first")
    if raw.startswith(_UTF16):
        return raw[: len(raw) // 2 * 2].decode("utf-16", "replace")
    if b"\0" in raw:
        raise refuse(path, "is a binary file", expected="a result file or a log")
    return clean(raw.decode("utf-8-sig", "replace"))


def clean(line: str) -> str:
    """Without colour codes."""
    return _COLOUR.sub("", line) if "[" in line else line


def lines(
    path: Path, keep: Sequence[bytes] = (b"",), enough: Callable[[int], bool] = lambda line: False
) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines that contain one of ``keep``; a line is cut at 1 MB, memory stays small.

    ``enough`` of the number of lines read: stop, now and then asked.

    Plain words, not patterns: they are searched at the speed of the disk, and most of a log is about something else.
    """
    with opened(path) as file:
        if file.read(2) in _UTF16:
            yield from _utf16_lines(path, keep)
            return
        file.seek(0)
        number, tail, told = 0, b"", 0
        of = "" if packed(path) else f" of {path.stat().st_size / 1e9:.1f}"
        while True:
            chunk = file.read(CHUNK_BYTES)
            if file.tell() - told > TOLD_BYTES:
                told = file.tell()
                _TOLD.get()(f"{path.name}, {told / 1e9:.1f}{of} GB")
            data = tail + chunk
            cut = data.rfind(b"\n") + 1 if chunk else len(data)
            block, tail = data[:cut], data[cut:][:LINE_LIMIT_BYTES]
            if not _any(keep, block):
                number += block.count(b"\n")
            elif block:
                for raw in block.removesuffix(b"\n").split(b"\n"):
                    number += 1
                    if _any(keep, raw):
                        text = raw[:LINE_LIMIT_BYTES].decode("utf-8", "replace").removesuffix("\r")
                        yield number, clean(text.removeprefix("\ufeff"))
            if not chunk or enough(number):
                return


def _any(words: Sequence[bytes], text: bytes) -> bool:
    return any(word in text for word in words)


def _utf16_lines(path: Path, keep: Sequence[bytes]) -> Iterator[tuple[int, str]]:
    """What Windows PowerShell writes with ``>``."""
    with opened_text(path, "utf-16") as file:
        number = 0
        while line := file.readline(LINE_LIMIT_BYTES):
            number += line.endswith("\n")
            text = line.rstrip("\r\n")
            if _any(keep, text.encode()):
                yield number, clean(text)


def load_json(path: Path) -> Any:
    """One JSON document; bare NaN and Infinity are taken, as the tools write them."""
    with opened(path) as file:
        raw = file.read(JSON_LIMIT_BYTES + 1)
    if len(raw) > JSON_LIMIT_BYTES:
        raise refuse(
            path, "is too large for one result", expected=f"at most {JSON_LIMIT_BYTES / 1e6:.0f} MB",
            hint="give the summary: without --save-detailed, --output-details or per-request records",
        )  # fmt: skip
    return parse_json(path, raw.decode("utf-16" if raw.startswith(_UTF16) else "utf-8-sig", "replace"), 1)


def parse_json(path: Path, text: str, line: int) -> Any:
    """A JSON value, or InputError with the line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip())
        raise refuse(
            path,
            "ends in the middle of the JSON" if cut else f"is not valid JSON: {error.msg}",
            line + error.lineno - 1,
        ) from None
    except RecursionError:
        raise refuse(path, "is nested too deep to be a result", line) from None
    except ValueError as error:
        raise refuse(path, f"is not valid JSON: {error}", line) from None


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """(line, value) of a file with one JSON value a line, read one line at a time."""
    with opened(path) as file:
        number = 0
        while raw := file.readline(JSON_LIMIT_BYTES + 1):
            number += 1
            if len(raw) > JSON_LIMIT_BYTES:
                raise refuse(
                    path,
                    "has a line that is too large for one result",
                    number,
                    hint="give the summary: without per-request details",
                )
            text = raw.decode("utf-8-sig", "replace").strip()
            if text:
                yield number, parse_json(path, text, number)


def dig(data: Any, *names: str, depth: int = 6) -> Any:
    """The first value under one of the names, nearest to the top first; None when there is none."""
    level = [data]
    for _ in range(depth):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                for name in names:
                    if each.get(name) is not None:
                        return each[name]
                below += each.values()
            elif isinstance(each, list):
                below += each[:20]
        level = below
    return None
