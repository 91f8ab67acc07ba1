"""``explain()``: the predicted time of a call on each backend, and the choice."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from dispatch_xp.call import Call, stand_in
from dispatch_xp.config import load
from dispatch_xp.context import state_of
from dispatch_xp.decision import REFERENCE, Decision, Prediction
from dispatch_xp.errors import DispatchError, Unsupported
from dispatch_xp.functions import FUNCTIONS, Function
from dispatch_xp.levels import LEVELS
from dispatch_xp.operations import OPERATIONS, Operation
from dispatch_xp.reasons import Reason
from dispatch_xp.router import decide
from dispatch_xp.state import State, current
from dispatch_xp.table import Table, seconds_text

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
        The choice and its reason, with the predicted times by backend.
    others : mapping of str to str
        The configured backends without a predicted time, with the reason.
    level : int
        How eager the choice is, from 1 to 10.
    """

    function: str
    call: Call | None
    decision: Decision
    others: Mapping[str, str]
    level: int

    @property
    def backend(self) -> str:
        """The chosen backend."""
        return self.decision.backend

    @property
    def reason(self) -> Reason:
        """Why that one."""
        return self.decision.reason

    @property
    def required_speedup(self) -> float:
        """How many times faster than the reference a backend has to be predicted."""
        return LEVELS[self.level].speedup

    @property
    def speedups(self) -> dict[str, float]:
        """The predicted speed-up over the reference, start-up left out, by backend."""
        predictions = self.decision.predictions
        if REFERENCE not in predictions:
            return {}
        reference = predictions[REFERENCE].total
        return {name: reference / p.total for name, p in predictions.items() if p.total > 0}

    def table(self) -> Table:
        """Return the predicted times, a row per backend."""
        header = ("backend", "start-up", "copy in", "run", "copy out", "total", "speed-up", "")
        predictions = self.decision.predictions
        rows = [self._row(name, prediction) for name, prediction in predictions.items()]
        if self.backend not in predictions:
            rows.insert(0, (self.backend, *("-",) * 6, "chosen"))
        return Table(header, tuple(rows))

    def _row(self, name: str, p: Prediction) -> tuple[str, ...]:
        parts = (p.startup, p.copy_in, p.run, p.copy_out, p.total)
        speedup = self.speedups.get(name)
        return (
            name,
            *(seconds_text(x) if x else "-" for x in parts),
            "-" if speedup is None else f"{speedup:.2f}",
            "chosen" if name == self.backend else "",
        )

    def _question(self) -> str:
        if self.call is None:
            return self.function
        shapes = ", ".join("x".join(map(str, s)) or "scalar" for s in self.call.shapes)
        work = self.call.workload
        return (
            f"{self.function} of {shapes}, computed in {self.call.dtype}: {work.flops:.3g} flops, "
            f"{(work.bytes_in + work.bytes_out) / 1e6:.3g} MB"
        )

    def _answer(self) -> list[str]:
        detail = f" ({self.decision.why})" if self.decision.why else ""
        lines = [f"{self.backend}: {self.reason}{detail}"]
        if self.decision.predictions:
            lines.append(
                f"level {self.level}: a backend has to be predicted {self.required_speedup:g} "
                "times as fast as the reference"
            )
        return lines

    def __str__(self) -> str:
        others = [f"  {name}: {why}" for name, why in self.others.items()]
        if others:
            others.insert(0, "without a prediction:")
        return "\n".join([self._question(), str(self.table()), *self._answer(), *others])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        others = "".join(
            f"<li>{escape(name)}: {escape(why)}</li>" for name, why in self.others.items()
        )
        return (
            f"<p>{escape(self._question())}</p>{self.table()._repr_html_()}"
            f"<p>{'<br>'.join(map(escape, self._answer()))}</p>"
            + (f"<p>without a prediction:</p><ul>{others}</ul>" if others else "")
        )


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
        If there is no such operation, or it doesn't take such shapes or options.

    Examples
    --------
    >>> import dispatch_xp
    >>> print(dispatch_xp.explain("matmul", (64, 64), (64, 64), dtype="object"))
    numpy.matmul
    backend    start-up  copy in  run  copy out  total  speed-up
    reference  -         -        -    -         -      -         chosen
    reference: dtype stays on the reference (object)
    """
    path = _path(operation)
    state = _state(backend, level)
    try:
        call = call_of(path, shapes, np.dtype(dtype), options, state.settings.precision)
    except Unsupported as refusal:
        decision = Decision(REFERENCE, refusal.reason, refusal.detail)
        return Explanation(path, None, decision, MappingProxyType({}), state.settings.level)
    decision, _ = decide(state, call)
    predictions = _with_startup(state, decision.predictions)
    decision = msgspec.structs.replace(decision, predictions=predictions)
    others = MappingProxyType(_others(state, call, decision))
    return Explanation(path, call, decision, others, state.settings.level)


def _state(backend: str | None, level: int | None) -> State:
    """Return the state that is active, or that of the configuration."""
    active = current()
    if backend is None and level is None and active is not None and active.policy is not None:
        return active
    arguments = {"backend": backend, "level": level}
    return state_of(load(**{k: v for k, v in arguments.items() if v is not None}).settings)


def _path(name: str) -> str:
    if name in FUNCTIONS:
        return name
    row: Operation | None = OPERATIONS.get(name)
    if row is not None:
        for path in (row.numpy, row.scipy):
            if path in FUNCTIONS:
                return path
        raise DispatchError(f"{name} has nothing to route")
    # a name without its module first: svd is linalg.svd
    suffix = [known for known in OPERATIONS if known.endswith(f".{name}")]
    near = suffix or difflib.get_close_matches(name, (*OPERATIONS, *FUNCTIONS), 3, cutoff=0.7)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise DispatchError(
        f"unknown operation {name!r}{hint} (dispatch_xp.operations.OPERATIONS lists them)"
    )


def _with_startup(
    state: State, predictions: Mapping[str, Prediction]
) -> MappingProxyType[str, Prediction]:
    """Add what starting each backend still costs: a policy says it only where it waits for that."""
    from dispatch_xp import backends

    profile = getattr(state.policy, "profile", None)
    found = {}
    for name, prediction in predictions.items():
        figures = profile.backends.get(name) if profile is not None else None
        if figures is not None and not prediction.startup:
            candidate = backends.get(name)
            loaded = candidate.modules and all(m in sys.modules for m in candidate.modules)
            if not candidate.started and not loaded:
                prediction = msgspec.structs.replace(prediction, startup=figures.startup)
        found[name] = prediction
    return MappingProxyType(found)


def _others(state: State, call: Call, decision: Decision) -> dict[str, str]:
    """Return why the other configured backends have no predicted time."""
    return {
        name: _why_not(state, call, name)
        for name in dict.fromkeys((*state.settings.backends, *_named(state, call)))
        if name not in decision.predictions and name != decision.backend
    }


def _named(state: State, call: Call) -> list[str]:
    """Return the backends that the settings name for this call, beyond their list."""
    pinned = state.settings.operations.get(call.operation.name)
    named = [state.settings.backend, *([pinned.backend] if pinned is not None else [])]
    return [name for name in named if name not in ("auto", REFERENCE)]


def _why_not(state: State, call: Call, name: str) -> str:
    """Say why a backend has no predicted time, asking the router about it alone."""
    from dispatch_xp import backends
    from dispatch_xp.policies.fixed import FixedPolicy

    operation, settings = call.operation.name, state.settings
    pinned = settings.operations.get(operation)
    if pinned is not None and pinned.backend != name:
        return f"the configuration pins {operation} to {pinned.backend!r}"
    if pinned is None and settings.backend not in ("auto", name):
        return f"the backend is set to {settings.backend!r}"
    candidate = backends.get(name)
    availability = candidate.probe()
    if not availability.available:
        return availability.reason
    if operation not in candidate.operations():
        return f"does not have {operation}"
    anyone = FixedPolicy(_set_to_auto(state))
    alone = replace(state, policy=anyone, backends=(candidate,), observer=None)
    alternative, chosen = decide(alone, call)
    if chosen is None:
        detail = alternative.detail.removeprefix(f"{name}: ")
        return detail or str(alternative.reason)
    profile = getattr(state.policy, "profile", None)
    if profile is not None:
        return f"the machine profile has no figures for {' '.join(call.curve)} on it"
    return "takes the call"


def _set_to_auto(state: State) -> Any:
    import msgspec

    return msgspec.structs.replace(state.settings, backend="auto")


_BOUNDS = (("a_min", 0), ("a_max", 1))
Builder = Callable[[tuple[npt.NDArray[Any], ...], dict[str, Any]], tuple[Any, ...]]
# where the positional arguments are something else than the arrays in turn; what has to be given
# and is left out is taken as calibration has it
_BUILDERS: dict[str, Builder] = {
    "einsum": lambda arrays, options: (options.pop("subscripts"), *arrays),
    "clip": lambda arrays, options: (
        *arrays,
        *(arrays[0].dtype.type(options.pop(bound, default)) for bound, default in _BOUNDS),
    ),
    "linalg.matrix_power": lambda arrays, options: (*arrays, options.pop("n", 3)),
    "linalg.lu_solve": lambda arrays, options: ((arrays[0], np.arange(len(arrays[0]))), arrays[1]),
    "linalg.cho_solve": lambda arrays, options: ((arrays[0], False), arrays[1]),
}


def call_of(
    path: str,
    shapes: tuple[tuple[int, ...], ...],
    dtype: np.dtype[Any],
    options: dict[str, Any],
    precision: str = "match",
) -> Call:
    """Return the call that arguments of these shapes amount to, without its arrays.

    Parameters
    ----------
    path : str
        The function.
    shapes : tuple of tuple of int
        One of each array.
    dtype : numpy.dtype
        Of the arrays.
    options : dict
        The other arguments.
    precision : str
        As in the configuration.

    Raises
    ------
    Unsupported
        If the reference alone takes it.
    DispatchError
        If the function does not take such arguments at all.
    """
    function = FUNCTIONS[path]
    options = dict(options)
    name = function.operations[0]
    wanted = _arrays_of(function, options)
    if wanted is not None and len(shapes) != wanted:
        plural = "shape" if wanted == 1 else "shapes"
        raise DispatchError(
            f"{path} does not take these arguments: it takes {wanted} {plural}, not {len(shapes)}"
        )
    arrays = tuple(_stand_in(tuple(shape), dtype) for shape in shapes)
    try:
        build = _BUILDERS.get(name)
        arguments = build(arrays, options) if build is not None else arrays
        request = function.bind(*arguments, **options)
    except Unsupported as refusal:
        if refusal.reason is not Reason.INVALID:
            raise
        raise DispatchError(f"{path} does not take these arguments: {refusal.detail}") from None
    except KeyError as missing:
        raise DispatchError(f"{path} needs the option {missing}") from None
    except (TypeError, ValueError, IndexError) as error:
        raise DispatchError(f"{path} does not take these arguments: {error}") from None
    except MemoryError as error:
        raise DispatchError(f"{path} of such shapes cannot be looked at: {error}") from None
    call = request.call
    # the workload counts the arguments' own bytes, which are not those of what is computed in
    native = request.native if precision == "native" else None
    bare = replace(call, arrays=(), dtype=native or call.dtype)
    itemsizes = tuple(array.dtype.itemsize for array in call.arrays)
    workload = bare.operation.workload(bare.shapes, bare.dtype, bare.options, itemsizes)
    object.__setattr__(bare, "_workload", workload)
    return bare


def _arrays_of(function: Function, options: Mapping[str, Any]) -> int | None:
    """Return how many arrays a function takes, from what calibration gives it; None if unknown."""
    row = OPERATIONS[function.operations[0]]
    if row.name == "einsum":
        return str(options["subscripts"]).count(",") + 1 if "subscripts" in options else None
    if not row.problems:
        return None
    problem = row.problems[0]
    kind = next(d for d in ("f8", "i8", "?", "c16") if np.dtype(d).kind in row.kinds)
    arguments = problem.arguments(problem.sizes[0], np.dtype(kind), np.random.default_rng(0))
    # a factorisation, which is a tuple, is one of them
    return sum(isinstance(argument, (np.ndarray, tuple)) for argument in arguments)


def _stand_in(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return a stand-in, or say what is wrong with the shape."""
    try:
        return stand_in(shape, dtype)
    except (ValueError, TypeError) as error:
        raise DispatchError(f"shape {shape}: {error}") from None
