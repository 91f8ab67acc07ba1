"""Libraries that take any array of the standard, each on a real function."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dispatch_xp as xp

X = np.array([[1.0, 2.0], [3.0, 5.0], [5.0, 4.0], [2.0, 2.5]])


def test_array_api_compat_finds_the_namespace():
    compat = pytest.importorskip("array_api_compat")
    x = xp.asarray(X)
    assert compat.is_array_api_obj(x)
    assert compat.array_namespace(x) is xp
    assert compat.device(x) == "auto"
    assert compat.size(x) == 8


def test_array_api_extra():
    extra = pytest.importorskip("array_api_extra")
    got = extra.cov(xp.asarray(X.T))
    assert type(got) is xp.Array
    assert_allclose(np.asarray(got), np.cov(X.T))


def test_einops():
    einops = pytest.importorskip("einops")
    from einops import array_api

    assert einops.__version__
    got = array_api.rearrange(xp.asarray(X), "a b -> (b a)")
    assert type(got) is xp.Array
    assert_allclose(np.asarray(got), X.T.reshape(-1))


def test_xarray():
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(xp.asarray(X), dims=("row", "column"))
    assert type(data.data) is xp.Array
    assert_allclose(np.asarray((data + 1).mean("row").data), X.mean(0) + 1)


def in_another_process(code: str, **environment: str) -> None:
    """Run code where a library reads its switches at import."""
    import os

    result = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:dispatch_xp", "-c", code],
        env={**os.environ, "DISPATCH_XP_BACKEND": "threads", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_scipy_with_its_array_api_switched_on():
    in_another_process(
        """
import numpy as np, scipy.signal, scipy.special, scipy.stats
import dispatch_xp as xp
x = np.linspace(0.1, 2, 30)
got = scipy.special.logsumexp(xp.asarray(x))
assert type(got) is xp.Array, type(got)
np.testing.assert_allclose(np.asarray(got), scipy.special.logsumexp(x))
got = scipy.stats.zscore(xp.asarray(x))
np.testing.assert_allclose(np.asarray(got), scipy.stats.zscore(x))
""",
        SCIPY_ARRAY_API="1",
    )


def test_scikit_learn_with_array_api_dispatch():
    pytest.importorskip("sklearn")
    in_another_process(
        """
import numpy as np, sklearn
import dispatch_xp as xp
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5)); y = X @ np.arange(5.0)
with sklearn.config_context(array_api_dispatch=True):
    for model in (PCA(2, svd_solver="full"), StandardScaler()):
        want = model.fit_transform(X)
        got = model.fit_transform(xp.asarray(X))
        assert type(got) is xp.Array, type(got)
        np.testing.assert_allclose(np.asarray(got), want, atol=1e-9)
    model = Ridge(solver="svd").fit(xp.asarray(X), xp.asarray(y))
    want = Ridge(solver="svd").fit(X, y).predict(X)
    np.testing.assert_allclose(np.asarray(model.predict(xp.asarray(X))), want, rtol=1e-8)
""",
        SCIPY_ARRAY_API="1",
    )


def test_jax_arrays_come_in_without_a_copy():
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    j = jnp.arange(5.0)
    for x in (xp.asarray(j), xp.from_dlpack(j)):
        assert np.shares_memory(np.asarray(x), np.from_dlpack(j))
        x += 1.0
    assert j.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert jnp.from_dlpack(xp.ones(3, dtype=xp.float32)).tolist() == [1.0, 1.0, 1.0]
