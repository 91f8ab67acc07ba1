"""Arguments for every function that can be routed: valid ones, on all kinds of arrays."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from hypothesis import strategies as st

from dispatch_xp.operations import elementwise

__all__ = ["DTYPES", "LAYOUTS", "TABLE", "array", "function", "laid_out", "matrix", "values"]

FLOATING = "fdFD"
INTEGERS = "bBhHiIqQ"
DTYPES = "?" + INTEGERS + FLOATING
MOSTLY_FLOATING = FLOATING * 5 + "?" + INTEGERS
REAL = "fd" * 6 + "?" + INTEGERS
LAYOUTS = (
    "C", "C", "C", "F", "transposed", "every second", "negative", "read-only", "unaligned",
    "broadcast", "moved", "nested list",
)  # fmt: skip
CONTENTS = ("normal", "normal", "uniform", "ties", "zeros", "special", "signed zeros", "wide")
FINITE = ("normal", "normal", "uniform", "ties", "zeros", "signed zeros")
SIZES = (1, 2, 3, 4, 5, 8, 13)

Call = tuple[tuple[Any, ...], dict[str, Any]]


def function(path: str) -> Callable[..., Any]:
    """Return what a user calls; the functions behind methods are reached by the methods."""
    module, _, name = path.rpartition(".")
    if module == "numpy._core._methods":
        method = {"_amin": "min", "_amax": "max"}.get(name, name.removeprefix("_"))
        return lambda x, *args, **kwargs: getattr(x, method)(*args, **kwargs)
    return getattr(importlib.import_module(module), name)


# --- arrays -------------------------------------------------------------------------------------


def laid_out(a: np.ndarray, layout: str) -> Any:
    """Return the same values in another memory layout."""
    if layout == "nested list":
        return a.tolist()
    if layout == "F":
        return np.asfortranarray(a)
    if layout == "transposed":
        return np.ascontiguousarray(a.T).T
    if layout == "moved" and a.ndim > 2:
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 0, 1)), 1, 0)
    if layout == "every second" and a.ndim:
        wide = np.empty(tuple(2 * n for n in a.shape), dtype=a.dtype)
        wide[...] = a.flat[0] if a.size else 0
        view = wide[(slice(None, None, 2),) * a.ndim]
        view[...] = a
        return view
    if layout == "negative" and a.ndim:
        back = (slice(None, None, -1),) * a.ndim
        return np.ascontiguousarray(a[back])[back]
    if layout == "read-only":
        a = a.copy()
        a.flags.writeable = False
        return a
    if layout == "unaligned" and a.size:
        buffer = np.zeros(a.nbytes + 1, dtype=np.uint8)
        view = buffer[1:].view(a.dtype).reshape(a.shape)
        view[...] = a
        return view
    if layout == "broadcast" and a.ndim and a.shape[0] > 1:
        return np.broadcast_to(a[:1], a.shape)
    return np.ascontiguousarray(a) if a.ndim else a


def values(shape: tuple[int, ...], char: str, content: str, rng: np.random.Generator) -> np.ndarray:
    """Return an array of a kind of content."""
    dtype = np.dtype(char)
    if dtype.kind == "c":
        part = dtype.char.lower()
        both = values(shape, part, content, rng), values(shape, part, content, rng)
        result = np.empty(shape, dtype=dtype)
        result.real, result.imag = both
        return result
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        top = 4 if content in ("ties", "zeros", "signed zeros") else 100
        low = 0 if dtype.kind == "u" else -top
        return rng.integers(low, top, shape).astype(dtype)
    if content == "zeros":
        return np.zeros(shape, dtype=dtype)
    if content == "uniform":
        return rng.uniform(0.5, 1.5, shape).astype(dtype)
    if content == "ties":
        return rng.integers(-2, 3, shape).astype(dtype)
    if content == "signed zeros":
        return rng.choice(np.array([0.0, -0.0, 1.0, -1.0], dtype=dtype), shape)
    if content == "special":
        limits = np.finfo(dtype)
        special = np.array(
            [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 3.5, -2.5, 1e30], dtype=dtype
        )
        edges = np.array(
            [limits.max, limits.min, limits.tiny, limits.smallest_subnormal, -limits.tiny],
            dtype=dtype,
        )
        return rng.choice(np.concatenate((special, edges)), shape)
    if content == "wide":
        exponents = rng.uniform(-1, 1, shape) * (30 if dtype.char == "f" else 250)
        return (rng.standard_normal(shape) * 10.0**exponents).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


@st.composite
def array(draw, shape, chars=MOSTLY_FLOATING, contents=CONTENTS, layouts=LAYOUTS):
    """Draw an array, or a nested list, of a given or drawn shape."""
    if not isinstance(shape, tuple):
        shape = draw(shape)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    char = draw(st.sampled_from(chars))
    a = np.asarray(values(shape, char, draw(st.sampled_from(contents)), rng), dtype=char)
    return laid_out(a, draw(st.sampled_from(layouts)))


def shapes(low: int = 1, high: int = 3, sizes=SIZES) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.sampled_from(sizes), min_size=low, max_size=high).map(tuple)


# sizes above NumPy's blocks of pairwise sums, and nothing
ANY_SHAPE = st.one_of(shapes(), shapes(), st.sampled_from([(1,), (300,), (40, 33), (0,), (2, 0)]))
ORDERS = st.sampled_from((1, 2, 3, 3, 4, 5, 8, 20))

MATRICES = (
    "general", "general", "general", "hermitian", "definite", "singular", "zero row", "zeros",
    "identity", "nearly singular", "graded", "triangular", "defective", "indefinite", "orthogonal",
    "small integers", "huge", "small", "not finite",
)  # fmt: skip


def _square(n: int, char: str, kind: str, rng: np.random.Generator) -> np.ndarray:
    g = values((n, n), char, "normal", rng)
    if np.dtype(char).kind in "biu":
        return g
    if kind == "definite":
        return (g @ g.conj().T + n * np.eye(n)).astype(char)
    if kind in ("hermitian", "indefinite"):
        h = g + g.conj().T
        if kind == "indefinite":
            h[-1, -1] = -5
        return h.astype(char)
    if kind == "singular":
        g[-1] = g[0] * 2
        return g
    if kind == "zero row":
        g[n // 2] = 0
        return g
    if kind == "identity":
        return np.eye(n, dtype=char)
    if kind == "nearly singular":
        g[-1] = g[0] * (1 + np.finfo(char).eps * 4)
        return g
    if kind == "graded":
        return (g * 10.0 ** -np.arange(n)).astype(char)
    if kind == "triangular":
        return np.triu(g + n * np.eye(n)).astype(char)
    if kind == "defective":
        return (np.eye(n) * 2 + np.eye(n, k=1)).astype(char)
    if kind == "orthogonal":
        return np.linalg.qr(g)[0].astype(char)
    if kind == "huge":
        return g * np.asarray(1e30 if char in "fF" else 1e200, dtype=char)
    if kind == "small":
        return g * np.asarray(1e-30 if char in "fF" else 1e-200, dtype=char)
    return g


@st.composite
def matrix(draw, stack=True, square=True, chars=FLOATING * 4 + "?iBq", kinds=MATRICES, order=None):
    """Draw a matrix, sometimes a stack of them, sometimes of size zero."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    n = order or draw(ORDERS)
    char, kind = draw(st.sampled_from(chars)), draw(st.sampled_from(kinds))
    leading = draw(st.sampled_from(((), (), (), (2,), (3,), (2, 3), (0,)))) if stack else ()
    count = int(np.prod(leading))
    if kind == "zeros":
        a = np.zeros((count, n, n), dtype=char)
    elif kind == "small integers":
        a = values((count, n, n), char, "ties", rng)
    else:
        made = [_square(n, char, kind, rng) for _ in range(count)]
        a = np.stack(made) if made else np.empty((0, n, n), dtype=char)
    if kind == "not finite" and a.size and a.dtype.kind in "fc":
        a.reshape(-1)[-1] = draw(st.sampled_from((np.nan, np.inf)))
    a = a.reshape(*leading, n, n)
    if not square:
        m = draw(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, n))
        a = a[..., :m, :] if draw(st.booleans()) else a[..., :m]
    return laid_out(np.ascontiguousarray(a), draw(st.sampled_from(LAYOUTS)))


# --- calls --------------------------------------------------------------------------------------


@st.composite
def call(draw, *positional, **optional) -> Call:
    """Draw a call: every positional argument, and some of the optional ones."""
    args = tuple(draw(s) for s in positional)
    kwargs = {k: draw(s) for k, s in optional.items() if draw(st.integers(0, 2)) == 0}
    return args, kwargs


@st.composite
def worded(draw, path: str, base) -> Call:
    """Draw a call, and by which of its arguments are given by position and which by keyword."""
    args, kwargs = draw(base)
    try:
        parameters = list(inspect.signature(function(path)).parameters.values())
    except ValueError:
        return args, kwargs
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return args, kwargs
    kept = draw(st.integers(0, len(args))) if draw(st.booleans()) else len(args)
    while kept < len(args):
        if all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters[kept : len(args)]):
            break
        kept += 1
    named = {p.name: x for p, x in zip(parameters[kept:], args[kept:], strict=False)}
    return args[:kept], {**named, **kwargs}


def flags(*names: str) -> dict[str, st.SearchStrategy[Any]]:
    return {name: st.booleans() for name in names}


# --- products -----------------------------------------------------------------------------------


@st.composite
def product(draw, kind: str) -> Call:
    n = st.sampled_from((1, 2, 3, 5, 8, 40))
    m, k, p = draw(n), draw(n), draw(n)
    if draw(st.integers(0, 14)) == 0:
        k = 0
    stack = draw(st.sampled_from(((), (), (2,), (3, 2), (1,))))
    other = draw(st.sampled_from(((), stack, (1,) * len(stack))))
    if kind == "matmul":
        pairs = [((*stack, m, k), (*other, k, p)), ((k,), (*stack, k, p)), ((*stack, m, k), (k,)),
                 ((k,), (k,)), ((m, k), (k, p))]  # fmt: skip
    elif kind == "dot":
        pairs = [((m, k), (k, p)), ((k,), (k,)), ((*stack, m, k), (*other, k, p)), ((m, k), (k,)),
                 ((), (m, k)), ((m,), ())]  # fmt: skip
    elif kind == "inner":
        pairs = [((m, k), (p, k)), ((k,), (k,)), ((*stack, k), (p, k)), ((), (k,))]
    elif kind == "vdot":
        pairs = [((k,), (k,)), ((m, k), (m, k)), ((m, k), (m * k,)), ((), ())]
    elif kind == "vecdot":
        pairs = [((k,), (k,)), ((m, k), (m, k)), ((m, k), (k,)), ((2, 1, k), (3, k))]
    elif kind in ("matvec", "vecmat"):
        pairs = [((*stack, m, k), (k,)), ((m, k), (*stack, k)), ((*stack, m, k), (*other, k)),
                 ((2, 1, m, k), (3, k))]  # fmt: skip
        if kind == "vecmat":
            pairs = [(x, (*a[:-2], k, m)) for a, x in pairs]
    elif kind == "vectors":
        pairs = [((m,), (k,))]
    else:
        pairs = [((m, k), (p,)), ((m,), (k,)), ((m, k), (p, 2)), ((), (k,)), ((2, m), (2, 1, 3))]
    left, right = draw(st.sampled_from(pairs))
    return draw(array(left)), draw(array(right))


@st.composite
def tensordot(draw) -> Call:
    a, b, c, d = (draw(st.sampled_from((1, 2, 3, 4))) for _ in range(4))
    left, right, axes = draw(
        st.sampled_from(
            [
                ((a, b, c), (b, c, d), 2),
                ((a, b), (b, c), 1),
                ((a, b), (c, d), 0),
                ((a, b, c), (c, a, d), ([0, 2], [1, 0])),
                ((a, b), (b, c), (1, 0)),
                ((a, b), (b, c), (-1, -2)),
                ((a, b), (a, b), ([0, 1], [0, 1])),
                ((a, b), (a, b), 2),
            ]
        )
    )
    return draw(array(left)), draw(array(right)), axes


@st.composite
def einsum(draw) -> Call:
    subscripts = draw(
        st.sampled_from(
            "ij,jk->ik ij,jk ij,jk->ki ij,ij-> ij,ij i,j->ji ijk,kl->ijl ijk,ik->ij ij,jk,kl->il "
            "ii,ij->j ...i,...i->... ij,j->i ij->ji ij,kj->ik i,i ij,jk->j i,->i".split()
        )
    )
    letters = {c: draw(st.sampled_from((1, 2, 3, 5))) for c in "ijkl"}
    operands = [
        draw(array((2, letters["i"]) if "." in term else tuple(letters[c] for c in term)))
        for term in subscripts.split("->")[0].split(",")
    ]
    kwargs = {"optimize": draw(st.sampled_from((True, "greedy", "optimal")))}
    return (subscripts, *operands), kwargs if draw(st.booleans()) else {}


def _only(base) -> Any:
    return base.map(lambda args: (args, {}))


PRODUCTS = {
    "numpy.dot": _only(product("dot")),
    "numpy.inner": _only(product("inner")),
    "numpy.vdot": _only(product("vdot")),
    "numpy.vecdot": _only(product("vecdot")),
    "numpy.matmul": _only(product("matmul")),
    "numpy.outer": _only(product("outer")),
    "numpy.kron": _only(product("outer")),
    "numpy.tensordot": _only(tensordot()),
    "numpy.einsum": einsum(),
    "numpy.linalg.outer": _only(product("vectors")),
    "numpy.linalg.tensordot": tensordot().map(lambda a: (a[:2], {"axes": a[2]})),
    "numpy.linalg.matmul": _only(product("matmul")),
    "numpy.linalg.vecdot": _only(product("vecdot")),
}
PRODUCTS |= {  # since NumPy 2.2
    f"numpy.{name}": _only(product(name)) for name in ("matvec", "vecmat") if hasattr(np, name)
}


# --- reductions ---------------------------------------------------------------------------------


@st.composite
def reduction(
    draw, *, chars=REAL + "FD" * 6, contents=CONTENTS, single=False, method=False, **extra
) -> Call:
    shape = draw(ANY_SHAPE)
    layouts = tuple(x for x in LAYOUTS if not (method and x == "nested list"))
    a = draw(array(shape, chars, contents, layouts))
    axes = [None, *range(-len(shape), len(shape))]
    if not single:
        axes += [(0,), tuple(range(len(shape))), (-1, 0) if len(shape) > 1 else (0,), ()]
    kwargs = {}
    if draw(st.integers(0, 2)):
        kwargs["axis"] = draw(st.sampled_from(axes))
    kwargs |= {k: draw(s) for k, s in extra.items() if draw(st.integers(0, 3)) == 0}
    return (a,), kwargs


_KEEP = {"keepdims": st.booleans()}
_DTYPE = {"dtype": st.sampled_from(("f4", "f8", "i8", "c16"))}
_DDOF = {"ddof": st.sampled_from((0, 1, 2, 0.5, 50))}
# products of anything but small numbers are a matter of the order in which they overflow
_ORDERLY = ("uniform", "ties", "zeros", "signed zeros", "special", "wide")

REDUCTIONS = {
    f"numpy.{name}": reduction(**kwargs)
    for name, kwargs in {
        "sum": {**_KEEP, **_DTYPE, "initial": st.just(2), "where": st.just(True)},
        "prod": {"contents": _ORDERLY, **_KEEP, **_DTYPE},
        "mean": {**_KEEP, **_DTYPE},
        "var": {**_KEEP, **_DDOF},
        "std": {**_KEEP, **_DDOF, "correction": st.just(0)},
        "min": {**_KEEP, "initial": st.just(0)},
        "max": {**_KEEP},
        "amin": {**_KEEP},
        "amax": {**_KEEP},
        "argmin": {"single": True, **_KEEP},
        "argmax": {"single": True, **_KEEP},
        "any": {"chars": "????fdi", **_KEEP},
        "all": {"chars": "????fdi", **_KEEP},
        "cumsum": {"single": True, **_DTYPE},
    }.items()
}
REDUCTIONS |= {
    f"numpy._core._methods.{name}": reduction(method=True, **kwargs)
    for name, kwargs in {
        "_sum": {**_KEEP, **_DTYPE},
        "_prod": {"contents": _ORDERLY, **_KEEP},
        "_mean": {**_KEEP},
        "_var": {**_KEEP, **_DDOF},
        "_std": {**_KEEP, **_DDOF},
        "_amin": {**_KEEP},
        "_amax": {**_KEEP},
        "_any": {"chars": "????fdi", **_KEEP},
        "_all": {"chars": "????fdi", **_KEEP},
    }.items()
}
REDUCTIONS |= {
    "numpy.cumulative_sum": reduction(single=True, include_initial=st.booleans()),
    "numpy.sort": reduction(
        single=True,
        kind=st.sampled_from(("stable", "quicksort", "heapsort", "mergesort")),
        chars=REAL + "FD",
    ),
    "numpy.argsort": reduction(single=True, stable=st.booleans(), chars=REAL + "FD"),
}


# --- elementwise --------------------------------------------------------------------------------


@st.composite
def operands(draw, row) -> Call:
    shape = draw(ANY_SHAPE)
    chars = {"fc": FLOATING, "f": "fd", "b": "?", "iu": "iq"}[row.kinds]
    char = draw(st.sampled_from(chars * 6 + DTYPES))
    count = getattr(np, row.numpy.removeprefix("numpy.")).nin
    given = [draw(array(shape, char))]
    for _ in range(count - 1):
        other = draw(st.sampled_from((shape, shape, (*shape[:-1], 1), shape[-1:], ())))
        given.append(draw(array(other, char)))
    return tuple(given), {}


ELEMENTWISE = {
    row.numpy: operands(row) for row in elementwise.ROWS if row.problems and row.name != "clip"
}
ELEMENTWISE["numpy.clip"] = call(
    array(ANY_SHAPE), st.sampled_from((-0.5, 0, None)), st.sampled_from((0.5, 2, np.float32(1)))
)


# --- numpy.linalg -------------------------------------------------------------------------------


@st.composite
def system(draw, stack=True, square=True, name="b", **extra) -> Call:
    a = draw(matrix(stack=stack, square=square))
    shape = np.shape(a)
    rows = shape[-2] if len(shape) > 1 else 1
    columns = draw(st.sampled_from((1, 2, 3)))
    leading = shape[:-2]
    right = draw(
        array(
            draw(st.sampled_from([(rows,), (*leading, rows, columns), (rows, columns)])),
            FLOATING * 3 + "i",
            FINITE,
        )
    )
    kwargs = {k: draw(s) for k, s in extra.items() if draw(st.integers(0, 2)) == 0}
    return (a, right), kwargs


RCOND = st.sampled_from((None, 1e-10, 1e-3, 0.5))
NORMS = st.sampled_from((None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf, 0, 3))

NUMPY_LINALG = {
    "solve": system(),
    "inv": call(matrix()),
    "det": call(matrix()),
    "slogdet": call(matrix()),
    "cholesky": call(matrix(kinds=("definite",) * 8 + MATRICES), **flags("upper")),
    "qr": call(matrix(square=False), mode=st.sampled_from(("reduced", "complete", "r", "raw"))),
    "svd": call(matrix(square=False), **flags("full_matrices", "compute_uv", "hermitian")),
    "svdvals": call(matrix(square=False)),
    "eigh": call(matrix(), UPLO=st.sampled_from("LUlu")),
    "eigvalsh": call(matrix(), UPLO=st.sampled_from("LUlu")),
    "eig": call(matrix()),
    "eigvals": call(matrix()),
    "pinv": call(matrix(square=False), rcond=RCOND, **flags("hermitian")),
    "lstsq": system(stack=False, square=False, rcond=RCOND),
    "matrix_rank": call(matrix(square=False), tol=RCOND, **flags("hermitian")),
    "cond": call(matrix(), p=st.sampled_from((None, 2, -2, 1, "fro"))),
    "matrix_power": call(matrix(), st.sampled_from((-3, -1, 0, 1, 2, 3, 5, 10))),
    "matrix_norm": call(matrix(square=False), ord=NORMS, **flags("keepdims")),
    "norm": call(
        st.one_of(array(ANY_SHAPE), matrix(stack=False, square=False)),
        ord=NORMS,
        axis=st.sampled_from((None, 0, -1, (0, 1))),
        **flags("keepdims"),
    ),
    "vector_norm": call(array(ANY_SHAPE), ord=st.sampled_from((2, 1, 3)), **flags("keepdims")),
}


# --- scipy.linalg -------------------------------------------------------------------------------

ONE = {"stack": False}
# LAPACK's own scaling of eigenvalue problems fails for the largest and smallest numbers
MODERATE = tuple(kind for kind in MATRICES if kind not in ("huge", "small"))
OVERWRITE = flags("check_finite")


def _factored(factor: Callable[..., Any], **kwargs: Any) -> Callable[[Any], Any]:
    def make(a: Any) -> Any:
        try:
            return factor(np.asarray(a), **kwargs)
        except (ValueError, np.linalg.LinAlgError, TypeError):
            n = np.shape(a)[-1] if np.ndim(a) else 1
            return factor(np.eye(n) * 2.0, **kwargs)

    return make


@st.composite
def factored_system(draw, factor, kinds, **extra) -> Call:
    import warnings

    chars = FLOATING
    a = draw(matrix(stack=False, chars=chars, kinds=kinds))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        factors = draw(st.sampled_from(factor))(a)
    n = factors[0].shape[-1]
    right = draw(array(draw(st.sampled_from([(n,), (n, 1), (n, 4)])), chars, FINITE))
    kwargs = {k: draw(s) for k, s in extra.items() if draw(st.integers(0, 2)) == 0}
    return (factors, right), kwargs


SCIPY_LINALG = {
    "solve": system(stack=False, assume_a=st.sampled_from(("gen", "pos", "sym")), **OVERWRITE),
    # SciPy 1.17 itself crashes in `inv` of integers in Fortran order
    "inv": call(matrix(**ONE, chars=FLOATING), **OVERWRITE),
    "det": call(matrix(**ONE), **OVERWRITE),
    "cholesky": call(matrix(**ONE, kinds=("definite",) * 8 + MATRICES), **flags("lower")),
    "qr": call(
        matrix(**ONE, square=False),
        mode=st.sampled_from(("full", "r", "economic", "raw")),
        **flags("pivoting"),
    ),
    "svd": call(matrix(**ONE, square=False), **flags("full_matrices", "compute_uv")),
    "svdvals": call(matrix(**ONE, square=False)),
    "eigh": call(
        matrix(**ONE),
        driver=st.sampled_from((None, "evd")),
        **flags("lower", "eigvals_only"),
    ),
    "eigvalsh": call(matrix(**ONE), **flags("lower")),
    "eig": call(matrix(**ONE, kinds=MODERATE), **flags("left", "right", "homogeneous_eigvals")),
    "eigvals": call(matrix(**ONE, kinds=MODERATE)),
    "pinv": call(
        matrix(**ONE, square=False),
        rtol=st.sampled_from((None, 1e-6)),
        atol=st.sampled_from((None, 0.0, 1e-3)),
        **flags("return_rank"),
    ),
    "lstsq": system(
        stack=False,
        square=False,
        cond=st.sampled_from((None, 1e-6)),
        lapack_driver=st.sampled_from(("gelsd", "gelsy")),
    ),
    "lu": call(matrix(**ONE, square=False), **flags("permute_l", "p_indices")),
    "lu_factor": call(matrix(**ONE, square=False), **OVERWRITE),
    "lu_solve": factored_system(
        [_factored(scipy.linalg.lu_factor)],
        ("general", "definite", "graded", "singular"),
        trans=st.sampled_from((0, 1, 2)),
    ),
    "solve_triangular": system(
        stack=False, trans=st.sampled_from((0, 1, 2, "N", "T", "C")),
        **flags("lower", "unit_diagonal"),
    ),
    "cho_factor": call(matrix(**ONE, kinds=("definite",) * 8 + MATRICES), **flags("lower")),
    "cho_solve": factored_system(
        [_factored(scipy.linalg.cho_factor), _factored(scipy.linalg.cho_factor, lower=True)],
        ("definite",),
    ),
    "expm": call(matrix(**ONE, kinds=("general", "hermitian", "triangular", "zeros", "defective"))),
    "schur": call(matrix(**ONE), output=st.sampled_from(("real", "complex"))),
    "hessenberg": call(matrix(**ONE), **flags("calc_q")),
    "polar": call(matrix(**ONE, square=False), side=st.sampled_from(("left", "right"))),
}  # fmt: skip


# --- transforms ---------------------------------------------------------------------------------

NORMS_FFT = st.sampled_from((None, "backward", "ortho", "forward"))
LENGTHS = st.sampled_from((None, 1, 2, 5, 7, 16))


@st.composite
def transform(draw, many: bool, two: bool, **extra) -> Call:
    shape = draw(
        st.one_of(shapes(2 if two else 1, 3, (2, 3, 5, 8, 12)), st.just((4, 64)), ANY_SHAPE)
    )
    a = draw(array(shape, MOSTLY_FLOATING))
    kwargs: dict[str, Any] = {}
    if draw(st.booleans()):
        kwargs["norm"] = draw(NORMS_FFT)
    if not many:
        if draw(st.booleans()):
            kwargs["n"] = draw(LENGTHS)
        if draw(st.booleans()):
            kwargs["axis"] = draw(st.integers(-len(shape), len(shape) - 1))
    else:
        count = min(len(shape), draw(st.integers(1, 3)))
        chosen = draw(st.permutations(range(len(shape))))[:count]
        how = draw(st.integers(0, 3))
        if how > 1:
            kwargs["axes"] = tuple(chosen)
        if how == 3 or (how == 1 and not two):
            kwargs["s"] = tuple(draw(st.sampled_from((2, 5, 7, 8))) for _ in chosen)
            kwargs["axes"] = tuple(chosen)
    kwargs |= {k: draw(s) for k, s in extra.items() if draw(st.integers(0, 2)) == 0}
    return (a,), kwargs


_LINES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_TRIGONOMETRIC = ("dct", "idct", "dst", "idst")
_TYPES = {"type": st.sampled_from((1, 2, 3, 4)), "orthogonalize": st.sampled_from((None, True))}
_WORKERS = {"workers": st.sampled_from((None, 1))}

TRANSFORMS = {
    **{f"numpy.fft.{name}": transform(False, False) for name in _LINES},
    **{f"scipy.fft.{name}": transform(False, False, **_WORKERS) for name in _LINES},
    **{f"numpy.fft.{name}2": transform(True, True) for name in _LINES[:4]},
    **{f"numpy.fft.{name}n": transform(True, False) for name in _LINES[:4]},
    **{f"scipy.fft.{name}2": transform(True, True) for name in _LINES},
    **{f"scipy.fft.{name}n": transform(True, False) for name in _LINES},
    **{f"scipy.fft.{name}": transform(False, False, **_TYPES) for name in _TRIGONOMETRIC},
    **{f"scipy.fft.{name}n": transform(True, False, **_TYPES) for name in _TRIGONOMETRIC},
    **{
        f"numpy.fft.{name}": call(array(ANY_SHAPE), axes=st.sampled_from((None, 0, -1, (0,))))
        for name in ("fftshift", "ifftshift")
    },
}

_BASE: dict[str, Any] = {
    **PRODUCTS,
    **REDUCTIONS,
    **ELEMENTWISE,
    **{f"numpy.linalg.{name}": calls for name, calls in NUMPY_LINALG.items()},
    **{f"scipy.linalg.{name}": calls for name, calls in SCIPY_LINALG.items()},
    **TRANSFORMS,
}
TABLE = {path: worded(path, calls) for path, calls in _BASE.items()}
"""For every function its calls."""
