"""Opens a file as it is or, where its first bytes say gzip, unpacked on the way: piece by piece, never as a whole."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from reports.errors import InputError, Problem

GZIP = b"\x1f\x8b"


def packed(path: Path) -> bool:
    """Whether a file is packed by gzip, whatever its name is. OSError where it cannot be opened."""
    with path.open("rb") as file:
        return file.read(len(GZIP)) == GZIP


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked; close it. Reading raises what ``whole`` turns into InputError."""
    return cast(IO[bytes], gzip.open(path, "rb")) if packed(path) else path.open("rb")


def opened_text(path: Path, encoding: str = "utf-8-sig", errors: str = "replace") -> IO[str]:
    """The text of a file, unpacked, line ends as they are; close it."""
    return io.TextIOWrapper(opened(path), encoding=encoding, errors=errors, newline="")


@contextmanager
def whole(path: Path) -> Iterator[None]:
    """While it lasts, a packed file that is broken or cut off is a problem of the input."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(
            Problem(str(path), "is a broken gzip file", expected="a file that gzip -t passes", hint="copy it again")
        ) from None
