"""The reference as oracle: a call made outside of ``backend()``, then inside, and compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import dispatch_xp
from dispatch_xp import router, verify
from dispatch_xp.decision import REFERENCE, Decision
from dispatch_xp.doors import ufuncs

__all__ = ["ArgumentsChanged", "Observed", "check", "observe", "routed", "same", "snapshot"]


LINE = 1 + next(
    i for i, line in enumerate(Path(__file__).read_text().splitlines()) if line.endswith("# LINE")
)


class ArgumentsChanged(Exception):
    """The reference itself changed its arguments: an output, or an ``overwrite_a``."""


@dataclass
class Observed:
    """What a caller sees of a call."""

    result: Any = None
    error: BaseException | None = None
    warnings: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass
class Routed:
    """What the router did within a block."""

    records: list[Any]
    runs: list[tuple[Any, str, Any]]

    @property
    def backends(self) -> set[str]:
        return {r.backend for r in self.records} - {REFERENCE}


def observe(function: Callable[..., Any], args: tuple, kwargs: dict) -> Observed:
    seen = Observed()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            seen.result = function(*args, **kwargs)  # LINE
        except Exception as error:
            if isinstance(error, dispatch_xp.DispatchError):
                raise
            seen.error = error
    seen.warnings = [(w.category, str(w.message), *_place(w)) for w in caught]
    return seen


def _place(warning: Any) -> tuple[str, int]:
    """Return where a warning points at.

    C functions (`dot`, `inner`, `vdot`) point at the frame that calls them, which is the door.
    """
    if warning.filename.startswith("<dispatch_xp"):
        return __file__, LINE
    return warning.filename, warning.lineno


@contextmanager
def routed(configuration: dict[str, Any]):
    """Route within the block, and keep what the backends returned."""
    runs = []
    original = router.run

    def run(state, backend, call, function):
        results = original(state, backend, call, function)
        runs.append((call, backend.name, results))
        return results

    def run_loop(state, backend, call, function):
        # the memory of a loop must not outlive it
        arrays = tuple(a.copy() for a in call.arrays)
        results = original(state, backend, call, function)
        done = results if isinstance(results, Decision) else None
        runs.append((replace(call, arrays=arrays, destination=None), backend.name, done))
        return results

    router.run, ufuncs.run = run, run_loop
    try:
        with dispatch_xp.backend(**configuration), dispatch_xp.record() as rec:
            seen = Routed(rec.records, runs)
            yield seen
    finally:
        router.run = ufuncs.run = original


def check(configuration: dict[str, Any], function: Callable[..., Any], *args, **kwargs) -> Routed:
    """Call outside and inside; assert that nobody can tell, but for rounding."""
    before = snapshot((args, kwargs))
    want = observe(function, args, kwargs)
    if snapshot((args, kwargs)) != before:
        raise ArgumentsChanged
    with routed(configuration) as how:
        got = observe(function, args, kwargs)
    assert snapshot((args, kwargs)) == before, "an argument was changed"
    same(got, want, how)
    return how


def same(got: Observed, want: Observed, how: Routed) -> None:
    """Assert that two observations agree, exactly where the reference ran."""
    if want.error is not None or got.error is not None:
        assert type(got.error) is type(want.error), (got.error, want.error, got.result)
        # what follows may show memory that was never written
        messages = [str(seen.error).partition("Invoked with")[0] for seen in (got, want)]
        assert messages[0] == messages[1]
        assert got.warnings == want.warnings
        return
    assert got.warnings == want.warnings
    assert outside(got.result) == outside(want.result)
    if not how.backends:
        assert identical(got.result, want.result), (got.result, want.result)
        return
    ran = [run for run in how.runs if not isinstance(run[2], Decision)]
    if len(ran) > 1 or ran[0][2] is None:
        _same_loops(got.result, want.result, [call for call, _, _ in ran])
        return
    ((call, backend, results),) = ran
    compared = verify.compare(call, (backend, results, got.result), want.result)
    assert compared.matches, (compared, got.result, want.result)
    if verify.residual(call, results) is not None:
        _delivered(got.result, results)


def _same_loops(got: Any, want: Any, calls: list[Any]) -> None:
    """Assert that what ufunc loops wrote agrees; one call can be several loops."""
    each = calls[0].operation.name in verify._ELEMENTWISE
    scale = max(verify._scale(call) for call in calls)
    apart = verify.difference(got, want, scale, each=each)
    assert apart <= max(verify.tolerance(call, want) for call in calls), (apart, got, want)
    if each and calls[0].operation.name not in ("maximum", "minimum"):
        got, want = np.asarray(got), np.asarray(want)
        if want.dtype.kind == "f":
            zero = (want == 0) & (got == 0)
            assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero])), "sign of zero"


def _delivered(result: Any, results: tuple) -> None:
    """Assert that what was checked by equations is what the user gets."""
    given = result if isinstance(result, tuple) else (result,)
    if len(given) != len(results):
        return
    for x, y in zip(given, results, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if x.shape == y.shape and x.dtype.kind in "fc":
            eps = np.finfo(x.dtype).eps
            y = y.astype(np.result_type(x.dtype, np.complex64) if y.dtype.kind == "c" else x.dtype)
            np.testing.assert_allclose(x, y, rtol=4 * eps, atol=np.finfo(x.dtype).tiny)


def outside(value: Any) -> Any:
    """Return all of a result but its values: types, dtypes, shapes, memory order, flags."""
    if isinstance(value, (tuple, list)):
        return type(value), getattr(value, "_fields", None), [outside(x) for x in value]
    if isinstance(value, np.ndarray):
        flags = value.flags
        order = tuple(np.argsort([-abs(s) for s in value.strides], kind="stable"))
        long = all(n > 1 for n in value.shape)
        return (
            type(value),
            value.dtype.str if value.dtype.names is None else value.dtype,
            value.shape,
            flags.c_contiguous,
            flags.f_contiguous,
            flags.writeable,
            order if long else None,
        )
    if isinstance(value, np.generic):
        return type(value), value.dtype.str
    return type(value)


def identical(got: Any, want: Any) -> bool:
    """Whether two results agree bit by bit; a NaN is a NaN."""
    if isinstance(want, (tuple, list)):
        return len(got) == len(want) and all(map(identical, got, want))
    if isinstance(want, np.ma.MaskedArray):
        return identical(got.filled(0), want.filled(0)) and identical(
            np.ma.getmaskarray(got), np.ma.getmaskarray(want)
        )
    if isinstance(want, (np.ndarray, np.generic, float, complex)):
        x, y = np.asarray(got), np.asarray(want)
        if x.dtype.kind in "fc":
            same_value = np.array_equal(x, y, equal_nan=True)
            finite = ~np.isnan(y)
            parts = [(x, y)] if x.dtype.kind == "f" else [(x.real, y.real), (x.imag, y.imag)]
            return same_value and all(
                np.array_equal(np.signbit(a[finite]), np.signbit(b[finite])) for a, b in parts
            )
        if x.dtype.kind == "O":
            return repr(x.tolist()) == repr(y.tolist())
        if x.dtype.kind in "mM":
            return x.tobytes() == y.tobytes()
        return np.array_equal(x, y)
    return bool(got == want)


def snapshot(value: Any) -> Any:
    """Return the bytes of every array within arguments."""
    if isinstance(value, (tuple, list)):
        return [snapshot(x) for x in value]
    if isinstance(value, dict):
        return {k: snapshot(v) for k, v in value.items()}
    if isinstance(value, np.ma.MaskedArray):
        return snapshot(value.data), snapshot(np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return repr(value.tolist())
        # the memory itself, also what lies between the elements of a slice
        base = value if value.base is None or not isinstance(value.base, np.ndarray) else value.base
        return value.tobytes(), base.tobytes(), value.dtype, value.shape, value.strides
    if isinstance(value, np.generic):
        return value.tobytes()
    return repr(value) if isinstance(value, (int, float, complex, str)) else None
