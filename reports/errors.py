"""The exception tree, and the record of one problem in the input.

::

    GpubookError
    ├── InputError        the input cannot be used: carries every problem found (exit code 2)
    ├── RenderError       a document would be wrong: nothing is delivered
    └── MissingLibrary    a system library is absent: one line says what to install
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing wrong with the input: where it is, what was read, what was expected, what to do next."""

    file: str
    message: str
    line: int | None = None
    column: int | None = None
    where: str = ""
    """Path of the value inside the file, such as ``workload.input_tokens.mean``."""
    read: str = ""
    expected: str = ""
    hint: str = ""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        text = f"{place}: " + (f"{self.where}: " if self.where else "") + self.message
        if self.read:
            text += f"; read {self.read}"
        if self.expected:
            text += f"; expected {self.expected}"
        if self.hint:
            text += f" ({self.hint})"
        return text


class GpubookError(Exception):
    """Anything this program raises on purpose."""


class InputError(GpubookError):
    """The input cannot be used. ``problems`` lists all that was found in this phase, in file order."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class RenderError(GpubookError):
    """A document would come out wrong (a warning of the PDF engine, a glyph without a font, a broken sheet)."""


class MissingLibrary(GpubookError):
    """A system library is absent; the message is one line that says what to install."""
