"""What CuPy does not take, known from the call alone: sizes, dtypes and arguments."""

from __future__ import annotations

import math
import os

from dispatch_xp.backends.cupy_linalg import tall
from dispatch_xp.call import Call

__all__ = ["refusal"]

INDEXABLE = 2**31 - 1
"""The largest element count that cuBLAS, cuSOLVER and cuFFT index with 32 bits."""

SVD_WORKSPACE = 6
"""Elements of workspace per element of the matrix in cuSOLVER's gesvd, counted in 32 bits."""

EIGH_WORKSPACE = 2

EXACT_HALF = frozenset((
    "abs", "add", "subtract", "multiply", "divide", "sqrt", "negative", "positive", "sign",
    "copysign", "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater",
    "greater_equal", "isfinite", "isinf", "isnan", "signbit", "ceil", "floor", "trunc", "round",
    "clip", "min", "max", "argmin", "argmax", "sort", "argsort", "fft.fftshift",
    "fft.ifftshift",
))  # fmt: skip
"""Operations on float16 that are exact, or correctly rounded also when done in float32."""

NAIVE_COMPLEX = frozenset({"expm1", "log1p"})
"""Complex functions that CuPy computes by cancellation near zero."""

ONE_MATRIX = frozenset((
    "linalg.lstsq", "linalg.lu", "linalg.lu_factor", "linalg.lu_solve",
    "linalg.solve_triangular", "linalg.cho_factor", "linalg.cho_solve", "linalg.expm",
))  # fmt: skip

SINGULAR_VALUES = frozenset((
    "linalg.svd", "linalg.svdvals", "linalg.pinv", "linalg.lstsq", "linalg.matrix_rank",
    "linalg.cond", "linalg.polar",
))  # fmt: skip

PRODUCTS = frozenset((
    "matmul", "vecdot", "dot", "inner", "tensordot", "einsum",
))  # fmt: skip


def _dtype(call: Call) -> str:
    name, dtype = call.operation.name, call.dtype
    if dtype.kind not in call.operation.kinds:
        return f"{name} of {dtype}"
    if dtype.char == "e":
        return "" if name in EXACT_HALF else f"{name} of float16 would be rounded differently"
    if dtype.kind in "fc" and dtype.char not in "fdFD":
        return f"CuPy has no {dtype}"
    if dtype.kind == "c" and name in NAIVE_COMPLEX:
        return f"complex {name} loses digits near zero on the device"
    if dtype.char in "fF" and (name in PRODUCTS or name.startswith("linalg.")):
        if os.environ.get("CUPY_TF32", "0") not in ("", "0"):
            return "CUPY_TF32 is set, which would compute in less precision"
        if os.environ.get("NVIDIA_TF32_OVERRIDE", "0") not in ("", "0"):
            return "NVIDIA_TF32_OVERRIDE is set, which would compute in less precision"
    return ""


def _size(call: Call) -> str:
    name = call.operation.name
    shapes = (*call.shapes, *call.operation.outputs(call.shapes, call.options))
    if any(math.prod(shape) > INDEXABLE for shape in shapes):
        return "an array of 2^31 elements or more: the CUDA libraries index with 32 bits"
    if name in SINGULAR_VALUES or (
        name == "linalg.matrix_norm" and call.options.get("ord") in (2, -2, "nuc")
    ):
        m, n = call.shapes[0][-2:]
        full = bool(call.options.get("full_matrices"))
        if tall(m, n) and not full:
            m = n = min(m, n)
        if SVD_WORKSPACE * m * n > INDEXABLE or max(m, n) ** 2 > INDEXABLE:
            return f"cuSOLVER's gesvd cannot index {m} x {n}"
    if name in ("linalg.eigh", "linalg.eigvalsh"):
        n = call.shapes[0][-1]
        if EIGH_WORKSPACE * n * n > INDEXABLE:
            return f"cuSOLVER's syevd cannot index {n} x {n}"
    return ""


def _arguments(call: Call) -> str:
    name, options = call.operation.name, call.options
    if name in ONE_MATRIX and len(call.shapes[0]) != 2:
        return f"{name} of a stack"
    if name.startswith(("fft.dct", "fft.idct", "fft.dst", "fft.idst")):
        if options.get("type", 2) not in (2, 3):
            return f"CuPy has types 2 and 3 only, not {options['type']}"
        if options.get("orthogonalize") is not None:
            return "orthogonalize"
    if name == "argsort" and not options.get("stable"):
        return "argsort that is not stable: ties come in another order"
    axes = options.get("axes") if name.startswith("fft.") else options.get("axis")
    if isinstance(axes, tuple | list):
        if not axes:
            return "no axes"
        ndim = len(call.shapes[0])
        if len({axis % ndim for axis in axes}) < len(axes):
            return "an axis given twice"
    return ""


def refusal(call: Call) -> str:
    """Return why CuPy does not take a call, or an empty string if it does."""
    return _dtype(call) or _arguments(call) or _size(call)
