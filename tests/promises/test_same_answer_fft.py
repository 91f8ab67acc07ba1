"""Fourier transforms: the reference's answer to rounding, wherever it was computed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
from arguments import TABLE, TRANSFORMS, function
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, routed


@pytest.mark.usefixtures("persistent")
@pytest.mark.parametrize("path", TRANSFORMS)
@settings(max_examples=15)
@given(data=st.data())
def test_same_answer(path, configuration, data):
    args, kwargs = data.draw(TABLE[path])
    check(configuration, function(path), *args, **kwargs)


def test_an_axis_of_length_one_that_grows_stays_the_fastest(configuration):
    x = np.asfortranarray(np.arange(4.0).reshape(1, 2, 2))
    check(configuration, np.fft.irfftn, x, s=(2,), axes=(0,))
    check(configuration, np.fft.fft, x, n=3, axis=0)


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("name", ["fft", "rfft", "fftn", "rfftn", "fft2"])
@pytest.mark.parametrize("library", [np.fft, scipy.fft], ids=["numpy", "scipy"])
def test_the_memory_order_of_the_argument_changes_no_bit(library, name, dtype, configuration):
    if configuration["name"] == "auto":
        pytest.skip("the two calls run in different places")
    x = np.random.default_rng(8).standard_normal((30, 31, 28)).astype(dtype.lower())
    if dtype in "FD" and "r" not in name:
        x = (x + 1j * x[::-1]).astype(dtype)
    transform = getattr(library, name)
    with routed(configuration):
        in_c, in_f, reversed_ = (
            transform(y) for y in (x, np.asfortranarray(x), x[::-1].copy()[::-1])
        )
    np.testing.assert_array_equal(in_f, in_c)
    np.testing.assert_array_equal(reversed_, in_c)
