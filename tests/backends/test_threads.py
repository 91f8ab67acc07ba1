"""The threads backend: what is handed to other threads, and what is not worth it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import dispatch_xp
from dispatch_xp.backends import get


@pytest.fixture
def where(monkeypatch):
    """The threads in which the parts of a call ran."""
    backend = get("threads")
    monkeypatch.setattr(backend, "_workers", 4)
    monkeypatch.setattr(backend, "_pool", None)
    seen = []

    def observing(each):
        def observed(n, part):
            def seen_part(s):
                seen.append(threading.get_ident())
                part(s)

            each(n, seen_part)

        return observed

    for name in ("_in_turn", "_at_once"):
        monkeypatch.setattr(backend, name, observing(getattr(backend, name)))
    yield seen
    if backend._pool is not None:
        backend._pool.shutdown()


CALLS = {
    "exp": lambda x: np.exp(x),
    "sum of all": lambda x: np.sum(x),
    "sum along an axis": lambda x: np.sum(x, axis=0),
    "sort": lambda x: np.sort(x.reshape(8, -1), axis=1),
    "outer": lambda x: np.outer(x.ravel()[:8], x),
    "matmul": lambda x: x.reshape(8, 2, -1) @ x.reshape(8, -1, 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_small_call_is_split_in_the_calling_thread(name, where):
    x = np.random.default_rng(0).standard_normal((8, 16))
    want = CALLS[name](x)
    with dispatch_xp.backend("threads", fallback="raise"):
        got = CALLS[name](x)
    assert len(where) > 1
    assert set(where) == {threading.get_ident()}
    np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("name", CALLS)
def test_a_large_call_is_split_over_several(name, where):
    x = np.random.default_rng(0).standard_normal((512, 64))
    want = CALLS[name](x)
    with dispatch_xp.backend("threads", fallback="raise"):
        got = CALLS[name](x)
    assert len(set(where)) > 1
    np.testing.assert_allclose(got, want, rtol=1e-11)
