"""Fourier transforms.

The count is the convention of FFTW's benchmarks (``5 N log2 N`` for a complex transform, half of
it for a real one), after Van Loan (1992), Computational Frameworks for the Fast Fourier Transform.
Lengths with other factors than 2 take more steps, see :func:`burden`.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dispatch_xp.operations.row import (
    Operation,
    Options,
    Problem,
    Shape,
    Shapes,
    complex_dtype,
    real_dtype,
    same_dtype,
)

__all__ = ["ROWS", "burden", "transformed"]

SINGLE = tuple(4**k for k in range(5, 14))
ROW_LENGTH = 1024
SIDES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
REAL_RESULT = frozenset({"irfft", "hfft", "irfftn", "hfftn"})
REAL_INPUT = frozenset({"rfft", "ihfft", "rfftn", "ihfftn"})
TRIGONOMETRIC = ("dct", "idct", "dst", "idst")


def transformed(shape: Shape, options: Options, *, half: bool = False) -> dict[int, int]:
    """Return the transformed axes with their lengths after cropping or padding.

    `half` says that the input is the non-redundant half of a Hermitian spectrum, whose full
    length along the last axis is ``2 (n - 1)`` unless given.
    """
    ndim = len(shape)
    if "axis" in options:
        axes = [options["axis"] % ndim]
        lengths = [options.get("n")]
    else:
        axes = [a % ndim for a in (options.get("axes") or range(ndim))]
        lengths = list(options.get("s") or [None] * len(axes))
    result = {}
    for position, (axis, length) in enumerate(zip(axes, lengths, strict=True)):
        if length is None:
            last = half and position == len(axes) - 1
            length = 2 * (shape[axis] - 1) if last else shape[axis]
        result[axis] = int(length)
    return result


@lru_cache(maxsize=4096)
def burden(n: int, *, real: bool = False) -> float:
    """Return the steps of a point in a transform of length `n`: ``log2(n)`` for powers of two.

    A factor ``p`` takes in proportion to ``p`` itself, with the weights that pocketfft estimates
    by; a large one takes less in a real transform. Where that is more than the detour by
    Bluestein's algorithm, two transforms of a length of ``2 n`` and little more, the detour is what
    it takes, and a quarter more for what it does besides. The detour is complex: of the steps of a
    real transform, which are half as long, it takes half as many again.
    """
    if n < 2:
        return 0.0
    direct, rest, p = 0.0, n, 2
    large = 0.8 if real else 1.1
    while p * p <= rest:
        while rest % p == 0:
            direct += p if p <= 5 else large * p
            rest //= p
        p += 1 if p == 2 else 2
    if rest > 1:
        direct += rest if rest <= 5 else large * rest
    return min(direct / 2, (7.5 if real else 5.0) * math.log2(2 * n))


def _row(name: str, *, in_numpy: bool, in_standard: bool) -> Operation:
    many = name.endswith("n")
    half = name in REAL_RESULT
    half_out = name in REAL_INPUT
    trigonometric = name.rstrip("n") in TRIGONOMETRIC
    factor = 2.5 if half or half_out or trigonometric else 5.0

    def flops(shapes: Shapes, options: Options) -> float:
        lengths = transformed(shapes[0], options, half=half)
        other = math.prod(n for axis, n in enumerate(shapes[0]) if axis not in lengths)
        points = math.prod(lengths.values())
        # of a real transform along several axes all but the last are complex ones of the half
        first = 0 if trigonometric else -1 if half or half_out else len(lengths)
        real = list(lengths)[first:]
        steps = sum(burden(n, real=axis in real) for axis, n in lengths.items())
        return factor * other * points * max(steps, 1.0)

    def outputs(shapes: Shapes, options: Options) -> Shapes:
        lengths = transformed(shapes[0], options, half=half)
        out = [lengths.get(axis, n) for axis, n in enumerate(shapes[0])]
        if half_out:
            last = list(lengths)[-1]
            out[last] = out[last] // 2 + 1
        return (tuple(out),)

    def layout(shapes: Shapes, options: Options) -> str:
        if many:
            return "grid"
        axis = options["axis"] % len(shapes[0])
        other = math.prod(n for i, n in enumerate(shapes[0]) if i != axis)
        return "rows" if other > 1 else "single"

    def values(shape: Shape, dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
        x = rng.standard_normal(shape)
        if dtype.kind == "c" and not half_out and not trigonometric:
            x = x + 1j * rng.standard_normal(shape)
        return x.astype(dtype)

    def single(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return (values((n,), dtype, rng),)

    def rows(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return (values((max(n // ROW_LENGTH, 2), ROW_LENGTH), dtype, rng),)

    def grid(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return (values((n, n), dtype, rng),)

    function = f"scipy.fft.{name}"
    problems: tuple[Problem, ...] = ()
    # NumPy's transforms are not SciPy's: in single precision many rows take several times as long
    for path, suffix in ((function, ""), (f"numpy.fft.{name}", "-numpy"))[: 1 + in_numpy]:
        made = partial(Problem, function=path, refines=bool(suffix))
        if many:
            problems += (made(f"grid{suffix}", arguments=grid, sizes=SIDES, unit="side"),)
        else:
            problems += (
                made(f"single{suffix}", arguments=single, sizes=SINGLE, unit="elements"),
                made(f"rows{suffix}", arguments=rows, sizes=SINGLE[1:], unit="elements"),
            )
    own = {"type", "orthogonalize"} if trigonometric else set()
    return Operation(
        f"fft.{name}",
        array_api=f"fft.{name}" if in_standard else "",
        numpy=f"numpy.fft.{name}" if in_numpy else "",
        scipy=function,
        flops=flops,
        outputs=outputs,
        source=f"{factor:g} N log2 N: Van Loan (1992); FFTW's benchmark convention",
        problems=problems,
        layout=layout,
        options=frozenset({"n", "axis", "s", "axes", "norm"} | own),
        kinds="f" if half_out or trigonometric else "fc",
        complex_factor=1,
        out_dtype=(same_dtype if trigonometric else real_dtype if half else complex_dtype),
    )


def _moved(name: str) -> Operation:
    def vector(n: int, dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        return (rng.standard_normal(n).astype(dtype),)

    return Operation(
        f"fft.{name}",
        array_api=f"fft.{name}",
        numpy=f"numpy.fft.{name}",
        flops=lambda shapes, options: float(math.prod(shapes[0])),
        outputs=lambda shapes, options: shapes,
        source="one move per element",
        problems=(Problem("vector", f"numpy.fft.{name}", vector, SINGLE, "elements"),),
        layout=lambda shapes, options: "vector",
        options=frozenset({"axes"}),
        kinds="biufc",
        complex_factor=1,
    )


def _frequencies(name: str) -> Operation:
    """Return the row of a creation function: no input, so nothing that a backend could win."""
    return Operation(
        f"fft.{name}",
        array_api=f"fft.{name}",
        numpy=f"numpy.fft.{name}",
        flops=lambda shapes, options: float(options.get("n", 0)),
        outputs=lambda shapes, options: ((int(options.get("n", 0)),),),
        source="one division per element",
        problems=(),
        layout=lambda shapes, options: "vector",
        options=frozenset({"n", "d"}),
        complex_factor=1,
    )


_STANDARD = ("fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft")

ROWS = (
    *(_row(name, in_numpy=True, in_standard=True) for name in _STANDARD),
    *(_row(name, in_numpy=False, in_standard=False) for name in ("hfftn", "ihfftn")),
    *(_row(name, in_numpy=False, in_standard=False) for name in TRIGONOMETRIC),
    *(_row(f"{name}n", in_numpy=False, in_standard=False) for name in TRIGONOMETRIC),
    _moved("fftshift"),
    _moved("ifftshift"),
    _frequencies("fftfreq"),
    _frequencies("rfftfreq"),
)
