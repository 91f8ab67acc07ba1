"""Products and contractions: ``matmul`` and its relatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dispatch_xp.operations.row import Operation, Options, Problem, Shape, Shapes, broadcast
from dispatch_xp.operations.series import STACKED, STACKS

__all__ = ["ROWS", "contracted", "einsum_sizes", "matrix_product"]

_MULTIPLY_ADD = "2 flops per multiply-add: Golub & Van Loan (2013), Matrix Computations, 1.1.15"
ORDERS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
ELEMENTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)


def matrix_product(shapes: Shapes) -> tuple[int, int, int, int]:
    """Return ``(stack, m, k, n)`` of ``(..., m, k) @ (..., k, n)``, vectors as in ``matmul``."""
    a, b = shapes
    m = a[-2] if len(a) > 1 else 1
    n = b[-1] if len(b) > 1 else 1
    return math.prod(broadcast(a[:-2], b[:-2])), m, a[-1], n


def _matmul_flops(shapes: Shapes, options: Options) -> float:
    stack, m, k, n = matrix_product(shapes)
    return 2.0 * stack * m * k * n


def _matmul_work(shapes: Shapes, options: Options) -> float:
    """Read the rate where a square product runs as fast: the smallest side decides half of it.

    Stacks, and products with vectors, have curves of their own.
    """
    stack, m, k, n = matrix_product(shapes)
    if stack > 1 or min(map(len, shapes)) == 1:
        return 2.0 * stack * m * k * n
    volume = float(m * k * n)
    order = math.sqrt(min(m, k, n) * volume ** (1 / 3))
    return 2.0 * order**3


def _matmul_outputs(shapes: Shapes, options: Options) -> Shapes:
    a, b = shapes
    stack = broadcast(a[:-2], b[:-2])
    return ((*stack, *(a[-2:-1] if len(a) > 1 else ()), *(b[-1:] if len(b) > 1 else ())),)


def _order_in_stack(shapes: Shapes) -> float | None:
    """Return the order of the square products that have as many flops; None if there is one."""
    if len(shapes[0]) == len(shapes[1]) == 2 or min(map(len, shapes)) < 2:
        return None
    stack, m, k, n = matrix_product(shapes)
    return (m * k * n) ** (1 / 3) if stack > 1 else None


def _matmul_layout(shapes: Shapes, options: Options) -> str:
    if min(map(len, shapes)) == 1:
        return "vector"
    order = _order_in_stack(shapes)
    return "matrix" if order is None else STACKS.nearest(order)


def _matmul_beside(shapes: Shapes, options: Options) -> tuple[str, float] | None:
    order = _order_in_stack(shapes)
    return None if order is None else STACKS.beside(order)


def contracted(shapes: Shapes, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the non-negative axes of each operand that ``tensordot`` sums over."""
    a, b = (len(s) for s in shapes)
    if isinstance(axes, int):
        return tuple(range(a - axes, a)), tuple(range(axes))
    first, second = axes
    first = (first,) if isinstance(first, int) else tuple(first)
    second = (second,) if isinstance(second, int) else tuple(second)
    return tuple(int(i) % a for i in first), tuple(int(i) % b for i in second)


def _tensordot_flops(shapes: Shapes, options: Options) -> float:
    summed = math.prod(shapes[0][i] for i in contracted(shapes, options["axes"])[0])
    return 2.0 * math.prod(shapes[0]) * math.prod(shapes[1]) / max(summed, 1)


def _tensordot_outputs(shapes: Shapes, options: Options) -> Shapes:
    first, second = contracted(shapes, options["axes"])
    kept = [n for i, n in enumerate(shapes[0]) if i not in first]
    kept += [n for i, n in enumerate(shapes[1]) if i not in second]
    return (tuple(kept),)


def _dot_axes(shapes: Shapes) -> tuple[tuple[int], tuple[int]]:
    return ((len(shapes[0]) - 1,), (max(len(shapes[1]) - 2, 0),))


def _inner_axes(shapes: Shapes) -> tuple[tuple[int], tuple[int]]:
    return ((len(shapes[0]) - 1,), (len(shapes[1]) - 1,))


def _along(
    axes: Callable[[Shapes], Any],
) -> tuple[Callable[[Shapes, Options], float], Callable[[Shapes, Options], Shapes]]:
    """Return the flops and outputs of a contraction whose axes follow from the shapes."""
    return (
        lambda shapes, options: _tensordot_flops(shapes, {"axes": axes(shapes)}),
        lambda shapes, options: _tensordot_outputs(shapes, {"axes": axes(shapes)}),
    )


def _pair_layout(shapes: Shapes, options: Options) -> str:
    return "vector" if min(len(s) for s in shapes) < 2 else "matrix"


def _product_outputs(shapes: Shapes, options: Options) -> Shapes:
    """Return the shape of ``kron``: sizes multiply axis by axis."""
    a, b = shapes
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    return (tuple(x * y for x, y in zip(a, b, strict=True)),)


def _all_pairs(shapes: Shapes, options: Options) -> float:
    return float(math.prod(shapes[0]) * math.prod(shapes[1]))


def einsum_sizes(subscripts: str, shapes: Shapes) -> dict[str, int]:
    """Return the length of every index of an explicit einsum expression."""
    sizes: dict[str, int] = {}
    for term, shape in zip(subscripts.split("->")[0].split(","), shapes, strict=True):
        for index, n in zip(term, shape, strict=True):
            sizes[index] = max(n, sizes.get(index, 1))
    return sizes


def _einsum_flops(shapes: Shapes, options: Options) -> float:
    subscripts = options["subscripts"]
    sizes = einsum_sizes(subscripts, shapes)
    terms = subscripts.split("->")[0].split(",")
    result = subscripts.split("->")[1]
    # left to right, two operands at a time, as the backends do
    flops, held = 0.0, set(terms[0])
    for position, term in enumerate(terms[1:], start=1):
        joined = held | set(term)
        flops += 2.0 * math.prod(sizes[i] for i in joined)
        needed = set(result).union(*terms[position + 1 :])
        held = joined & needed
    return flops


def _einsum_outputs(shapes: Shapes, options: Options) -> Shapes:
    sizes = einsum_sizes(options["subscripts"], shapes)
    return (tuple(sizes[i] for i in options["subscripts"].split("->")[1]),)


def _einsum_layout(shapes: Shapes, options: Options) -> str:
    return "optimized" if options.get("optimize") else "loops"


def _normal(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    x = rng.standard_normal(shape)
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def _square_pair(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return _normal((n, n), dtype, rng), _normal((n, n), dtype, rng)


def _vector_pair(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return _normal((n,), dtype, rng), _normal((n,), dtype, rng)


def _matrix_vector(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return _normal((n, n), dtype, rng), _normal((n,), dtype, rng)


def _outer_pair(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    side = math.isqrt(n)
    return _normal((side,), dtype, rng), _normal((side,), dtype, rng)


def _kron_pair(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    side = max(2, math.isqrt(math.isqrt(n)))
    return _normal((side, side), dtype, rng), _normal((side, side), dtype, rng)


def _stack_pair(
    order: int, n: int, dtype: np.dtype[Any], rng: np.random.Generator
) -> tuple[Any, ...]:
    shape = (n, order, order)
    return _normal(shape, dtype, rng), _normal(shape, dtype, rng)


def _rows_pair(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    shape = (max(n // 100, 1), 100)
    return _normal(shape, dtype, rng), _normal(shape, dtype, rng)


def _einsum_pair(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return ("ij,jk->ik", *_square_pair(n, dtype, rng))


def _matrices(function: str) -> tuple[Problem, ...]:
    return (
        Problem("matrix", function, _square_pair, ORDERS, "order"),
        Problem("vector", function, _matrix_vector, ORDERS, "order"),
    )


_dot_flops, _dot_outputs = _along(_dot_axes)
_inner_flops, _inner_outputs = _along(_inner_axes)

ROWS = (
    Operation(
        "matmul",
        array_api="matmul",
        numpy="numpy.matmul",
        flops=_matmul_flops,
        outputs=_matmul_outputs,
        work=_matmul_work,
        source=_MULTIPLY_ADD,
        layout=_matmul_layout,
        beside=_matmul_beside,
        problems=(
            *_matrices("numpy.matmul"),
            *(
                Problem(
                    name,
                    "numpy.matmul",
                    partial(_stack_pair, order),
                    STACKED,
                    f"matrices of {order} x {order}",
                    refines=name != STACKS.middle,
                )
                for name, order in STACKS.layouts.items()
            ),
        ),
    ),
    Operation(
        "vecdot",
        array_api="vecdot",
        numpy="numpy.vecdot",
        flops=lambda s, o: 2.0 * math.prod(broadcast(*s)),
        outputs=lambda s, o: (broadcast(*s)[:-1],),
        source=_MULTIPLY_ADD,
        layout=lambda s, o: "rows" if len(broadcast(*s)) > 1 else "vector",
        problems=(
            Problem("vector", "numpy.vdot", _vector_pair, ELEMENTS, "elements"),
            Problem("rows", "numpy.vecdot", _rows_pair, ELEMENTS, "elements"),
        ),
    ),
    Operation(
        "tensordot",
        array_api="tensordot",
        numpy="numpy.tensordot",
        flops=_tensordot_flops,
        outputs=_tensordot_outputs,
        source=_MULTIPLY_ADD,
        layout=lambda s, o: "matrix",
        options=frozenset({"axes"}),
        problems=(
            Problem("matrix", "numpy.tensordot", _square_pair, ORDERS, "order", (("axes", 1),)),
        ),
    ),
    Operation(
        "dot",
        numpy="numpy.dot",
        flops=_dot_flops,
        outputs=_dot_outputs,
        source=_MULTIPLY_ADD,
        layout=_pair_layout,
        problems=_matrices("numpy.dot"),
    ),
    Operation(
        "inner",
        numpy="numpy.inner",
        flops=_inner_flops,
        outputs=_inner_outputs,
        source=_MULTIPLY_ADD,
        layout=_pair_layout,
        problems=_matrices("numpy.inner"),
    ),
    Operation(
        "outer",
        array_api="linalg.outer",
        numpy="numpy.outer",
        flops=_all_pairs,
        outputs=lambda s, o: ((math.prod(s[0]), math.prod(s[1])),),
        source="one product per element of the result",
        layout=lambda s, o: "vector",
        problems=(Problem("vector", "numpy.outer", _outer_pair, ELEMENTS, "elements"),),
    ),
    Operation(
        "kron",
        numpy="numpy.kron",
        flops=_all_pairs,
        outputs=_product_outputs,
        source="one product per element of the result",
        layout=lambda s, o: "matrix",
        problems=(Problem("matrix", "numpy.kron", _kron_pair, ELEMENTS, "elements"),),
    ),
    Operation(
        "einsum",
        numpy="numpy.einsum",
        flops=_einsum_flops,
        outputs=_einsum_outputs,
        source=_MULTIPLY_ADD + ", summed over the pairwise contractions from left to right",
        layout=_einsum_layout,
        options=frozenset({"subscripts", "optimize"}),
        problems=(
            Problem("loops", "numpy.einsum", _einsum_pair, ORDERS[:6], "order"),
            Problem(
                "optimized", "numpy.einsum", _einsum_pair, ORDERS, "order", (("optimize", True),)
            ),
        ),
    ),
)
