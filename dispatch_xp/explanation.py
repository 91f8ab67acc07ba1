"""``explain()``: the predicted time of a call on each backend, and the choice."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.call import Call
from dispatch_xp.context import backend as backend_context
from dispatch_xp.context import state_of
from dispatch_xp.decision import REFERENCE, Decision, Prediction
from dispatch_xp.errors import DispatchError, Unsupported
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.operations import OPERATIONS, Operation
from dispatch_xp.recorder import Table, seconds_text
from dispatch_xp.router import decide
from dispatch_xp.state import State, current

__all__ = ["Explanation", "call_of", "explain"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where a call would run, and why.

    Attributes
    ----------
    function : str
        The function that was asked about.
    call : Call or None
        What it amounts to; None if the reference alone takes it.
    decision : Decision
        The choice, with the predictions.
    others : dict of str to str
        The backends that are no candidates, with the reason.
    """

    function: str
    call: Call | None
    decision: Decision
    others: dict[str, str]

    def table(self) -> Table:
        """Return the predicted times, a row per backend."""
        predictions = self.decision.predictions
        reference = predictions.get(REFERENCE)
        header = ("backend", "start-up", "copy in", "run", "copy out", "total", "speed-up", "")
        rows = [self._row(name, p, reference) for name, p in predictions.items()]
        rows += [(name, "", "", "", "", "", "", why) for name, why in self.others.items()]
        if self.decision.backend not in predictions:
            rows.insert(0, (self.decision.backend, "", "", "", "", "", "", "chosen"))
        return Table(header, tuple(rows))

    def _row(self, name: str, p: Prediction, reference: Prediction | None) -> tuple[str, ...]:
        speedup = f"{reference.total / p.total:.2f}" if reference is not None else ""
        chosen = "chosen" if name == self.decision.backend else ""
        parts = (p.startup, p.copy_in, p.run, p.copy_out, p.total)
        return (name, *(seconds_text(x) if x else "-" for x in parts), speedup, chosen)

    def __str__(self) -> str:
        what = self.function
        if self.call is not None:
            shapes = ", ".join("x".join(map(str, s)) or "scalar" for s in self.call.shapes)
            work = self.call.workload
            what += (
                f" of {shapes}, computed in {self.call.dtype}: {work.flops:.3g} flops, "
                f"{(work.bytes_in + work.bytes_out) / 1e6:.3g} MB"
            )
        detail = f" ({self.decision.detail})" if self.decision.detail else ""
        return f"{what}\n{self.table()}\n{self.decision.backend}: {self.decision.reason}{detail}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, *_, last = str(self).splitlines()
        return f"<p>{first}</p>{self.table()._repr_html_()}<p>{last}</p>"


Builder = Callable[[tuple[npt.NDArray[Any], ...], dict[str, Any]], tuple[Any, ...]]
# where the arguments are something else than the arrays in turn
_BUILDERS: dict[str, Builder] = {
    "einsum": lambda arrays, options: (options.pop("subscripts"), *arrays),
    "linalg.matrix_power": lambda arrays, options: (*arrays, options.pop("n", 3)),
    "linalg.lu_solve": lambda arrays, options: ((arrays[0], np.arange(len(arrays[0]))), arrays[1]),
    "linalg.cho_solve": lambda arrays, options: ((arrays[0], False), arrays[1]),
}


def explain(
    operation: str,
    *shapes: tuple[int, ...],
    dtype: Any = "float64",
    backend: str | None = None,
    level: int | None = None,
    **options: Any,
) -> Explanation:
    """Explain where a call would run, without running it.

    Parameters
    ----------
    operation : str
        An operation's name, such as ``"matmul"`` or ``"linalg.svd"``, or a function's path, such
        as ``"scipy.linalg.svd"``.
    *shapes : tuple of int
        The shape of each array argument.
    dtype : dtype-like
        Of the arguments.
    backend, level : optional
        Instead of what is active or configured.
    **options
        Keyword arguments of the function; those of ``einsum`` include ``subscripts``.

    Returns
    -------
    Explanation
        Prints as a table, also in a notebook.

    Raises
    ------
    DispatchError
        If there is no such operation, or it doesn't take such shapes.

    Examples
    --------
    >>> import dispatch_xp
    >>> print(dispatch_xp.explain("matmul", (64, 64), (64, 64), backend="reference"))
    numpy.matmul of 64x64, 64x64, computed in float64: 5.24e+05 flops, 0.0983 MB
    backend    start-up  copy in  run  copy out  total  speed-up
    reference                                                     chosen
    reference: no available backend has this operation (matmul)
    """
    path = _path(operation)
    active = current()
    if backend is None and level is None and active is not None and active.policy is not None:
        state = active
    else:
        state = state_of(backend_context(backend, level=level).settings)
    try:
        call = call_of(path, shapes, np.dtype(dtype), options)
    except Unsupported as refusal:
        decision = Decision(REFERENCE, refusal.reason, refusal.detail)
        return Explanation(path, None, decision, {})
    decision, _ = decide(state, call)
    return Explanation(path, call, decision, _others(state, call, decision))


def _path(name: str) -> str:
    if name in FUNCTIONS:
        return name
    row: Operation | None = OPERATIONS.get(name)
    if row is not None:
        for path in (row.numpy, row.scipy):
            if path in FUNCTIONS:
                return path
        raise DispatchError(f"{name} has nothing to route")
    known = (*OPERATIONS, *FUNCTIONS)
    near = difflib.get_close_matches(name, known, 3)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise DispatchError(f"unknown operation {name!r}{hint}")


def call_of(
    path: str,
    shapes: tuple[tuple[int, ...], ...],
    dtype: np.dtype[Any],
    options: dict[str, Any],
) -> Call:
    """Return the call that arguments of these shapes amount to, without its arrays.

    Raises
    ------
    Unsupported
        If the reference alone takes it.
    DispatchError
        If the function does not take such arguments at all.
    """
    function = FUNCTIONS[path]
    options = dict(options)
    arrays = tuple(_stand_in(tuple(shape), dtype) for shape in shapes)
    try:
        build = _BUILDERS.get(function.operations[0])
        arguments = build(arrays, options) if build is not None else arrays
        call = function.bind(*arguments, **options).call
    except KeyError as missing:
        raise DispatchError(f"{path} needs the option {missing}") from None
    except (TypeError, IndexError) as error:
        raise DispatchError(f"{path} does not take these arguments: {error}") from None
    return replace(call, arrays=())


def _stand_in(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an array of a shape whose memory is never touched, but for what binding looks at."""
    try:
        array = np.zeros(shape, dtype=dtype)
    except (MemoryError, ValueError) as error:
        raise DispatchError(f"shape {shape}: {error}") from None
    if array.ndim >= 2 and array.size:
        array[..., 0, -1] = array[..., -1, 0] = 1
        k = min(shape[-2:])
        array[..., range(k), range(k)] = 1
    return array


def _others(state: State, call: Call, decision: Decision) -> dict[str, str]:
    """Return why the other configured backends are no candidates."""
    from dispatch_xp import backends

    reasons = {}
    name = call.operation.name
    for wanted in state.settings.backends:
        if wanted in decision.predictions or wanted == decision.backend:
            continue
        candidate = backends.get(wanted)
        availability = candidate.probe()
        if not availability.available:
            reasons[wanted] = availability.reason
        elif name not in candidate.operations():
            reasons[wanted] = f"does not have {name}"
        elif why := candidate.refuses(call):
            reasons[wanted] = why
        else:
            reasons[wanted] = "no figures in the machine profile"
    return reasons
