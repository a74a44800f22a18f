"""Outputs appear whole or not at all: everything is written beside its place under a temporary name, then renamed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reports.errors import InputError, Problem


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """A draft folder to write into, which takes the place of ``folder`` when the block ends without an error.

    Until then, and after any error or interruption, what stood in ``folder`` stays as it was. Draft and old folder are
    hidden siblings, so that each rename stays inside one file system.
    """
    folder = Path(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.draft.", dir=folder.parent))
    except OSError as error:
        raise InputError(
            Problem(str(folder), f"cannot be written: {error.strerror or error}", expected="a folder that can be made",
                    hint="choose another with --out")
        ) from None
    try:
        draft.chmod(0o777 & ~_umask())
        yield draft
        _swap(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _swap(draft: Path, folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(Problem(str(folder), "is a file", expected="a folder", hint="choose another with --out"))
    if not folder.exists():
        draft.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
    try:
        folder.rename(old / folder.name)
        try:
            draft.rename(folder)
        except BaseException:
            (old / folder.name).rename(folder)
            raise
    finally:
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write one file; a reader sees the old content or the new, never a part."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
