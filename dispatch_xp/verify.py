"""Comparing a backend's result with the reference's.

What is only defined up to sign, phase or order (singular vectors, eigenvectors, QR) is checked by
its defining equation instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.call import Call

__all__ = ["Comparison", "compare", "difference", "residual", "tolerance"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far a backend's result is from the reference's.

    Attributes
    ----------
    backend : str
        Which backend.
    difference : float
        The largest difference, relative to the largest element of the reference's result.
    tolerance : float
        What rounding explains, from dtype and size.
    """

    backend: str
    difference: float
    tolerance: float

    @property
    def matches(self) -> bool:
        """Whether rounding explains the difference."""
        return self.difference <= self.tolerance


def _mT(x: Array) -> Array:
    return np.swapaxes(x, -1, -2).conj()


def _svd(a: Array, r: tuple[Array, ...], options: Any) -> tuple[Array, Array]:
    u, s, vh = r
    k = s.shape[-1]
    return (u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a


def _eigh(a: Array, r: tuple[Array, ...], options: Any) -> tuple[Array, Array]:
    w, v = r
    triangle = np.tril(a, -1) if options["lower"] else np.triu(a, 1)
    diagonal = np.einsum("...ii->...i", a).real
    full = triangle + _mT(triangle) + diagonal[..., None] * np.eye(a.shape[-1])
    return (v * w[..., None, :]) @ _mT(v), full


def _eig(a: Array, r: tuple[Array, ...], options: Any) -> tuple[Array, Array]:
    w, v = r
    return a @ v, v * w[..., None, :]


def _qr(a: Array, r: tuple[Array, ...], options: Any) -> tuple[Array, Array]:
    if options["mode"] == "r":
        return _mT(r[0]) @ r[0], _mT(a) @ a
    return r[0] @ r[1], a


def _schur(a: Array, r: tuple[Array, ...], options: Any) -> tuple[Array, Array]:
    t, z = r
    return z @ t @ _mT(z), a


def _hessenberg(a: Array, r: tuple[Array, ...], options: Any) -> tuple[Array, Array]:
    if len(r) == 1:
        return np.linalg.norm(r[0]), np.linalg.norm(a)  # type: ignore[return-value]
    return r[1] @ r[0] @ _mT(r[1]), a


_EQUATIONS: dict[str, Callable[[Array, tuple[Array, ...], Any], tuple[Array, Array]]] = {
    "linalg.svd": _svd,
    "linalg.eigh": _eigh,
    "linalg.eig": _eig,
    "linalg.qr": _qr,
    "linalg.schur": _schur,
    "linalg.hessenberg": _hessenberg,
}
_ORDERED = ("linalg.eigvals",)
_CONDITIONED = frozenset(
    f"linalg.{name}"
    for name in "solve inv pinv lstsq det slogdet cond lu_solve cho_solve solve_triangular".split()
)


def tolerance(call: Call, want: Any = None) -> float:
    """Return the relative difference that rounding explains.

    Parameters
    ----------
    call : Call
        The call, with its arrays: what depends on the condition of a matrix may differ by it.
    want : object, optional
        The reference's result, which may be of a lower precision than the computation.
    """
    if call.dtype.kind not in "fc":
        return 0.0
    eps = float(np.finfo(call.dtype).eps)
    for part in want if isinstance(want, (tuple, list)) else (want,):
        dtype = getattr(part, "dtype", None)
        if dtype is not None and dtype.kind in "fc":
            eps = max(eps, float(np.finfo(dtype).eps))
    largest = max((n for shape in call.shapes for n in shape), default=1)
    return eps * 50 * max(largest, 10) * _condition(call)


def _condition(call: Call) -> float:
    if call.operation.name not in _CONDITIONED:
        return 1.0
    values = np.linalg.svd(call.arrays[0].astype(call.dtype), compute_uv=False)
    with np.errstate(all="ignore"):
        condition = (values[..., 0] / values[..., -1]).max()
    return float(condition) if np.isfinite(condition) else 1 / float(np.finfo(call.dtype).eps)


def residual(call: Call, results: tuple[Array, ...]) -> float | None:
    """Return by how much results miss their defining equation, or None if it has none.

    Parameters
    ----------
    call : Call
        The call, with its arrays.
    results : tuple of ndarray
        In the operation's own terms.
    """
    equation = _EQUATIONS.get(call.operation.name)
    if equation is None:
        return None
    return difference(*equation(call.arrays[0].astype(call.dtype), results, call.options))


def difference(got: Any, want: Any) -> float:
    """Return the largest difference, relative to the largest element wanted.

    Containers are compared item by item; infinities and NaN have to agree in their places.
    """
    if isinstance(want, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(want):
            return float("inf")
        return max((difference(g, w) for g, w in zip(got, want, strict=True)), default=0.0)
    if want is None:
        return 0.0 if got is None else float("inf")
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf")
    if want.dtype.kind not in "fc":
        return 0.0 if np.array_equal(got, want) else float("inf")
    with np.errstate(all="ignore"):
        finite = np.isfinite(want)
        same = np.array_equal(np.isfinite(got), finite) and np.array_equal(
            got[~finite], want[~finite], equal_nan=True
        )
        if not same:
            return float("inf")
        if not finite.any():
            return 0.0
        scale = np.abs(want[finite]).max()
        apart = np.abs(got[finite] - want[finite]).max()
    return float(apart / scale) if scale > 0 else float(apart)


def compare(call: Call, routed: tuple[str, tuple[Array, ...], Any], want: Any) -> Comparison:
    """Compare what a backend gave with what the reference gave.

    Parameters
    ----------
    call : Call
        The call.
    routed : tuple
        The backend's name, its results in the operation's terms, and as the user would get them.
    want : object
        The reference's result.
    """
    backend, results, got = routed
    apart = residual(call, results)
    if apart is None:
        if call.operation.name in _ORDERED:
            got, want = np.sort_complex(got), np.sort_complex(want)
        apart = difference(got, want)
    return Comparison(backend, apart, tolerance(call, want))
