"""Comparing a backend's result with the reference's.

What is only defined up to sign, phase or order (singular vectors, eigenvectors, QR), and what
rounding alone decides (a pivot among equals), is checked by its defining equation instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.call import Call
from dispatch_xp.operations import elementwise
from dispatch_xp.operations.statistical import reduced

__all__ = ["Comparison", "compare", "difference", "residual", "tolerance"]

Array = npt.NDArray[Any]
Pairs = Iterator[tuple[Any, ...]]
"""What has to agree: two arrays, and perhaps what their difference is relative to."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far a backend's result is from the reference's.

    Attributes
    ----------
    backend : str
        Which backend.
    difference : float
        The largest difference, relative to the size of what was added up.
    tolerance : float
        What rounding explains, from dtype, size and condition.
    """

    backend: str
    difference: float
    tolerance: float

    @property
    def matches(self) -> bool:
        """Whether rounding explains the difference."""
        return self.difference <= self.tolerance


def _mT(x: Array) -> Any:
    return np.swapaxes(x, -1, -2).conj()


def _diagonal(x: Array) -> Array:
    """Return diagonals as matrices."""
    matrices: Array = x[..., None] * np.eye(x.shape[-1], dtype=x.dtype)
    return matrices


def _orthonormal(columns: Array) -> tuple[Array, Array]:
    gram = _mT(columns) @ columns
    return gram, np.broadcast_to(np.eye(gram.shape[-1], dtype=gram.dtype), gram.shape)


def _from_triangle(a: Array, lower: bool) -> Array:
    """Return the Hermitian matrix that LAPACK sees when it reads one triangle."""
    triangle = np.tril(a, -1) if lower else np.triu(a, 1)
    diagonal = np.einsum("...ii->...i", a).real.astype(a.dtype)
    whole: Array = triangle + _mT(triangle) + _diagonal(diagonal)
    return whole


def _svd(a: Array, r: tuple[Array, ...], options: Any) -> Pairs:
    u, s, vh = r
    k = s.shape[-1]
    yield (u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a
    yield _orthonormal(u)
    yield _orthonormal(_mT(vh))
    yield s, -np.sort(-np.abs(s), axis=-1)


def _eigh(a: Array, r: tuple[Array, ...], options: Any) -> Pairs:
    w, v = r
    yield (v * w[..., None, :]) @ _mT(v), _from_triangle(a, options["lower"])
    yield _orthonormal(v)
    yield w, np.sort(w, axis=-1)


def _eig(a: Array, r: tuple[Array, ...], options: Any) -> Pairs:
    w, v = r
    # relative to the matrix: both sides vanish at a small eigenvalue
    yield a @ v, v * w[..., None, :], float(np.abs(a).max())
    norms = np.linalg.norm(v, axis=-2)
    yield norms, np.ones_like(norms)


def _qr(a: Array, r: tuple[Array, ...], options: Any) -> Pairs:
    triangle = r[-1]
    yield triangle, np.triu(triangle)
    if options["mode"] == "r":
        yield _mT(triangle) @ triangle, _mT(a) @ a
    else:
        yield r[0] @ triangle, a
        yield _orthonormal(r[0])


def _cholesky(a: Array, r: tuple[Array, ...], options: Any) -> Pairs:
    upper = options["upper"] if "upper" in options else not options["lower"]
    # cho_factor leaves the other triangle to chance
    factor = _mT(np.triu(r[0])) if upper else np.tril(r[0])
    yield factor @ _mT(factor), _from_triangle(a, not upper)


def _lu(a: Array, r: tuple[Array, ...], options: Any) -> Pairs:
    p, lower, upper = r
    yield p.astype(lower.dtype) @ lower @ upper, a
    yield lower, np.tril(lower)
    yield upper, np.triu(upper)
    yield np.float64(np.abs(lower).max() <= 1.5), np.float64(1.0)


def _lu_factor(a: Array, r: tuple[Array, ...], options: Any) -> Pairs:
    factors, pivots = r
    k = min(factors.shape)
    lower = np.tril(factors, -1)[:, :k] + np.eye(factors.shape[0], k, dtype=factors.dtype)
    exchanged = np.array(a)
    for i, j in enumerate(pivots):
        exchanged[[i, j]] = exchanged[[j, i]]
    yield lower @ np.triu(factors)[:k], exchanged
    yield np.float64(np.abs(lower).max() <= 1.5), np.float64(1.0)


def _schur(a: Array, r: tuple[Array, ...], options: Any) -> Pairs:
    t, z = r
    yield z @ t @ _mT(z), a
    yield _orthonormal(z)
    yield t, np.triu(t, -1)


def _hessenberg(a: Array, r: tuple[Array, ...], options: Any) -> Pairs:
    h = r[0]
    yield h, np.triu(h, -1)
    if len(r) == 1:
        yield np.linalg.norm(h), np.linalg.norm(a)
    else:
        yield r[1] @ h @ _mT(r[1]), a
        yield _orthonormal(r[1])


def _polar(a: Array, r: tuple[Array, ...], options: Any) -> Pairs:
    u, p = r
    yield (u @ p if options["side"] == "right" else p @ u), a
    yield _orthonormal(u if u.shape[0] >= u.shape[1] else _mT(u))
    yield p, _mT(p)


_EQUATIONS: dict[str, Callable[[Array, tuple[Array, ...], Any], Pairs]] = {
    "linalg.svd": _svd,
    "linalg.eigh": _eigh,
    "linalg.eig": _eig,
    "linalg.qr": _qr,
    "linalg.cholesky": _cholesky,
    "linalg.cho_factor": _cholesky,
    "linalg.lu": _lu,
    "linalg.lu_factor": _lu_factor,
    "linalg.schur": _schur,
    "linalg.hessenberg": _hessenberg,
    "linalg.polar": _polar,
}
_CONDITIONED = frozenset(
    f"linalg.{name}"
    for name in "solve inv pinv lstsq det slogdet cond lu_solve cho_solve solve_triangular".split()
)
_ELEMENTWISE = frozenset(row.name for row in elementwise.ROWS)


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
    if call.operation.name in _ELEMENTWISE:
        return eps * 32
    largest = max((n for shape in call.shapes for n in shape), default=1)
    return eps * 50 * max(largest, 10) * _condition(call)


def _ratio(matrices: Array) -> float:
    """Return the largest condition number, or what precision makes of an infinite one."""
    values = np.linalg.svd(matrices, compute_uv=False)
    with np.errstate(all="ignore"):
        condition = float((values[..., 0] / values[..., -1]).max())
    return condition if math.isfinite(condition) else 1 / float(np.finfo(matrices.dtype).eps)


def _condition(call: Call) -> float:
    name, options = call.operation.name, call.options
    if name == "linalg.eigvals":
        # Bauer & Fike (1960), Numer. Math. 2, 137-141: the condition of the eigenvectors
        return _ratio(np.linalg.eig(call.arrays[0].astype(call.dtype)).eigenvectors)
    if name == "linalg.matrix_power" and options["n"] < 0:
        return _ratio(call.arrays[0].astype(call.dtype)) ** int(min(-options["n"], 4))
    if name not in _CONDITIONED:
        return 1.0
    a = call.arrays[0].astype(call.dtype)
    return float(_condition_of(name, a, options))


def _condition_of(name: str, a: Array, options: Any) -> float:
    if name in ("linalg.solve_triangular", "linalg.cho_solve"):
        a = np.tril(a) if options["lower"] else np.triu(a)
        if options.get("unit_diagonal"):
            a[range(len(a)), range(len(a))] = 1
        return _ratio(a) ** (2 if name == "linalg.cho_solve" else 1)
    if name == "linalg.lu_solve":
        unit = np.tril(a, -1) + np.eye(len(a), dtype=a.dtype)
        return _ratio(unit) * _ratio(np.triu(a))
    if name in ("linalg.pinv", "linalg.lstsq"):
        # a residual that is not zero squares it: Björck (1996), Numerical Methods for Least Squares
        return _condition_of_kept(a, options) ** (2 if name == "linalg.lstsq" else 1)
    return _ratio(a)


def _condition_of_kept(a: Array, options: Any) -> float:
    """Return the condition of what a cut-off leaves of the singular values."""
    values = np.linalg.svd(a, compute_uv=False)
    largest = values.max(axis=-1, keepdims=True)
    cutoff = options.get("atol", 0.0) + options.get("rtol", options.get("rcond", 0.0)) * largest
    kept = values > np.maximum(cutoff, 0)
    if not kept.any():
        return 1.0
    with np.errstate(all="ignore"):
        condition: float = (largest / np.where(kept, values, np.inf)).max()
    return condition or 1.0


def _scale(call: Call) -> float:
    """Return the size of what is added up: where terms cancel, rounding is relative to it."""
    name, options, arrays = call.operation.name, call.options, call.arrays
    largest = [float(np.abs(a).max(initial=0.0)) if a.dtype.kind in "fc" else 0.0 for a in arrays]
    if name in ("sum", "mean", "cumulative_sum"):
        axes = reduced(call.shapes[0], options)
        count = 1 if name == "mean" else math.prod(call.shapes[0][i] for i in axes)
        return largest[0] * count
    if name == "std":
        return largest[0]
    if name == "var":
        return largest[0] * largest[0] * float(np.finfo(call.dtype).eps) * call.arrays[0].size
    if name in ("matmul", "vecdot", "dot", "inner", "tensordot", "einsum"):
        terms = call.operation.flops(call.shapes, options)
        outputs = math.prod(math.prod(s) for s in call.operation.outputs(call.shapes, options))
        return math.prod(largest) * max(terms / 2 / max(outputs, 1), 1.0)
    if name == "linalg.matrix_norm":
        return largest[0]
    if name == "linalg.matrix_power":
        return math.pow(largest[0] * call.shapes[0][-1], min(max(options["n"], 0), 20))
    return 0.0


def residual(call: Call, results: tuple[Array, ...]) -> float | None:
    """Return by how much results miss their defining equations, or None if they have none.

    Parameters
    ----------
    call : Call
        The call, with its arrays.
    results : tuple of ndarray
        In the operation's own terms.
    """
    equations = _EQUATIONS.get(call.operation.name)
    if equations is None:
        return None
    a = call.arrays[0].astype(call.dtype)
    with np.errstate(all="ignore"):
        return max(
            difference(np.asarray(x), np.asarray(y, dtype=np.asarray(x).dtype), *scale)
            for x, y, *scale in equations(a, results, call.options)
        )


def difference(got: Any, want: Any, scale: float = 0.0, *, each: bool = False) -> float:
    """Return the largest difference, relative to the largest element wanted.

    Containers are compared item by item; infinities and NaN have to agree in their places.

    Parameters
    ----------
    got, want : object
        What is compared.
    scale : float
        What the difference is relative to, where that is more than the largest element wanted.
    each : bool
        Compare each element relative to itself.
    """
    if isinstance(want, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(want):
            return float("inf")
        pairs = zip(got, want, strict=True)
        return max((difference(g, w, scale, each=each) for g, w in pairs), default=0.0)
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
        got, want = got[finite], want[finite]
        apart, size = np.abs(got - want), np.abs(want)
        # what underflows has lost its last bits on the way
        tiny = float(np.finfo(want.dtype).tiny)
        if each:
            return float((apart / np.maximum(size, tiny)).max())
        largest = max(float(size.max()), scale)
        return float(apart.max() / largest) if largest >= tiny else float(apart.max() > tiny)


def _matched(got: Any, want: Any) -> tuple[Any, Any]:
    """Return eigenvalues so that each meets the one it is closest to."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return got, want
    left, right = got.reshape(-1, got.shape[-1]), want.reshape(-1, want.shape[-1])
    ordered = np.empty_like(left)
    for k, (values, targets) in enumerate(zip(left, right, strict=True)):
        remaining = list(values)
        for i, target in enumerate(targets):
            nearest = int(np.argmin(np.abs(np.asarray(remaining) - target)))
            ordered[k, i] = remaining.pop(nearest)
    return ordered.reshape(got.shape), want


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
    allowed = tolerance(call, want)
    name = call.operation.name
    apart = residual(call, results)
    if apart is None:
        if name == "linalg.eigvals":
            got, want = _matched(got, want)
        if name == "linalg.lstsq":
            apart = _lstsq_difference(call, got, want)
        else:
            apart = difference(got, want, _scale(call), each=name in _ELEMENTWISE)
    return Comparison(backend, apart, allowed)


def _lstsq_difference(call: Call, got: Any, want: Any) -> float:
    """Compare solution, residuals, rank and singular values; residuals may be all rounding."""
    right = float(np.abs(call.arrays[1]).max())
    eps = float(np.finfo(call.dtype).eps)
    noise = right**2 * call.shapes[0][0] * eps
    parts = [difference(got[i], want[i]) for i in (0, 2, 3)]
    return max(*parts, difference(got[1], want[1], noise))
