"""Running a call on a backend: copy in, run, copy out."""

from __future__ import annotations

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call
from dispatch_xp.functions.function import Results
from dispatch_xp.residency import Resident, value_on

__all__ = ["Phase", "execute"]


class Phase:
    """Where a run on a backend is, so that a failure can say where it happened."""

    COPY_IN = "copy in"
    RUN = "run"
    COPY_OUT = "copy out"

    __slots__ = ("name",)

    def __init__(self) -> None:
        self.name = self.COPY_IN


def execute(backend: Backend, call: Call, phase: Phase | None = None) -> Results:
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
    tuple of ndarray or Resident
        The results, complete and on the host, or on the backend if the call has owners. A backend
        that shares the host's memory has written them to the call's `destination` where it has one.
    """
    phase = phase or Phase()
    if call.owners:
        return _in_place(backend, call, phase)
    arrays = tuple(backend.copy_in(array, call.dtype) for array in call.arrays)
    phase.name = Phase.RUN
    values = backend.run(call, arrays)
    phase.name = Phase.COPY_OUT
    return tuple(backend.copy_out(value) for value in values)


def _in_place(backend: Backend, call: Call, phase: Phase) -> Results:
    """Run where the arguments are, or are from now on, and leave the results there."""
    if backend.shares_host_memory:
        arrays = [
            backend.copy_in(array if owner is None else owner._host, call.dtype)
            for array, owner in zip(call.arrays, call.owners, strict=True)
        ]
        phase.name = Phase.RUN
        return tuple(backend.copy_out(x) for x in backend.run(call, tuple(arrays)))
    arrays = []
    for array, owner in zip(call.arrays, call.owners, strict=True):
        if owner is None:
            arrays.append(backend.copy_in(array, call.dtype))
            continue
        value = value_on(backend, owner)
        arrays.append(value if array.dtype == call.dtype else backend.convert(value, call.dtype))
    phase.name = Phase.RUN
    return tuple(Resident(backend, value) for value in backend.run(call, tuple(arrays)))
