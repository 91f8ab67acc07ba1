"""CuPy's own uarray backend for scipy.linalg is reached through our multimethods.

There is no device here: ndarrays stand in for CuPy's arrays, and NumPy for its functions.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
import uarray

import dispatch_xp

pytestmark = pytest.mark.filterwarnings("ignore:uarray.*deprecated:DeprecationWarning")

A = np.random.default_rng(0).standard_normal((6, 6))
S = A @ A.T + 6 * np.eye(6)


@pytest.fixture
def table(monkeypatch):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        from cupyx.scipy.linalg import _uarray
    except ImportError as error:
        pytest.skip(f"cupyx.scipy.linalg does not import: {error}")
    monkeypatch.setattr(_uarray.cupy, "ndarray", np.ndarray)
    return _uarray._implemented


def lower_cholesky(a):
    return np.linalg.cholesky(a)


def eigh_like_cupy(a, UPLO="L"):
    return np.linalg.eigh(a, UPLO)


def qr_like_cupy(a, mode="reduced"):
    return np.linalg.qr(a, mode)


def test_the_table_is_the_same_again_afterwards(table):
    before = dict(table)
    dispatch_xp.install()
    assert len(table) > len(before)
    dispatch_xp.uninstall()
    assert table == before


@pytest.mark.parametrize("lower", [True, False])
def test_arguments_are_translated(table, monkeypatch, lower):
    import cupyx.scipy.linalg

    calls = []

    def counted(function):
        def call(*args, **kwargs):
            calls.append(function.__name__)
            return function(*args, **kwargs)

        call.__wrapped__ = function
        return call

    for name, stand_in in {
        "cholesky": lower_cholesky,
        "eigh": eigh_like_cupy,
        "qr": qr_like_cupy,
        "inv": lambda a: np.linalg.inv(a),
    }.items():
        monkeypatch.setitem(table, getattr(scipy.linalg, name), counted(stand_in))
    want = {
        "cholesky": scipy.linalg.cholesky(S, lower=lower),
        "eigh": scipy.linalg.eigh(np.triu(A), lower=lower)[0],
        "qr": scipy.linalg.qr(A, mode="economic"),
        "inv": scipy.linalg.inv(A),
    }
    dispatch_xp.install()
    with uarray.set_backend(cupyx.scipy.linalg):
        got = {
            "cholesky": scipy.linalg.cholesky(S, lower=lower),
            "eigh": scipy.linalg.eigh(np.triu(A), lower=lower)[0],
            "qr": scipy.linalg.qr(A, mode="economic"),
            "inv": scipy.linalg.inv(A, check_finite=False),
        }
        # what does not translate is SciPy's
        pivoted = scipy.linalg.qr(A, pivoting=True)
        assert len(pivoted) == 3
    assert len(calls) == 4
    for name in ("cholesky", "eigh", "inv"):
        np.testing.assert_allclose(got[name], want[name], atol=1e-10)
    np.testing.assert_allclose(got["qr"][0] @ got["qr"][1], A, atol=1e-10)


def test_plain_arrays_fall_through_to_scipy():
    pytest.importorskip("cupyx.scipy.linalg", exc_type=ImportError)
    import cupyx.scipy.linalg

    dispatch_xp.install()
    with uarray.set_backend(cupyx.scipy.linalg):
        assert type(scipy.linalg.inv(A)) is np.ndarray


def test_a_later_import_of_cupy_is_noticed():
    pytest.importorskip("cupyx.scipy.linalg", exc_type=ImportError)
    code = (
        "import dispatch_xp, scipy.linalg\n"
        "dispatch_xp.install()\n"
        "import cupyx.scipy.linalg\n"
        "from cupyx.scipy.linalg._uarray import _implemented\n"
        "n = len(_implemented)\n"
        "dispatch_xp.uninstall()\n"
        "print(n - len(_implemented))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 12
