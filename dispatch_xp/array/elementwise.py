"""The standard's elementwise functions: NumPy's, corrected where NumPy's special cases differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatch_xp.array.core import core
from dispatch_xp.array.device import CPU
from dispatch_xp.array.routed import LIMITS, Routed, pinned
from dispatch_xp.router import Outcome

__all__ = ["BINARY", "UNARY", "Elementwise"]

Correct = Callable[..., Any]
"""``correct(result, *operands)`` returns the result with the standard's special cases."""


class Elementwise(Routed):
    """A routed function, and how its result becomes the standard's.

    Parameters
    ----------
    path : str
        Of NumPy's function.
    correct : callable, optional
        Applied to the result of whichever backend.
    kinds : str
        The ``dtype.kind`` letters of results that it is applied to.

    Attributes
    ----------
    number : int
        Of the core's entry for the namespace's function.
    """

    __slots__ = ("correct", "kinds", "number", "path")

    def __init__(self, path: str, correct: Correct | None = None, kinds: str = "") -> None:
        super().__init__(path)
        self.path = path
        self.correct = correct
        self.kinds = kinds
        self.number = -1

    def register(self, slow: Callable[..., Any]) -> int:
        """Give the core its small calls; `slow` takes the rest. Return the core's number."""
        number = core.add_entry(self.reference, slow)
        LIMITS.add("" if self.correct is not None else self.path)
        if self.number < 0:
            self.number = number
        return number

    def __call__(self, *operands: Any) -> Any:
        """Run it where the policy says."""
        result = super().__call__(*operands)
        return result if self.correct is None else self.correct(result, *operands)

    def on_host(self, *operands: Any) -> Any:
        """Run NumPy's own function, whatever the policy says."""
        with pinned(CPU):
            result = self.reference(*operands)
            return result if self.correct is None else self.correct(result, *operands)

    def finished(self, outcome: Outcome, *operands: Any) -> Any:
        """Return what an outcome of :attr:`handle` leads to."""
        if outcome.done:
            result = outcome.result
        else:
            with outcome:
                result = outcome.finish(self.reference(*operands))
        return result if self.correct is None else self.correct(result, *operands)


def _expm1(result: Any, x: Any) -> Any:
    """Correct ``expm1`` of complex zeros, infinities and NaN, where NumPy is not the standard's."""
    if result.dtype.kind != "c":
        return result
    finite = np.isfinite(x)
    if not finite.all():
        with np.errstate(all="ignore"):
            powers = np.exp(x)
        odd = np.asarray(powers.real - 1, dtype=powers.dtype)
        odd.imag = powers.imag
        result = np.where(finite, result, odd)
    zero = (x == 0) & ~np.signbit(np.imag(x))
    return np.where(zero, result.dtype.type(0), result) if zero.any() else result


def _floor_divide(result: Any, x1: Any, x2: Any) -> Any:
    """Correct ``floor_divide`` of infinities: the standard rounds the quotient, NumPy has none."""
    if result.dtype.kind != "f" or (np.isfinite(x1).all() and np.isfinite(x2).all()):
        return result
    with np.errstate(all="ignore"):
        quotients = np.floor(np.divide(x1, x2))
    return np.where(np.isinf(x1) | np.isinf(x2), quotients, result)


def _tanh(result: Any, x: Any) -> Any:
    """Correct ``tanh`` of complex infinities: C99 gives the zero the sign of ``sin(2 imag)``."""
    if result.dtype.kind != "c" or np.isfinite(x).all():
        return result
    limit = np.asarray(np.copysign(1.0, np.real(x)), dtype=result.dtype)
    limit.imag = np.copysign(0.0, np.imag(x))
    return np.where(np.isinf(np.real(x)) & np.isfinite(np.imag(x)), limit, result)


# which results are corrected, by `dtype.kind`
_CORRECT: dict[str, tuple[Correct, str]] = {
    "expm1": (_expm1, "c"),
    "floor_divide": (_floor_divide, "f"),
    "tanh": (_tanh, "c"),
}

UNARY = {
    name: Elementwise(f"numpy.{path}", *_CORRECT.get(name, ()))
    for name, path in {
        "abs": "absolute",
        "acos": "arccos",
        "acosh": "arccosh",
        "asin": "arcsin",
        "asinh": "arcsinh",
        "atan": "arctan",
        "atanh": "arctanh",
        "bitwise_invert": "invert",
        "ceil": "ceil",
        "conj": "conjugate",
        "cos": "cos",
        "cosh": "cosh",
        "exp": "exp",
        "expm1": "expm1",
        "floor": "floor",
        "isfinite": "isfinite",
        "isinf": "isinf",
        "isnan": "isnan",
        "log": "log",
        "log10": "log10",
        "log1p": "log1p",
        "log2": "log2",
        "logical_not": "logical_not",
        "negative": "negative",
        "positive": "positive",
        "reciprocal": "reciprocal",
        "rint": "rint",
        "sign": "sign",
        "signbit": "signbit",
        "sin": "sin",
        "sinh": "sinh",
        "sqrt": "sqrt",
        "square": "square",
        "tan": "tan",
        "tanh": "tanh",
        "trunc": "trunc",
    }.items()
}
"""By the standard's names; ``rint`` besides, of which ``round`` is made."""

BINARY = {
    name: Elementwise(f"numpy.{path}", *_CORRECT.get(name, ()))
    for name, path in {
        "add": "add",
        "atan2": "arctan2",
        "bitwise_and": "bitwise_and",
        "bitwise_left_shift": "left_shift",
        "bitwise_or": "bitwise_or",
        "bitwise_right_shift": "right_shift",
        "bitwise_xor": "bitwise_xor",
        "copysign": "copysign",
        "divide": "divide",
        "equal": "equal",
        "floor_divide": "floor_divide",
        "greater": "greater",
        "greater_equal": "greater_equal",
        "hypot": "hypot",
        "less": "less",
        "less_equal": "less_equal",
        "logaddexp": "logaddexp",
        "logical_and": "logical_and",
        "logical_or": "logical_or",
        "logical_xor": "logical_xor",
        "matmul": "matmul",
        "maximum": "maximum",
        "minimum": "minimum",
        "multiply": "multiply",
        "nextafter": "nextafter",
        "not_equal": "not_equal",
        "pow": "power",
        "remainder": "remainder",
        "subtract": "subtract",
    }.items()
}
"""By the standard's names; ``matmul`` among them, since it has an operator too."""
