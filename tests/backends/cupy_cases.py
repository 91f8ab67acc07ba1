"""One or more cases for every operation of the CuPy backend, in canonical terms.

Read by the tests without a device (on NumPy stand-ins) and by those with one (on the device). The
oracle is NumPy or SciPy; where a result is defined up to sign or order, its definition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg

from dispatch_xp.operations import OPERATIONS, elementwise

__all__ = ["CASES", "Case", "close"]

Arrays = tuple[Any, ...]
SIZE = {"f": 2e-3, "F": 2e-3, "d": 1e-9, "D": 1e-9}


@dataclass(frozen=True)
class Case:
    operation: str
    arrays: Callable[[np.random.Generator, np.dtype[Any]], Arrays]
    check: Callable[[Arrays, Arrays, dict[str, Any]], None]
    options: dict[str, Any] = field(default_factory=dict)
    dtypes: str = "fdFD"
    label: str = ""

    def __str__(self) -> str:
        options = ",".join(f"{k}={v}" for k, v in self.options.items())
        return " ".join(x for x in (self.operation, self.label, options) if x)


def close(actual: Any, expected: Any) -> None:
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype)
    size = SIZE.get(expected.dtype.char, 0)
    np.testing.assert_allclose(actual, expected, rtol=size, atol=size)


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    x = rng.standard_normal(shape)
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x: Any) -> Any:
    return np.swapaxes(x, -1, -2).conj()


def equal_to(reference: Callable[..., Any]) -> Callable[[Arrays, Arrays, dict[str, Any]], None]:
    def check(results: Arrays, arrays: Arrays, options: dict[str, Any]) -> None:
        expected = reference(*arrays, **options)
        expected = expected if isinstance(expected, tuple) else (expected,)
        assert len(results) == len(expected)
        for actual, wanted in zip(results, expected, strict=True):
            close(actual, wanted)

    return check


def matrices(*shapes: tuple[int, ...]) -> Callable[..., Arrays]:
    return lambda rng, dtype: tuple(normal(rng, shape, dtype) for shape in shapes)


def _with_diagonal(a: Any, size: float) -> Any:
    i = np.arange(min(a.shape[-2:]))
    a[..., i, i] += a.dtype.type(size)
    return a


def system(a: tuple[int, ...], *others: tuple[int, ...]) -> Callable[..., Arrays]:
    def arrays(rng: np.random.Generator, dtype: np.dtype[Any]) -> Arrays:
        return _with_diagonal(normal(rng, a, dtype), 4), *(normal(rng, s, dtype) for s in others)

    return arrays


def positive(shape: tuple[int, ...]) -> Callable[..., Arrays]:
    """Return positive definite matrices."""

    def arrays(rng: np.random.Generator, dtype: np.dtype[Any]) -> Arrays:
        a = normal(rng, shape, dtype)
        return (_with_diagonal(a @ adjoint(a), shape[-1]),)

    return arrays


def one_triangle(make: Callable[..., Arrays], lower: bool) -> Callable[..., Arrays]:
    """Spoil the triangle that must not be read, and the diagonal's imaginary part."""

    def arrays(rng: np.random.Generator, dtype: np.dtype[Any]) -> Arrays:
        (a,) = make(rng, dtype)
        a = (a + adjoint(a)) / 2
        spoiled = np.triu(np.full_like(a, 99), 1)
        a = np.tril(a) + spoiled if lower else np.triu(a) + np.swapaxes(spoiled, -1, -2)
        if dtype.kind == "c":
            _with_diagonal(a, 1j)
        return (a.astype(dtype),)

    return arrays


# checks of what is defined up to sign, phase or order


def check_svd(results: Arrays, arrays: Arrays, options: dict[str, Any]) -> None:
    u, s, vh = results
    (a,) = arrays
    expected = np.linalg.svd(a, full_matrices=options["full_matrices"])
    assert (u.shape, vh.shape) == (expected[0].shape, expected[2].shape)
    close(s, expected[1])
    k = s.shape[-1]
    close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a)
    for basis in (u, adjoint(vh)):
        identity = np.eye(basis.shape[-1], dtype=a.dtype)
        close(adjoint(basis) @ basis, np.broadcast_to(identity, (*a.shape[:-2], *identity.shape)))


def check_qr(results: Arrays, arrays: Arrays, options: dict[str, Any]) -> None:
    (a,) = arrays
    expected = np.linalg.qr(a, mode=options["mode"])
    r = results[-1]
    wanted = expected if options["mode"] == "r" else expected[1]
    assert r.shape == wanted.shape
    assert r.dtype == a.dtype
    close(np.abs(r), np.abs(wanted))
    if options["mode"] != "r":
        assert results[0].shape == expected[0].shape
        close(results[0] @ r, a)


def check_eigh(results: Arrays, arrays: Arrays, options: dict[str, Any]) -> None:
    (a,) = arrays
    triangle = "L" if options["lower"] else "U"
    values, vectors = results
    close(values, np.linalg.eigvalsh(a, UPLO=triangle))
    whole = np.tril(a) if options["lower"] else np.triu(a)
    strict = np.tril(a, -1) if options["lower"] else np.triu(a, 1)
    i = np.arange(a.shape[-1])
    whole[..., i, i] = whole[..., i, i].real
    whole = whole + adjoint(strict)
    close(whole @ vectors, vectors * values[..., None, :].astype(a.dtype))


def check_eig(results: Arrays, arrays: Arrays, options: dict[str, Any]) -> None:
    (a,) = arrays
    values, vectors = results
    assert values.dtype.kind == vectors.dtype.kind == "c"
    close(a @ vectors, vectors * values[..., None, :])


def check_eigvals(results: Arrays, arrays: Arrays, options: dict[str, Any]) -> None:
    (values,) = results
    expected = np.linalg.eigvals(arrays[0]).astype(values.dtype)
    # as multisets: each has one near it
    distance = np.abs(values[..., :, None] - expected[..., None, :]).min(axis=-1)
    close(distance, np.zeros_like(distance))


def check_cholesky(results: Arrays, arrays: Arrays, options: dict[str, Any]) -> None:
    upper = options.get("upper", False)
    expected = np.stack(
        [
            scipy.linalg.cholesky(_hermitian_diagonal(a), lower=not upper)
            for a in arrays[0].reshape(-1, *arrays[0].shape[-2:])
        ]
    ).reshape(arrays[0].shape)
    close(results[0], expected)


def _hermitian_diagonal(a: Any) -> Any:
    a = a.copy()
    np.fill_diagonal(a, np.diagonal(a).real)
    return a


def check_cho_factor(results: Arrays, arrays: Arrays, options: dict[str, Any]) -> None:
    a = _hermitian_diagonal(arrays[0])
    close(results[0], scipy.linalg.cho_factor(a, lower=options["lower"])[0])


def check_lstsq(results: Arrays, arrays: Arrays, options: dict[str, Any]) -> None:
    a, b = arrays
    x, _, _, s = scipy.linalg.lstsq(a, b, cond=options["rcond"])
    close(results[0], x)
    close(results[1], s)


# linear algebra


def _lu_system(trans: int, b: tuple[int, ...]) -> Case:
    def arrays(rng: np.random.Generator, dtype: np.dtype[Any]) -> Arrays:
        a, right = system((6, 6), b)(rng, dtype)
        return scipy.linalg.lu_factor(a)[0], right

    def reference(lu: Any, right: Any, trans: int) -> Any:
        # no exchanges of rows: those are the caller's
        return scipy.linalg.lu_solve((lu, np.arange(6, dtype=np.int32)), right, trans=trans)

    return Case("linalg.lu_solve", arrays, equal_to(reference), {"trans": trans})


def _cho_system(lower: bool) -> Case:
    def arrays(rng: np.random.Generator, dtype: np.dtype[Any]) -> Arrays:
        (a,) = positive((6, 6))(rng, dtype)
        return scipy.linalg.cho_factor(a, lower=lower)[0], normal(rng, (6, 2), dtype)

    return Case(
        "linalg.cho_solve",
        arrays,
        equal_to(lambda c, b, lower: scipy.linalg.cho_solve((c, lower), b)),
        {"lower": lower},
    )


def _deficient(rng: np.random.Generator, dtype: np.dtype[Any]) -> Arrays:
    a = normal(rng, (9, 3), dtype) @ normal(rng, (3, 6), dtype)
    return a, normal(rng, (9, 2), dtype)


SHAPES = ((6, 6), (9, 4), (4, 9), (5, 4), (3, 5, 5), (2, 3, 7, 2), (2, 2, 7))
SQUARE = ((6, 6), (3, 5, 5), (2, 40, 40))
POLAR = (((6, 6), "right"), ((6, 6), "left"), ((9, 4), "right"), ((4, 6), "left"))
SOLVE = equal_to(lambda a, b, **_: np.linalg.solve(a, b))
INV = equal_to(lambda a, **_: np.linalg.inv(a))
VALUES = equal_to(lambda a: np.linalg.svd(a, compute_uv=False))

LINALG = [
    *(
        Case("linalg.solve", system(a, b), SOLVE, {"well_conditioned": checked})
        for a, b in (
            ((6, 6), (6,)),
            ((6, 6), (6, 3)),
            ((3, 5, 5), (3, 5, 2)),
            ((3, 5, 5), (5,)),
            ((3, 5, 5), (5, 2)),
            ((5, 5), (3, 5, 2)),
        )
        for checked in (False, True)
    ),
    *(
        Case("linalg.inv", system(shape), INV, {"well_conditioned": checked})
        for shape in SQUARE
        for checked in (False, True)
    ),
    *(Case("linalg.det", matrices(s), equal_to(np.linalg.det)) for s in ((6, 6), (3, 5, 5))),
    *(
        Case("linalg.slogdet", matrices(s), equal_to(lambda a: tuple(np.linalg.slogdet(a))))
        for s in SQUARE
    ),
    *(
        Case(
            "linalg.matrix_power",
            system(shape),
            equal_to(lambda a, n: np.linalg.matrix_power(a, n)),
            {"n": n},
        )
        for shape in ((4, 4), (3, 4, 4))
        for n in (-2, 0, 1, 3)
    ),
    *(Case("linalg.lu", matrices(s), equal_to(scipy.linalg.lu)) for s in ((6, 6), (7, 4), (4, 7))),
    *(
        Case("linalg.lu_factor", matrices(s), equal_to(scipy.linalg.lu_factor))
        for s in ((6, 6), (7, 4), (4, 7))
    ),
    *(_lu_system(trans, b) for trans in (0, 1, 2) for b in ((6,), (6, 3))),
    *(
        Case(
            "linalg.solve_triangular",
            system((6, 6), b),
            equal_to(scipy.linalg.solve_triangular),
            {"trans": trans, "lower": lower, "unit_diagonal": unit},
        )
        for b in ((6,), (6, 3))
        for trans in (0, 1, 2)
        for lower in (False, True)
        for unit in (False, True)
    ),
    *(
        Case(
            "linalg.cholesky",
            one_triangle(positive(shape), lower=not upper),
            check_cholesky,
            {"upper": upper},
        )
        for shape in ((6, 6), (3, 5, 5))
        for upper in (False, True)
    ),
    *(
        Case(
            "linalg.cho_factor",
            one_triangle(positive((6, 6)), lower=lower),
            check_cho_factor,
            {"lower": lower},
        )
        for lower in (False, True)
    ),
    *(_cho_system(lower) for lower in (False, True)),
    *(
        Case("linalg.qr", matrices(shape), check_qr, {"mode": mode})
        for shape in SHAPES
        for mode in ("reduced", "complete", "r")
    ),
    *(
        Case("linalg.svd", matrices(shape), check_svd, {"full_matrices": full})
        for shape in (*SHAPES, (2, 40, 36))
        for full in (False, True)
    ),
    *(
        Case(name, matrices(shape), VALUES)
        for name in ("linalg.svdvals", "linalg.matrix_rank", "linalg.cond")
        for shape in SHAPES
    ),
    *(
        Case(
            "linalg.pinv",
            make,
            equal_to(lambda a, atol, rtol: np.linalg.pinv(a, rcond=rtol)),
            {"atol": 0.0, "rtol": 1e-4},
        )
        for make in (*(matrices(s) for s in SHAPES), lambda rng, dtype: _deficient(rng, dtype)[:1])
    ),
    *(
        Case("linalg.lstsq", make, check_lstsq, {"rcond": 1e-4})
        for make in (
            matrices((9, 4), (9, 2)),
            matrices((9, 4), (9,)),
            matrices((4, 9), (4, 2)),
            matrices((5, 4), (5, 2)),
            _deficient,
        )
    ),
    *(
        Case("linalg.polar", matrices(shape), equal_to(scipy.linalg.polar), {"side": side})
        for shape, side in (
            ((6, 6), "right"),
            ((6, 6), "left"),
            ((9, 4), "right"),
            ((4, 6), "left"),
        )
    ),
    *(
        Case(
            "linalg.eigh", one_triangle(matrices(shape), lower=lower), check_eigh, {"lower": lower}
        )
        for shape in SQUARE
        for lower in (False, True)
    ),
    *(
        Case(
            "linalg.eigvalsh",
            one_triangle(matrices(shape), lower=lower),
            equal_to(lambda a, lower: np.linalg.eigvalsh(a, UPLO="L" if lower else "U")),
            {"lower": lower},
        )
        for shape in SQUARE
        for lower in (False, True)
    ),
    *(Case("linalg.eig", matrices(shape), check_eig) for shape in ((6, 6), (3, 5, 5))),
    *(Case("linalg.eigvals", matrices(shape), check_eigvals) for shape in ((6, 6), (3, 5, 5))),
    *(
        Case(
            "linalg.matrix_norm",
            matrices(shape),
            equal_to(lambda a, **o: np.linalg.matrix_norm(a, **o)),
            {"ord": ord, "keepdims": keepdims},
        )
        for shape in ((6, 4), (3, 4, 5))
        for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
        for keepdims in (False, True)
    ),
    *(
        Case(
            "linalg.vector_norm",
            matrices(shape),
            equal_to(lambda x, ord: np.linalg.vector_norm(x, ord=ord)),
            {"ord": ord},
        )
        for shape in ((50,), (5, 6))
        for ord in (0, 1, 2, 3, 0.5, np.inf, -np.inf)
    ),
    Case(
        "linalg.expm",
        lambda rng, dtype: (normal(rng, (6, 6), dtype) / 3,),
        equal_to(scipy.linalg.expm),
    ),
]

# products

PRODUCTS = [
    *(
        Case("matmul", matrices(a, b), equal_to(np.matmul))
        for a, b in (
            ((4, 5), (5, 3)),
            ((5,), (5, 3)),
            ((4, 5), (5,)),
            ((5,), (5,)),
            ((2, 1, 4, 5), (3, 5, 6)),
        )
    ),
    *(
        Case("dot", matrices(a, b), equal_to(np.dot))
        for a, b in (
            ((4, 5), (5, 3)),
            ((5,), (5,)),
            ((4, 5), (5,)),
            ((5,), (5, 3)),
            ((2, 4, 5), (3, 5, 6)),
        )
    ),
    *(
        Case("inner", matrices(a, b), equal_to(np.inner))
        for a, b in (((5,), (5,)), ((4, 5), (3, 5)), ((2, 4, 5), (3, 5)))
    ),
    *(
        Case("vecdot", matrices(a, b), equal_to(getattr(np, "vecdot", None)))
        for a, b in (((5,), (5,)), ((4, 5), (4, 5)), ((3, 1, 5), (4, 5)))
        if hasattr(np, "vecdot")
    ),
    *(
        Case("tensordot", matrices((4, 5, 3), (5, 3, 6)), equal_to(np.tensordot), {"axes": axes})
        for axes in (2, ((1, 2), (0, 1)), ((1,), (0,)))
    ),
    Case("outer", matrices((4,), (5,)), equal_to(np.outer)),
    Case("outer", matrices((2, 3), (5,)), equal_to(np.outer)),
    Case("kron", matrices((2, 3), (4, 2)), equal_to(np.kron)),
    Case("kron", matrices((3,), (4, 2)), equal_to(np.kron)),
    *(
        Case(
            "einsum",
            matrices(*shapes),
            equal_to(lambda *a, subscripts, optimize: np.einsum(subscripts, *a, optimize=optimize)),
            {"subscripts": subscripts, "optimize": optimize},
        )
        for subscripts, shapes in (
            ("ij,jk->ik", ((4, 5), (5, 3))),
            ("ij,jk,kl->il", ((4, 5), (5, 3), (3, 2))),
            ("bij,bjk->bik", ((2, 4, 5), (2, 5, 3))),
            ("ii,i->i", ((4, 4), (4,))),
        )
        for optimize in (False, True, "greedy")
    ),
]

# elementwise

KINDS = {"f": "fd", "c": "FD", "i": "bhilq", "u": "BHILQ", "b": "?"}
SINGULAR_AT = {"acosh": (1.1, 3.0), "bitwise_left_shift": (0, 6), "bitwise_right_shift": (0, 6)}


def _elementwise(row: Any) -> Case:
    name = row.numpy.removeprefix("numpy.")
    function = getattr(np, name)
    inputs = 3 if row.name == "clip" else getattr(function, "nin", 1)
    low, high = SINGULAR_AT.get(row.name, (0.1, 0.9))

    def arrays(rng: np.random.Generator, dtype: np.dtype[Any]) -> Arrays:
        if dtype.kind in "biu":
            return tuple(
                rng.integers(0, 2 if dtype.kind == "b" else 6, 40).astype(dtype)
                for _ in range(inputs)
            )
        made = [rng.uniform(low, high, 40) for _ in range(inputs)]
        if dtype.kind == "c":
            made = [x + 1j * rng.uniform(0.1, 0.9, 40) for x in made]
        elif row.name in ("floor_divide", "remainder"):
            made = [
                np.append(rng.uniform(-9, 9, 37), x) for x in ((1.0, -1.0, 6.0), (0.1, 0.1, -3.0))
            ]
        return tuple(x.astype(dtype) for x in made)

    dtypes = "".join(KINDS[kind] for kind in row.kinds)
    if row.name in ("expm1", "log1p"):
        dtypes = "fd"
    return Case(row.name, arrays, equal_to(function), {}, dtypes)


ELEMENTWISE = [_elementwise(row) for row in elementwise.ROWS if row.name not in ("real", "imag")]

# reductions, searches, sorting


def _values(shape: tuple[int, ...]) -> Callable[..., Arrays]:
    def arrays(rng: np.random.Generator, dtype: np.dtype[Any]) -> Arrays:
        if dtype.kind in "biu":
            return (rng.integers(0, 2 if dtype.kind == "b" else 3, shape).astype(dtype),)
        return (normal(rng, shape, dtype),)

    return arrays


def _own_dtype(name: str) -> Callable[..., Any]:
    def reference(x: Any, **options: Any) -> Any:
        return getattr(np, name)(x, dtype=x.dtype, **options)

    return reference


AXES = (None, 0, -1, (0, 2))
DTYPES = {kinds: "".join(KINDS[k] for k in kinds) for kinds in ("iufc", "fc", "iuf", "b")}
REDUCTIONS = [
    *(
        Case(
            name, _values((4, 5, 6)), equal_to(reference), {"axis": axis, "keepdims": keep}, dtypes
        )
        for name, reference, dtypes in (
            ("sum", _own_dtype("sum"), DTYPES["iufc"]),
            ("prod", _own_dtype("prod"), DTYPES["iufc"]),
            ("mean", np.mean, DTYPES["fc"]),
            ("min", np.min, DTYPES["iuf"]),
            ("max", np.max, DTYPES["iuf"]),
            ("any", np.any, "?"),
            ("all", np.all, "?"),
        )
        for axis in AXES
        for keep in (False, True)
    ),
    *(
        Case(
            name,
            _values((4, 5, 6)),
            equal_to(lambda x, f=function, correction=0, **o: f(x, ddof=correction, **o)),
            {"axis": axis, "keepdims": keep, "correction": correction},
        )
        for name, function in (("var", np.var), ("std", np.std))
        for axis in AXES
        for keep in (False, True)
        for correction in (0, 1, 0.5)
    ),
    *(
        Case(
            name,
            _values((4, 5, 6)),
            equal_to(getattr(np, name)),
            {"axis": axis, "keepdims": keep},
            DTYPES["iuf"],
        )
        for name in ("argmin", "argmax")
        for axis in (None, 0, -1)
        for keep in (False, True)
    ),
    *(
        Case(
            "cumulative_sum",
            _values((4, 5)),
            equal_to(_own_dtype("cumsum")),
            {"axis": axis},
            DTYPES["iufc"],
        )
        for axis in (0, 1, -1)
    ),
    *(
        Case(
            "sort",
            _values((30, 4)),
            equal_to(lambda x, axis, **_: np.sort(x, axis=axis)),
            {"axis": axis, "stable": stable},
            DTYPES["iuf"],
        )
        for axis in (0, -1)
        for stable in (False, True)
    ),
    *(
        Case(
            "argsort",
            _values((30, 4)),
            equal_to(lambda x, axis, stable: np.argsort(x, axis=axis, kind="stable")),
            {"axis": axis, "stable": True},
            DTYPES["iuf"],
        )
        for axis in (0, -1)
    ),
]

# Fourier transforms

NORMS = ("backward", "ortho", "forward")


def _along(name: str, dtypes: str, **options: Any) -> list[Case]:
    check = equal_to(getattr(scipy.fft, name))
    return [
        Case(
            f"fft.{name}",
            matrices((6, 8)),
            check,
            {**options, "n": n, "axis": axis, "norm": norm},
            dtypes,
        )
        for n, axis in ((None, -1), (6, 0), (12, 1), (5, 1))
        for norm in NORMS
    ]


def _over(name: str, dtypes: str, **options: Any) -> list[Case]:
    check = equal_to(getattr(scipy.fft, name))
    return [
        Case(
            f"fft.{name}",
            matrices((4, 6, 8)),
            check,
            {**options, "s": s, "axes": axes, "norm": norm},
            dtypes,
        )
        for s, axes in ((None, None), (None, (0, 1)), ((4, 10), (1, 2)), ((6, 6), (-1, 0)))
        for norm in NORMS
    ]


FOURIER = [
    *(c for name in ("fft", "ifft", "irfft", "hfft") for c in _along(name, "fdFD")),
    *(c for name in ("rfft", "ihfft") for c in _along(name, "fd")),
    *(c for name in ("fftn", "ifftn", "irfftn", "hfftn") for c in _over(name, "fdFD")),
    *(c for name in ("rfftn", "ihfftn") for c in _over(name, "fd")),
    *(
        c
        for name in ("dct", "idct", "dst", "idst")
        for t in (2, 3)
        for c in _along(name, "fd", type=t)
    ),
    *(
        c
        for name in ("dctn", "idctn", "dstn", "idstn")
        for t in (2, 3)
        for c in _over(name, "fd", type=t)
    ),
    *(
        Case(
            f"fft.{name}",
            _values((5, 6)),
            equal_to(getattr(np.fft, name)),
            {"axes": axes},
            "fdFDil?",
        )
        for name in ("fftshift", "ifftshift")
        for axes in (None, 0, (0, 1))
    ),
]

CASES: list[Case] = [*LINALG, *PRODUCTS, *ELEMENTWISE, *REDUCTIONS, *FOURIER]
assert all(case.operation in OPERATIONS for case in CASES)
