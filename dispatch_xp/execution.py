"""Running a call on a backend: copy in, run, copy out."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call

__all__ = ["Phase", "execute"]


class Phase:
    """Where a run on a backend is, so that a failure can say where it happened."""

    COPY_IN = "copy in"
    RUN = "run"
    COPY_OUT = "copy out"

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name = self.COPY_IN


def execute(
    backend: Backend, call: Call, phase: Phase | None = None
) -> tuple[npt.NDArray[Any], ...]:
    """Run a call on a started backend.

    Parameters
    ----------
    backend : Backend
        Where to run it.
    call : Call
        The call, with its arrays.
    phase : Phase, optional
        Updated on the way.

    Returns
    -------
    tuple of ndarray
        The results, complete and on the host. A backend that shares the host's memory has written
        them to the call's `destination` where it has one.
    """
    phase = phase or Phase()
    arrays = tuple(backend.copy_in(array, call.dtype) for array in call.arrays)
    phase.name = Phase.RUN
    values = backend.run(call, arrays)
    phase.name = Phase.COPY_OUT
    return tuple(backend.copy_out(value) for value in values)
