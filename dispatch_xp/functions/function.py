"""A user-facing function, and what binding its arguments gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.call import Call

__all__ = ["Function", "Request", "Results"]

# ndarrays; for calls with owners what is on a device, which `finish` may only hand through
Results = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """A call, and how its results become what the function returns.

    Attributes
    ----------
    call : Call
        The operation with its arguments.
    finish : callable
        ``finish(results)`` turns the backend's results, as ndarrays, into what the reference would
        have returned: its types, dtype and memory order.
    native : numpy.dtype or None
        What ``precision = "native"`` may compute it in, where the reference computes in more.
    out : ndarray or None
        The caller's memory for the result: of its shape and dtype, written last, and returned.
    """

    call: Call
    finish: Callable[[Results], Any]
    native: np.dtype[Any] | None = None
    out: npt.NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function of NumPy or SciPy that can be routed.

    Attributes
    ----------
    path : str
        Where users find it, such as ``"numpy.linalg.svd"``.
    operations : tuple of str
        What its calls can become.
    bind : callable
        Takes what the function takes and returns a :class:`Request`, or raises
        :class:`~dispatch_xp.errors.Unsupported` with the reason to stay on the reference.
    """

    path: str
    operations: tuple[str, ...]
    bind: Callable[..., Request]
