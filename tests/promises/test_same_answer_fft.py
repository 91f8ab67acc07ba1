"""Fourier transforms: the reference's answer to rounding, wherever it was computed."""

from __future__ import annotations

import numpy as np
import pytest
from arguments import TABLE, TRANSFORMS, function
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check


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
