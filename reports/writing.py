"""Outputs appear whole or not at all: everything is written beside its place under a temporary name, then renamed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reports.errors import InputError, Problem

try:
    import fcntl
except ImportError:  # Windows: what a killed run left is not cleared
    fcntl = None  # type: ignore[assignment]

DRAFT, OLD = "draft", "old"


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """A draft folder to write into, which takes the place of ``folder`` when the block ends without an error.

    Until then, and after any error or interruption, what stood in ``folder`` stays as it was. Draft and old folder are
    hidden siblings, so that each rename stays inside one file system. A draft is locked as long as its process lives;
    what a killed process left is cleared by the next run, which also puts back a report that was killed in mid-swap.
    While another process lives that writes the same folder, a run is refused.
    """
    folder = Path(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _refuse_file(folder)
        busy = _clear_remains(folder)
        if busy:
            raise InputError(
                Problem(str(folder), "is being written by another run", expected="one run at a time into a folder",
                        hint="wait for it to end, or choose another with --out")
            )
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.{DRAFT}.", dir=folder.parent))
    except OSError as error:
        raise InputError(
            Problem(str(folder), f"cannot be written: {error.strerror or error}", expected="a folder that can be made",
                    hint="choose another with --out")
        ) from None
    lock = _lock(draft)
    try:
        draft.chmod(0o777 & ~_umask())
        yield draft
        _swap(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _refuse_file(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(Problem(str(folder), "is a file", expected="a folder", hint="choose another with --out"))


def _lock(folder: Path) -> int | None:
    """A handle that holds the folder's lock until it is closed or the process ends; None when another has it."""
    if fcntl is None:
        return None
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _clear_remains(folder: Path) -> bool:
    """Remove drafts and old reports of processes that no longer live; put back a report if none stands. Whether another
    process is at work on the folder."""
    busy = False
    for kind in (OLD, DRAFT):
        for left in sorted(folder.parent.iterdir()):
            if not left.name.startswith(f".{folder.name}.{kind}.") or not left.is_dir():
                continue
            lock = _lock(left)
            if lock is None:
                busy = busy or (fcntl is not None and left.is_dir())
                continue
            if kind == OLD and (left / folder.name).is_dir() and not folder.exists():
                (left / folder.name).rename(folder)
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)
    return busy


def _swap(draft: Path, folder: Path) -> None:
    _refuse_file(folder)
    if not folder.exists():
        draft.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.{OLD}.", dir=folder.parent))
    lock = _lock(old)
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
        if lock is not None:
            os.close(lock)


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
