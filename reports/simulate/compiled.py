"""Compiles the inner loop of the simulation to machine code where that is possible, and keeps the result on disk.

Without the compiler (no wheel for this Python, say) the same functions run as they are, some hundred times slower;
where no folder for the compiled code is writable it is compiled anew in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import numba
except ImportError:
    numba = None


def compiled(function: Callable[..., Any]) -> Any:
    """The function as machine code that lets go of the interpreter; unchanged where there is no compiler.

    Strict floating point: the plain function gives the same numbers to the last bit.
    """
    if numba is None:
        return function
    try:
        return numba.njit(function, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # neither this folder nor the user's cache folder is writable
        return numba.njit(function, nogil=True, error_model="numpy")
