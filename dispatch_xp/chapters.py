"""Which chapter of the namespace a name of the Array API standard is in.

Written down, because looking would import NumPy, and every import of a submodule asks.
"""

from __future__ import annotations

__all__ = ["CHAPTERS"]

CHAPTERS = {
    "constants": "e inf nan newaxis pi",
    "creation": (
        "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid "
        "ones ones_like tril triu zeros zeros_like"
    ),
    "data_types": (
        "astype bool can_cast complex64 complex128 finfo float32 float64 iinfo int8 int16 "
        "int32 int64 isdtype result_type uint8 uint16 uint32 uint64"
    ),
    "elementwise": (
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert "
        "bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil clip conj "
        "copysign cos cosh divide equal exp expm1 floor floor_divide greater "
        "greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 "
        "log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum "
        "multiply negative nextafter not_equal positive pow real reciprocal remainder "
        "round sign signbit sin sinh sqrt square subtract tan tanh trunc"
    ),
    "indexing": "take take_along_axis",
    "inspection": "__array_namespace_info__",
    "linear_algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": (
        "broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis "
        "permute_dims repeat reshape roll squeeze stack tile unstack"
    ),
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "sets": "isin unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistical": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utility": "all any diff",
}
"""The names of each chapter, separated by spaces."""
