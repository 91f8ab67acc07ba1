"""Tests of other projects that end otherwise when they are routed, and are right to: why."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DIFFERENCES", "Difference"]


class Difference(NamedTuple):
    """Tests that may end otherwise."""

    suite: str
    policies: tuple[str, ...]
    tests: str
    """What is looked for in a test's class and name: a regular expression."""
    reason: str
    largest: float | None = None
    """How far apart the numbers may be, absolutely or relatively; None if it is no matter of it."""
    ends: tuple[str, str] = ("passed", "failed")
    """How the tests end, unrouted and routed."""


_TWO_PLACES = "compares, bit by bit, two calls that were computed in two places"
_STACK = (
    "compares a stack with its matrices one by one, more closely than the precision allows: stacks "
    "stay on the reference, single matrices do not"
)
_ULP = "asks for more digits than the precision has"
_TORCH = ("torch", "random")

DIFFERENCES = (
    Difference(
        "numpy.linalg",
        _TORCH,
        r"TestNormSingle::test_axis",
        _ULP,
        2e-6,
    ),
    Difference(
        "numpy.fft",
        ("random",),
        r"TestFFT1D::test_(fft_inplace_out|fftn?_out|irfftn_out|identity_long_short)"
        r"|TestFFTThreadSafe::|::test_fft_with_(order|integer_or_bool_input)",
        _TWO_PLACES,
        1e-5,
    ),
    Difference(
        "numpy._core",
        _TORCH,
        r"TestSpecialFloats::test_sincos_overlaps|TestAVXUfuncs::test_avx_based_ufunc",
        "compares, bit by bit, float32 sines and cosines of two strides, of which NumPy itself "
        "computes one here",
        2e-7,
    ),
    Difference(
        "numpy._core",
        ("random",),
        r"TestMethods::test_dot_out_mem_overlap|TestDot::test_dot_3args",
        _TWO_PLACES,
        1e-7,
    ),
    Difference(
        "scipy.fft",
        _TORCH,
        r"TestSingleIFFT::test_djbfft|::test_fft_with_order\[fft[2n].*-(float32|complex64)\]",
        _ULP,
        2e-4,
    ),
    Difference(
        "scipy.fft",
        _TORCH,
        r"::test_multiprocess\[",
        "compares rounding errors of zeros: a forked child leaves alone what its parent started",
        1e-14,
    ),
    Difference("scipy.fft", ("random",), r"TestFFTThreadSafe::", _TWO_PLACES, 1e-4),
    Difference(
        "scipy.linalg",
        _TORCH,
        r"TestSolve::test_overwrite_args\[",
        "asks for LAPACK's factors in a matrix that may be overwritten, where no result is left",
    ),
    Difference(
        "scipy.linalg",
        _TORCH,
        r"TestBatch::|TestEig::test_nd_input\[(float32|complex64)",
        _STACK,
        1e-5,
    ),
    Difference(
        "scipy.linalg",
        _TORCH,
        r"TestBatch::test_(svd|eigh)\[",
        _STACK + ", and vectors are determined up to their sign",
        2.0,
    ),
    Difference(
        "scipy.linalg",
        _TORCH,
        r"TestBatch::test_subspace_angles",
        _STACK + ", and an angle of zero is known to the root of the precision",
        1e-3,
    ),
    Difference(
        "scipy.linalg",
        _TORCH,
        r"TestLUFactor::test_hrectangular",
        "compares a rounding error of a zero with that of another routine",
        1e-14,
    ),
    Difference(
        "scipy.linalg",
        _TORCH,
        r"test_solve_toeplitz::test_unstable",
        "expected to fail by 4% of a tolerance: a matrix that differs in its last bits passes",
        ends=("skipped", "passed"),
    ),
    Difference(
        "sklearn.cluster",
        ("random",),
        r"test_k_means::test_kmeans_elkan_results",
        _TWO_PLACES,
        1e-14,
    ),
    Difference(
        "sklearn.decomposition",
        ("random",),
        r"test_kernel_pca::test_kernel_pca_precomputed_non_symmetric",
        _TWO_PLACES,
        1e-14,
    ),
    Difference(
        "sklearn.decomposition",
        ("random",),
        r"test_dict_learning::test_sparse_coder_estimator_clone",
        "compares two fits in float32, made in two places, to seven digits",
        1e-5,
    ),
    Difference(
        "sklearn.linear_model",
        ("random",),
        r"test_base::test_preprocess_data_weighted",
        _TWO_PLACES,
        1e-14,
    ),
    Difference(
        "sklearn.linear_model",
        ("random",),
        r"test_ridge::test_dense_sparse\[.*-_test_tolerance\]",
        "asks that of two equal scores, computed in two places, the first is not the smaller one",
    ),
)
