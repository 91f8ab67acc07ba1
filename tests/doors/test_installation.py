"""install() and uninstall() are exact inverses, and reach names that were bound before."""

from __future__ import annotations

import inspect
import pickle
import types
import warnings

import numpy as np
import pytest
import scipy.linalg
from numpy import dot as early_dot
from numpy.linalg import solve as early_solve
from scipy.linalg import svd as early_svd

import dispatch_xp
from dispatch_xp.doors import INSTALLATION
from dispatch_xp.functions import FUNCTIONS

A = np.random.default_rng(0).standard_normal((40, 40))


def held_by_a_default(a, invert=np.linalg.inv):
    return invert(a)


class HeldByAClass:
    factor = staticmethod(scipy.linalg.cholesky)


def everything():
    """Every object that a door may touch, with what it would be recognised by."""
    import importlib

    found = {}
    for path in FUNCTIONS:
        module, _, name = path.rpartition(".")
        function = getattr(importlib.import_module(module), name, None)
        beneath = getattr(function, "_implementation", function)
        code = getattr(beneath, "__code__", None)
        attributes = dict(getattr(beneath, "__dict__", {}))
        found[path] = (id(function), id(beneath), code, attributes)
    return found


def test_uninstall_is_the_inverse_of_install():
    before = everything()
    dispatch_xp.install()
    assert everything() != before
    dispatch_xp.uninstall()
    assert everything() == before


def test_install_twice_is_install_once():
    before = everything()
    dispatch_xp.install()
    once = everything()
    dispatch_xp.install()
    assert everything() == once
    dispatch_xp.uninstall()
    dispatch_xp.uninstall()
    assert everything() == before


def test_every_function_of_this_numpy_and_scipy_has_a_door():
    dispatch_xp.install()
    assert INSTALLATION.problems == {}


def test_function_objects_and_their_attributes_stay():
    functions = [np.linalg.svd, np.dot, np.sum, scipy.linalg.lstsq, scipy.linalg.svd]
    signatures = [inspect.signature(f) for f in functions if f is not np.dot]
    driver = scipy.linalg.lstsq.default_lapack_driver
    dispatch_xp.install()
    after = [np.linalg.svd, np.dot, np.sum, scipy.linalg.lstsq, scipy.linalg.svd]
    assert all(a is b for a, b in zip(functions, after, strict=True))
    assert [inspect.signature(f) for f in functions if f is not np.dot] == signatures
    assert scipy.linalg.lstsq.default_lapack_driver == driver
    assert pickle.loads(pickle.dumps(scipy.linalg.svd)) is scipy.linalg.svd
    assert scipy.linalg.svd.__doc__


@pytest.mark.parametrize(
    ("call", "function"),
    [
        (lambda: early_solve(A, A[:, 0]), "numpy.linalg.solve"),
        (lambda: early_dot(A, A), "numpy.dot"),
        (lambda: early_svd(A), "scipy.linalg.svd"),
        (lambda: held_by_a_default(A), "numpy.linalg.inv"),
        (lambda: HeldByAClass.factor(A @ A.T + 40 * np.eye(40)), "scipy.linalg.cholesky"),
        (lambda: A.sum(), "numpy._core._methods._sum"),
        (lambda: A.mean(axis=0), "numpy._core._methods._mean"),
        (lambda: np.linalg.solve(a=A, b=A[:, 0]), "numpy.linalg.solve"),
        (lambda: np.einsum("ij,jk->ik", A, A), "numpy.einsum"),
    ],
)
def test_names_bound_before_are_reached(call, function):
    want = call()
    with dispatch_xp.backend("reference"), dispatch_xp.record() as rec:
        got = call()
    assert function in [r.function for r in rec.records]
    np.testing.assert_equal(got, want)


def test_outside_of_a_context_an_installed_door_records_and_routes_nothing(monkeypatch):
    from dispatch_xp import router

    dispatch_xp.install()
    monkeypatch.setattr(router, "decide", lambda *a: pytest.fail("routed"))
    np.testing.assert_allclose(early_solve(A, A), np.eye(40), atol=1e-9)
    assert early_dot(A, A).shape == (40, 40)


def test_a_dispatcher_of_an_unknown_layout_keeps_its_function_and_the_code_is_exchanged(
    monkeypatch,
):
    from dispatch_xp.doors import dispatcher

    def unknown(*_):
        raise RuntimeError("unknown layout")

    before = everything()
    monkeypatch.setattr(dispatcher, "_slot", unknown)
    dispatch_xp.install()
    # of C functions there is no code to exchange
    assert set(INSTALLATION.problems) == {"numpy.dot", "numpy.inner", "numpy.vdot"}
    want = np.linalg.solve(A, A[:, 0])
    with dispatch_xp.backend("reference"), dispatch_xp.record() as rec:
        got = early_solve(A, A[:, 0])
    np.testing.assert_equal(got, want)
    assert [r.function for r in rec.records] == ["numpy.linalg.solve"]
    dispatch_xp.uninstall()
    assert everything() == before


def test_code_that_somebody_exchanged_after_us_stays_theirs():
    function = scipy.linalg.polar
    original = function.__code__
    dispatch_xp.install()

    def theirs(*args, **kwargs):
        return "theirs"

    freevars = function.__code__.co_freevars
    function.__code__ = theirs.__code__.replace(co_freevars=freevars)
    try:
        dispatch_xp.uninstall()
        assert function(A) == "theirs"
    finally:
        function.__code__ = original


def test_a_failing_install_leaves_nothing_behind(monkeypatch):
    before = everything()
    monkeypatch.setattr(
        INSTALLATION.ufuncs, "install", lambda: (_ for _ in ()).throw(OSError("no"))
    )
    with pytest.raises(OSError, match="no"):
        dispatch_xp.install()
    assert everything() == before
    assert not INSTALLATION.installed


def test_an_unknown_dispatcher_is_left_alone(monkeypatch):
    from dispatch_xp.doors import dispatcher

    monkeypatch.setattr(dispatcher, "_slot", lambda *a: (_ for _ in ()).throw(RuntimeError("odd")))
    dispatch_xp.install()
    assert INSTALLATION.problems == {f"numpy.{name}": "odd" for name in ("dot", "inner", "vdot")}
    assert np.dot(2.0, 3.0) == 6.0


def test_a_warning_of_the_reference_points_at_the_users_line():
    a = np.array([[1.0, 1.0], [1.0, 1.0 + 2.3e-16]])

    def located():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scipy.linalg.solve(a, np.ones(2))
        return [(w.category, str(w.message), w.filename, w.lineno) for w in caught]

    want = located()
    assert len(want) == 1
    assert want[0][2] == __file__
    dispatch_xp.install()
    assert located() == want
    with dispatch_xp.backend("reference"), dispatch_xp.record():
        assert located() == want


def test_doors_are_functions_of_the_same_kind():
    dispatch_xp.install()
    assert isinstance(scipy.linalg.inv, types.FunctionType)
    assert type(np.dot) is type(np.sum)
