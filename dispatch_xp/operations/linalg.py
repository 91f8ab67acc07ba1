"""Linear algebra: the operations of ``numpy.linalg`` and ``scipy.linalg``.

Flop counts are those of the LAPACK routine behind the reference, for real dtypes. `GVL` is
Golub & Van Loan (2013), Matrix Computations, 4th edition; `LAWN 41` is LAPACK Working Note 41,
Anderson, Dongarra & Ostrouchov (1994), appendix C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from dispatch_xp.operations.row import Operation, Options, Problem, Shape, Shapes, real_dtype
from dispatch_xp.operations.series import STACKED, STACKS

__all__ = ["ROWS"]

ORDERS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
ELEMENTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
# how many times as long the longer side of a tall or wide matrix is, where it is measured
ASPECT = 8

Count = Callable[[Shapes, Options], float]
Outputs = Callable[[Shapes, Options], Shapes]


def _matrix(shape: Shape) -> tuple[int, int, int]:
    """Return ``(stack, larger side, smaller side)`` of a stack of matrices."""
    m, n = shape[-2:]
    return math.prod(shape[:-2]), max(m, n), min(m, n)


def _columns(shapes: Shapes) -> int:
    """Return the number of right-hand sides of ``solve(a, b)``."""
    a, b = shapes
    return b[-1] if len(b) > 1 and len(b) >= len(a) else 1


def _count(formula: Callable[[float, float], float]) -> Count:
    """Return the flops of a formula in the larger and the smaller side of the first argument."""

    def flops(shapes: Shapes, options: Options) -> float:
        stack, m, n = _matrix(shapes[0])
        return stack * formula(float(m), float(n))

    return flops


def _qr_flops(shapes: Shapes, options: Options) -> float:
    stack, m, n = _matrix(shapes[0])
    triangle = 2.0 * n * n * (m - n / 3)
    mode = options.get("mode", "reduced")
    if mode == "r":
        return stack * triangle
    if mode == "complete":
        return stack * (triangle + 4.0 * (m * m * n - m * n * n + n**3 / 3))
    return stack * 2 * triangle


def _svd_flops(shapes: Shapes, options: Options) -> float:
    stack, m, n = _matrix(shapes[0])
    if options.get("full_matrices"):
        return stack * (4.0 * m * m * n + 22.0 * n**3)
    return stack * (6.0 * m * n * n + 20.0 * n**3)


def _power_flops(shapes: Shapes, options: Options) -> float:
    stack, n, _ = _matrix(shapes[0])
    power = int(options["n"])
    exponent = abs(power)
    products = max(exponent.bit_length() - 1 + exponent.bit_count() - 1, 0)
    inverse = 2.0 * n**3 if power < 0 else 0.0
    return stack * (inverse + 2.0 * n**3 * products)


def _norm_flops(shapes: Shapes, options: Options) -> float:
    stack, m, n = _matrix(shapes[0])
    if options.get("ord") in (2, -2, "nuc"):
        return stack * (2.0 * m * n * n + 2.0 * n**3)
    return stack * 2.0 * m * n


def _solve_flops(shapes: Shapes, options: Options) -> float:
    stack, n, _ = _matrix(shapes[0])
    return stack * (2.0 / 3.0 * n**3 + 2.0 * n * n * _columns(shapes))


def _substitution(factor: float) -> Count:
    def flops(shapes: Shapes, options: Options) -> float:
        stack, n, _ = _matrix(shapes[0])
        return stack * factor * n * n * _columns(shapes)

    return flops


def _lstsq_flops(shapes: Shapes, options: Options) -> float:
    stack, m, n = _matrix(shapes[0])
    return stack * (6.0 * m * n * n + 20.0 * n**3 + 4.0 * m * n * _columns(shapes))


def _order_in_stack(shape: Shape) -> float | None:
    """Return the order of the square matrices with as many elements; None if there is one."""
    return math.sqrt(shape[-2] * shape[-1]) if math.prod(shape[:-2]) > 1 else None


def _layout(shapes: Shapes, options: Options) -> str:
    order = _order_in_stack(shapes[0])
    return "matrix" if order is None else STACKS.nearest(order)


def _beside(shapes: Shapes, options: Options) -> tuple[str, float] | None:
    order = _order_in_stack(shapes[0])
    return None if order is None else STACKS.beside(order)


def _rectangular_layout(shapes: Shapes, options: Options) -> str:
    """Tell long matrices apart, but for the forms whose results are square.

    A flop of theirs takes a part of the time, or many times it, that one of a square matrix takes:
    most are those of a product, and the others stream through memory.
    """
    m, n = shapes[0][-2:]
    square = options.get("full_matrices") or options.get("mode") == "complete"
    if len(shapes[0]) == 2 and not square and max(m, n) ** 2 >= ASPECT * min(m, n) ** 2:
        return "tall" if m > n else "wide"
    return _layout(shapes, options)


def _factors(*sides: str) -> Outputs:
    """Return the output shapes, each written as a string of sides.

    ``m`` and ``n`` are the rows and columns of the first argument, ``k`` the smaller of them;
    ``s`` a scalar.
    """

    def outputs(shapes: Shapes, options: Options) -> Shapes:
        *stack, m, n = shapes[0]
        lengths = {"m": m, "n": n, "k": min(m, n)}
        return tuple((*stack, *(lengths[c] for c in text if c != "s")) for text in sides)

    return outputs


def _svd_outputs(shapes: Shapes, options: Options) -> Shapes:
    full = options.get("full_matrices")
    return (
        _factors("mm", "k", "nn")(shapes, options)
        if full
        else _factors("mk", "k", "kn")(shapes, options)
    )


def _qr_outputs(shapes: Shapes, options: Options) -> Shapes:
    mode = options.get("mode", "reduced")
    if mode == "r":
        return _factors("kn")(shapes, options)
    if mode == "complete":
        return _factors("mm", "mn")(shapes, options)
    return _factors("mk", "kn")(shapes, options)


def _solve_outputs(shapes: Shapes, options: Options) -> Shapes:
    return (shapes[1],)


def _lstsq_outputs(shapes: Shapes, options: Options) -> Shapes:
    return ((shapes[0][-1], *shapes[1][1:]), (min(shapes[0][-2:]),))


def _normal(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    x = rng.standard_normal(shape)
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def _general(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return (_normal(shape, dtype, rng),)


def _near_identity(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    """Return a matrix whose determinant neither overflows nor vanishes, whatever its order."""
    a = _normal(shape, dtype, rng) * np.asarray(0.5 / shape[-1] ** 0.5, dtype=dtype)
    a[..., range(shape[-1]), range(shape[-1])] += 1
    return (a,)


def _positive(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    """Return a Hermitian positive definite matrix, cheaply: symmetric and diagonally dominant."""
    a = _normal(shape, dtype, rng)
    a = (a + np.swapaxes(a, -1, -2).conj()) / 2
    a[..., range(shape[-1]), range(shape[-1])] += 2 * shape[-1]
    return (a,)


def _hermitian(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    a = _normal(shape, dtype, rng)
    return ((a + np.swapaxes(a, -1, -2).conj()) / 2,)


def _system(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    a = _normal(shape, dtype, rng)
    diagonal = range(min(shape[-2:]))
    a[..., diagonal, diagonal] += shape[-1] ** 0.5
    return a, _normal((*shape[:-1], 4), dtype, rng)


def _triangular(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    a, b = _system(shape, dtype, rng)
    return np.triu(a) + np.eye(shape[-1], dtype=dtype) * shape[-1], b


def _cubed(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return _normal(shape, dtype, rng), 3


def _small(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return (_normal(shape, dtype, rng) / np.asarray(shape[-1], dtype=dtype),)


def _lu_system(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    import scipy.linalg

    a, b = _system(shape, dtype, rng)
    return scipy.linalg.lu_factor(a), b


def _cho_system(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    import scipy.linalg

    (a,) = _positive(shape, dtype, rng)
    return scipy.linalg.cho_factor(a), _normal((*shape[:-1], 4), dtype, rng)


def _flat(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return (_normal((n,), dtype, rng),)


# np.random is imported when it is named, which takes 9 ms
Maker = Callable[[Shape, np.dtype[Any], "np.random.Generator"], tuple[Any, ...]]


def _problems(
    function: str, make: Maker, *, stack: bool = True, **keywords: Any
) -> tuple[Problem, ...]:
    """Return the square matrices to measure, and stacks of small ones."""
    fixed = tuple(keywords.items())

    def matrix(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return make((n, n), dtype, rng)

    def stacked(
        order: int, n: int, dtype: np.dtype[Any], rng: np.random.Generator
    ) -> tuple[Any, ...]:
        return make((n, order, order), dtype, rng)

    single = Problem("matrix", function, matrix, ORDERS, "order", fixed)
    if not stack:
        return (single,)
    return single, *(
        Problem(
            name,
            function,
            partial(stacked, order),
            STACKED,
            f"matrices of {order} x {order}",
            fixed,
            refines=name != STACKS.middle,
        )
        for name, order in STACKS.layouts.items()
    )


def _long_problems(
    function: str, make: Maker, keywords: Mapping[str, Any], keywords_scipy: Mapping[str, Any]
) -> tuple[Problem, ...]:
    """Return the tall and the wide matrices to measure, by their smaller side."""
    fixed = tuple(keywords.items()), tuple(keywords_scipy.items())

    def tall(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return make((ASPECT * n, n), dtype, rng)

    def wide(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return make((n, ASPECT * n), dtype, rng)

    return (
        Problem("tall", function, tall, ORDERS, f"columns, {ASPECT} times as many rows", *fixed),
        Problem("wide", function, wide, ORDERS, f"rows, {ASPECT} times as many columns", *fixed),
    )


def _row(
    name: str,
    flops: Count,
    outputs: Outputs,
    source: str,
    make: Maker,
    *,
    numpy: bool = True,
    scipy: bool = True,
    array_api: bool = True,
    stack: bool = True,
    options: tuple[str, ...] = (),
    determined: bool = True,
    rectangular: bool = False,
    long: Mapping[str, Any] = MappingProxyType({}),
    long_scipy: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Operation:
    function = f"{'numpy' if numpy else 'scipy'}.{name}"
    problems = _problems(function, make, stack=stack, **keywords)
    if rectangular:
        problems += _long_problems(
            function, make, {**keywords, **long}, {**keywords, **(long_scipy or long)}
        )
    return Operation(
        name,
        array_api=name if array_api else "",
        numpy=f"numpy.{name}" if numpy else "",
        scipy=f"scipy.{name}" if scipy else "",
        flops=flops,
        outputs=outputs,
        source=source,
        problems=problems,
        layout=_rectangular_layout if rectangular else _layout,
        beside=_beside if stack else None,
        options=frozenset(options),
        finite=True,
        determined=determined,
    )


_VALUES_ONLY = _count(lambda m, n: 2 * m * n * n + 2 * n**3)
_LU = _count(lambda m, n: m * n * n - n**3 / 3)

ROWS = (
    _row(
        "linalg.solve", _solve_flops, _solve_outputs, "LAWN 41: getrf and getrs", _system,
        options=("well_conditioned",),
    ),
    _row(
        "linalg.inv", _count(lambda m, n: 2 * n**3), _factors("mn"), "LAWN 41: getrf and getri",
        _general, options=("well_conditioned",),
    ),
    _row("linalg.det", _LU, _factors("s"), "LAWN 41: getrf", _near_identity),
    _row("linalg.slogdet", _LU, _factors("s", "s"), "LAWN 41: getrf", _general, scipy=False),
    _row(
        "linalg.cholesky", _count(lambda m, n: n**3 / 3), _factors("mn"), "LAWN 41: potrf",
        _positive, options=("upper",),
    ),
    _row(
        "linalg.qr", _qr_flops, _qr_outputs, "GVL 5.2.1 and 5.2.2, Q formed", _general,
        options=("mode",), determined=False, rectangular=True, long_scipy={"mode": "economic"},
    ),
    _row(
        "linalg.svd", _svd_flops, _svd_outputs, "GVL figure 8.6.1, R-SVD", _general,
        options=("full_matrices",), determined=False, rectangular=True,
        long={"full_matrices": False},
    ),
    _row(
        "linalg.svdvals", _VALUES_ONLY, _factors("k"), "GVL figure 8.6.1, R-SVD", _general,
        rectangular=True,
    ),
    _row(
        "linalg.eigh", _count(lambda m, n: 9 * n**3), _factors("n", "mn"), "GVL 8.3.3", _hermitian,
        options=("lower",), determined=False,
    ),
    _row(
        "linalg.eigvalsh", _count(lambda m, n: 4 / 3 * n**3), _factors("n"), "GVL 8.3.3",
        _hermitian, options=("lower",), array_api=True,
    ),
    _row(
        "linalg.eig", _count(lambda m, n: 25 * n**3), _factors("n", "mn"), "GVL 7.5.6", _general,
        determined=False,
    ),
    _row(
        "linalg.eigvals", _count(lambda m, n: 10 * n**3), _factors("n"), "GVL 7.5.6", _general,
        determined=False,
    ),
    _row(
        "linalg.pinv", _count(lambda m, n: 8 * m * n * n + 20 * n**3), _factors("nm"),
        "GVL figure 8.6.1, and a product", _general, options=("atol", "rtol"), rectangular=True,
    ),
    _row(
        "linalg.lstsq", _lstsq_flops, _lstsq_outputs, "GVL figure 8.6.1, and two products",
        _system, array_api=False, stack=False, options=("rcond",), rectangular=True,
    ),
    _row(
        "linalg.matrix_rank", _VALUES_ONLY, _factors("k"), "GVL figure 8.6.1, R-SVD", _general,
        scipy=False, rectangular=True,
    ),
    _row(
        "linalg.cond", _VALUES_ONLY, _factors("k"), "GVL figure 8.6.1, R-SVD", _general,
        scipy=False, array_api=False, rectangular=True,
    ),
    _row(
        "linalg.matrix_power", _power_flops, _factors("mn"), "GVL 11.1.5, binary powering", _cubed,
        scipy=False, options=("n",),
    ),
    _row(
        "linalg.matrix_norm", _norm_flops, _factors("s"), "2 per element; GVL 8.6.1 for ord 2",
        _general, scipy=False, stack=False, options=("ord", "keepdims"),
    ),
    Operation(
        "linalg.vector_norm",
        array_api="linalg.vector_norm",
        numpy="numpy.linalg.vector_norm",
        flops=lambda shapes, options: 2.0 * math.prod(shapes[0]),
        outputs=lambda shapes, options: ((),),
        source="one multiply-add per element",
        problems=(
            Problem("vector", "numpy.linalg.norm", _flat, ELEMENTS, "elements"),
        ),
        layout=lambda shapes, options: "vector",
        options=frozenset({"ord"}),
        finite=True,
        out_dtype=real_dtype,
    ),
    _row(
        "linalg.lu", _LU, _factors("mm", "mk", "kn"), "LAWN 41: getrf", _general, numpy=False,
        array_api=False,
    ),
    _row(
        "linalg.lu_factor", _LU, _factors("mn", "k"), "LAWN 41: getrf", _general, numpy=False,
        array_api=False,
    ),
    _row(
        "linalg.lu_solve", _substitution(2.0), _solve_outputs, "LAWN 41: getrs", _lu_system,
        numpy=False, array_api=False, stack=False, options=("trans",),
    ),
    _row(
        "linalg.solve_triangular", _substitution(1.0), _solve_outputs, "LAWN 41: trtrs",
        _triangular, numpy=False, array_api=False, stack=False,
        options=("trans", "lower", "unit_diagonal"),
    ),
    _row(
        "linalg.cho_factor", _count(lambda m, n: n**3 / 3), _factors("mn"), "LAWN 41: potrf",
        _positive, numpy=False, array_api=False, stack=False, options=("lower",),
    ),
    _row(
        "linalg.cho_solve", _substitution(2.0), _solve_outputs, "LAWN 41: potrs", _cho_system,
        numpy=False, array_api=False, stack=False, options=("lower",),
    ),
    _row(
        "linalg.expm", _count(lambda m, n: (12 + 8 / 3) * n**3), _factors("mn"),
        "Higham (2005), SIAM J. Matrix Anal. Appl. 26, algorithm 2.3, degree 13, no squaring",
        _small, numpy=False, array_api=False,
    ),
    _row(
        "linalg.schur", _count(lambda m, n: 25 * n**3), _factors("mn", "mn"), "GVL 7.5.6",
        _general, numpy=False, array_api=False, determined=False,
    ),
    _row(
        "linalg.hessenberg", _count(lambda m, n: 10 / 3 * n**3), _factors("mn"), "GVL 7.4.2",
        _general, numpy=False, array_api=False, options=("calc_q",), determined=False,
    ),
    _row(
        "linalg.polar", _count(lambda m, n: 10 * m * n * n + 20 * n**3), _factors("mn", "nn"),
        "GVL figure 8.6.1, and two products", _general, numpy=False, array_api=False,
        options=("side",),
    ),
)  # fmt: skip
