"""Where templates run, ours and a company's own: no files, no network, no endless loop, nothing undefined."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any

from jinja2 import ChoiceLoader, DictLoader, FileSystemLoader, PrefixLoader, StrictUndefined
from jinja2.exceptions import SecurityError
from jinja2.sandbox import SandboxedEnvironment
from markupsafe import Markup

from reports.errors import RenderError
from reports.paths import templates_folder

PACKAGED = "packaged"
"""``packaged/base.html.j2`` is the shipped template even where an own one has its name."""

MOST_SECONDS = 60
"""A document of 100 pages needs a few seconds."""

MOST_REPEATED = 100_000
"""Of a text or list that a template multiplies."""


def environment(own: Mapping[str, str]) -> SandboxedEnvironment:
    """The environment with these own templates (path -> text) laid over the shipped ones."""
    return _environment(tuple(sorted(own.items())))


@cache
def _environment(own: tuple[tuple[str, str], ...]) -> SandboxedEnvironment:
    shipped = FileSystemLoader(templates_folder())
    made = _Sandbox(
        loader=ChoiceLoader([DictLoader(dict(own)), PrefixLoader({PACKAGED: shipped}), shipped]),
        autoescape=True,  # for every name: what ends in .j2 is not covered by a choice by extension
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["picture"] = Markup  # SVG that this package drew itself
    return made


class _Sandbox(SandboxedEnvironment):
    """Jinja's sandbox, which knows no limit of ``"x" * 10 ** 9``, with one."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and not (abs(left) < 1e6 and abs(right) < 20):
            raise SecurityError("powers of large numbers are not for templates")
        if operator == "*":
            for one, other in ((left, right), (right, left)):
                if hasattr(one, "__len__") and len(one) * max(other, 0) > MOST_REPEATED:
                    raise SecurityError("a text or list would be repeated too often")
        return super().call_binop(context, operator, left, right)


@contextmanager
def limited(seconds: float, what: str) -> Iterator[None]:
    """RenderError when the block takes longer. Where no timer can be had (not the main thread), there is no limit."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: FrameType | None) -> None:
        raise RenderError(f"{what} takes longer than {seconds:g} s: does it loop for ever?")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
