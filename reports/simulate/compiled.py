"""Compiles the inner loop of the simulation to machine code where that is possible, and keeps the result on disk.

Without the compiler (no wheel for this Python, say) the same functions run as they are, some hundred times slower;
where no folder for the compiled code is writable it is compiled anew in every process. Nothing happens at import.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from types import FunctionType
from typing import Any

from reports.simulate import kernel

Function = Callable[..., Any]

_LOCK = Lock()
_READY: dict[str, Function] = {}


def inner_loop() -> Function:
    """``kernel.simulate`` as machine code that lets go of the interpreter, or as it is where there is no compiler.

    Strict floating point: both give the same numbers to the last bit.
    """
    with _LOCK:
        if not _READY:
            _READY["simulate"] = _compiled(_compiler())
        return _READY["simulate"]


def _compiler() -> Any:
    try:
        import numba
    except ImportError:
        return None
    return numba


def _compiled(compiler: Any) -> Function:
    if compiler is None:
        return kernel.simulate
    space = dict(vars(kernel))  # what the compiled functions see: each other
    for function in kernel.FUNCTIONS:
        space[function.__name__] = _one(compiler, FunctionType(function.__code__, space, function.__name__))
    found: Function = space[kernel.simulate.__name__]
    return found


def _one(compiler: Any, function: Function) -> Any:
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return compiler.njit(function, cache=True, **options)
    except RuntimeError:  # neither this folder nor the user's cache folder is writable
        return compiler.njit(function, **options)
