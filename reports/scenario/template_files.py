"""Reads the template folder that a scenario names: a company's own page blocks and style sheets, as plain texts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from reports.errors import Problem
from reports.scenario.merge import Merged
from reports.yaml_problems import where

SUFFIXES = (".j2", ".css")
MOST_FILES, MOST_BYTES = 100, 500_000


def read_templates(
    name: str, merged: Merged, folder: Path
) -> tuple[Mapping[str, str], tuple[tuple[str, str], ...], list[Problem]]:
    """Path inside the folder -> text, the files read with their SHA-256, and what is wrong with them.

    Nothing outside the scenario's folder is read, links included; rendering reads no file of the folder again.
    """
    if not name:
        return {}, (), []
    texts: dict[str, str] = {}
    used: list[tuple[str, str]] = []

    def refused(message: str, read: str, expected: str) -> tuple[Mapping[str, str], tuple[()], list[Problem]]:
        file, line, column = merged.place(("templates",))
        problem = Problem(file, message, line, column, where=where(("templates",)), read=read, expected=expected)
        return {}, (), [problem]

    limits = f"at most {MOST_FILES} files of {' or '.join(SUFFIXES)}, {MOST_BYTES // 1000} kB together"
    try:
        inside, own = folder.resolve(), (folder / name).resolve()
        if Path(name).is_absolute() or not own.is_relative_to(inside) or own == inside:
            return refused("leaves the scenario's folder", f'"{name}"', "a folder beside the scenario")
        if not own.is_dir():
            return refused("no such folder", f'"{name}"', "a folder beside the scenario")
        total = 0
        for path in sorted(each for each in own.rglob("*") if each.is_file()):
            label = path.relative_to(own).as_posix()
            if not path.resolve().is_relative_to(own):
                return refused("has a file that leads out of it", f'"{label}"', "files that lie in the folder")
            if path.suffix not in SUFFIXES:
                continue
            total += path.stat().st_size
            if len(texts) >= MOST_FILES or total > MOST_BYTES:
                return refused("holds too much", f'"{name}"', limits)
            content = path.read_bytes()
            texts[label] = content.decode("utf-8")
            used.append((f"{Path(name).as_posix()}/{label}", hashlib.sha256(content).hexdigest()))
    except UnicodeDecodeError:
        return refused("has a file that is not UTF-8", f'"{label}"', "text in UTF-8")
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "links in a circle"
        return refused(f"cannot be used: {reason}", f'"{name[:60]}"', "a folder beside the scenario")
    if not texts:
        return refused("holds no template", f'"{name}"', limits)
    return texts, tuple(used), []
