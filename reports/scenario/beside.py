"""Files that a scenario names: only beside it or in a folder beside it, whatever the name says."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from reports.yaml_problems import did_you_mean


@dataclass(frozen=True)
class NotBeside(Exception):
    """Why a name is refused, in the parts of a problem."""

    message: str
    more: dict[str, str] = field(default_factory=dict)


def file_beside(folder: Path, name: str, suffixes: Collection[str]) -> Path:
    """The file that ``name`` means, seen from ``folder``. NotBeside when there is none, or it lies outside.

    ``suffixes`` are those of files that are proposed in place of one that is not there.
    """
    try:
        inside = folder.resolve()
        target = (inside / name).resolve()
        exists = target.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # a name too long, links in a circle
        reason = getattr(error, "strerror", None) or "links in a circle"
        more = {"read": f'"{name[:60]}"', "expected": "a file beside this one"}
        raise NotBeside(f"cannot be used: {reason}", more) from None
    if Path(name).is_absolute() or not target.is_relative_to(inside):
        expected = "a file beside the scenario, or in a folder beside it"
        raise NotBeside("leaves the scenario's folder", {"read": f'"{name}"', "expected": expected})
    if not exists:
        others = target.parent.iterdir() if target.parent.is_dir() else ()
        there = sorted((Path(name).parent / each.name).as_posix() for each in others if each.suffix in suffixes)
        expected = f"a file ({', '.join(suffixes)})"
        raise NotBeside("no such file", {"read": f'"{name}"', "expected": expected, "hint": did_you_mean(name, there)})
    return target
