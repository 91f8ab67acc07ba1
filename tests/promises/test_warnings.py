"""Warnings are part of the answer: category, text, and the line they point at."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
from arguments import function
from oracle import check, routed

HUGE = np.full((20, 20), 1e300)
NAN = np.full((20, 20), np.nan)
CASES = [
    ("numpy.multiply", (HUGE, HUGE)),
    ("numpy.matmul", (HUGE, HUGE)),
    ("numpy.divide", (HUGE, HUGE * 0)),
    ("numpy.exp", (HUGE,)),
    ("numpy.log", (-HUGE,)),
    ("numpy.sqrt", (-HUGE,)),
    ("numpy.sum", (HUGE * 1e7,)),
    ("numpy.prod", (HUGE,)),
    ("numpy.var", (HUGE,)),
    ("numpy.std", (np.array([3e38, -3e38], "f4"),)),
    ("numpy.var", (np.ones(1), None, None, None, 1)),
    ("numpy.mean", (HUGE * 1e7,)),
    ("numpy.max", (NAN,)),
    ("numpy.cumsum", (HUGE * 1e7,)),
    ("numpy.linalg.det", (HUGE,)),
    ("numpy.linalg.norm", (HUGE,)),
    ("numpy.linalg.cond", (np.zeros((3, 3)),)),
    ("numpy.linalg.lstsq", (np.ones((4, 3)), np.ones(4))),
    ("numpy.fft.fft", (NAN,)),
    ("scipy.linalg.inv", (scipy.linalg.hilbert(12) + 0.0,)),
    ("scipy.linalg.solve", (scipy.linalg.hilbert(14), np.ones(14))),
    ("scipy.linalg.lu_factor", (np.ones((3, 3)),)),
]


@pytest.mark.parametrize(("path", "args"), CASES)
def test_same_warnings(path, args, configuration):
    check(configuration, function(path), *args)


def test_a_warning_points_at_the_callers_line(configuration):
    a = scipy.linalg.hilbert(14)
    with routed(configuration), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scipy.linalg.solve(a, np.ones(14))
    assert [(w.category, w.filename) for w in caught] == [(scipy.linalg.LinAlgWarning, __file__)]


def test_a_warning_turned_into_an_error_is_raised(configuration):
    with routed(configuration), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="overflow encountered"):
            np.multiply(HUGE, HUGE)
