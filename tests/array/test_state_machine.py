"""Chains of creation, arithmetic, indexing, assignment and pinning, next to plain ndarrays."""

from __future__ import annotations

import copy
import os
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    rule,
    run_state_machine_as_test,
)

import dispatch_xp as xp
from dispatch_xp.array.routed import LIMITS
from dispatch_xp.errors import BackendError
from dispatch_xp.health import Health
from dispatch_xp.residency import LEDGER

DTYPES = ("float64", "float32", "int64", "complex128")
VALUES = st.integers(-4, 4)
SHAPES = st.sampled_from([(), (3,), (4,), (2, 3), (3, 3), (0,), (1, 4)])
BINARY = ("add", "subtract", "multiply", "maximum", "less", "equal")
UNARY = ("negative", "exp", "square", "abs", "isfinite")


class Chains(RuleBasedStateMachine):
    """Every `Array` has a twin, an ndarray that owns its memory."""

    arrays = Bundle("arrays")

    @initialize(target=arrays, dtype=st.sampled_from(DTYPES))
    def first(self, dtype):
        FAILURES.update(copy_in=0, run=0)
        values = np.arange(3).astype(dtype)
        return xp.asarray(values, copy=True), values

    @rule(target=arrays, shape=SHAPES, dtype=st.sampled_from(DTYPES), seed=VALUES)
    def make(self, shape, dtype, seed):
        values = np.arange(seed, seed + np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        return xp.asarray(values), values.copy()

    @rule(target=arrays, pair=arrays, name=st.sampled_from(UNARY))
    def unary(self, pair, name):
        return self.both(name, pair)

    @rule(target=arrays, a=arrays, b=arrays, name=st.sampled_from(BINARY))
    def binary(self, a, b, name):
        return self.both(name, a, b)

    def both(self, name, *pairs):
        """Call both, or find that both refuse in the same way."""
        arrays, twins = zip(*pairs, strict=True)
        if len({x.device for x in arrays} - {"auto"}) > 1:
            with pytest.raises(ValueError, match="pinned to"):
                getattr(xp, name)(*arrays)
            return multiple()
        try:
            want = np.array(getattr(np, name)(*twins))
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                getattr(xp, name)(*arrays)
            return multiple()
        return getattr(xp, name)(*arrays), want

    @rule(target=arrays, pair=arrays, number=VALUES)
    def scalar(self, pair, number):
        return number * pair[0], np.array(number * pair[1])

    @rule(target=arrays, pair=arrays)
    def part(self, pair):
        x, twin = pair
        if twin.ndim == 0:
            return multiple()
        return x[1:], twin[1:].copy()

    @rule(target=arrays, pair=arrays)
    def turned(self, pair):
        x, twin = pair
        if twin.ndim < 2:
            return xp.reshape(x, (-1,)), twin.reshape(-1).copy()
        return x.mT, np.swapaxes(twin, -1, -2).copy()

    @rule(pair=arrays, number=VALUES)
    def write_all(self, pair, number):
        x, twin = pair
        x[...] = number
        twin[...] = number

    @rule(pair=arrays, number=VALUES)
    def write_first(self, pair, number):
        x, twin = pair
        if twin.ndim and len(twin):
            x[0] = number
            twin[0] = number

    @rule(pair=arrays, number=VALUES)
    def in_place(self, pair, number):
        x, twin = pair
        if twin.dtype.kind == "b":
            return
        x += number
        twin += number

    @rule(pair=arrays)
    def shifted_onto_itself(self, pair):
        x, twin = pair
        if twin.ndim and len(twin) > 1:
            x[1:] = x[:-1]
            twin[1:] = twin[:-1].copy()

    @rule(pair=arrays)
    def through_numpy(self, pair):
        x, twin = pair
        if twin.dtype.kind != "b":
            np.add(x, 1, out=x)
            np.add(twin, 1, out=twin)

    @rule(
        target=arrays, pair=arrays, how=st.sampled_from(["pickle", "copy", "deepcopy", "asarray"])
    )
    def copied(self, pair, how):
        x, twin = pair
        ways = {
            "pickle": lambda: pickle.loads(pickle.dumps(x)),
            "copy": lambda: copy.copy(x),
            "deepcopy": lambda: copy.deepcopy(x),
            "asarray": lambda: xp.asarray(x, copy=True),
        }
        return ways[how](), twin.copy()

    @rule(target=arrays, pair=consumes(arrays), device=st.sampled_from(["cpu", "auto", "sycl:0"]))
    def pinned(self, pair, device):
        if device not in xp.__array_namespace_info__().devices():
            return multiple(pair)
        try:
            moved = pair[0].to_device(device)
        except BackendError:
            return multiple(pair)
        assert moved.device == device
        return moved, pair[1]

    @rule(target=arrays, a=arrays)
    def reduced(self, a):
        x, twin = a
        if twin.ndim < 2 or twin.dtype.kind == "b":
            return multiple()
        return xp.sum(x, axis=0), np.sum(twin, axis=0)

    @rule(target=arrays, a=arrays)
    def multiplied(self, a):
        x, twin = a
        if twin.ndim < 2 or twin.dtype.kind not in "fc":
            return multiple()
        return x @ x.mT, twin @ twin.swapaxes(-1, -2)

    @rule(how=st.sampled_from(["copy_in", "run"]), times=st.integers(1, 4))
    def device_fails(self, how, times):
        FAILURES[how] = times

    @rule(nbytes=st.sampled_from([0, 64, 1 << 40]))
    def memory_is_short(self, nbytes):
        LEDGER.give_back("dpnp", nbytes)

    @rule(pair=arrays)
    def read(self, pair):
        x, twin = pair
        assert (x.shape, x.dtype) == (twin.shape, twin.dtype)
        np.testing.assert_allclose(np.asarray(x), twin, rtol=1e-6)


FAILURES = {"copy_in": 0, "run": 0}
CALLS = {"copy_in": 0, "run": 0}


def failing(backend, monkeypatch):
    """Let a backend fail as often as :data:`FAILURES` says, and forgive it at once."""

    def method(name, original):
        def call(*args):
            CALLS[name] += 1
            if FAILURES[name]:
                FAILURES[name] -= 1
                raise OSError("injected")
            return original(*args)

        return call

    for name in FAILURES:
        FAILURES[name] = 0
        monkeypatch.setattr(backend, name, method(name, getattr(backend, name)))
    monkeypatch.setattr(Health, "refusal", lambda self, backend, call: "")


@pytest.mark.parametrize("policy", ["reference", "random", "dpnp"])
def test_an_array_never_differs_from_an_ndarray(policy, monkeypatch, started):
    if policy == "dpnp":
        failing(started("dpnp"), monkeypatch)
        monkeypatch.setitem(os.environ, "DISPATCH_XP_BACKENDS", "dpnp,threads")
    monkeypatch.setitem(os.environ, "DISPATCH_XP_BACKEND", "auto")
    monkeypatch.setitem(os.environ, "DISPATCH_XP_POLICY", "random" if policy == "dpnp" else policy)
    LIMITS.forget()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_state_machine_as_test(
            Chains, settings=settings(max_examples=300, stateful_step_count=40, deadline=None)
        )
    assert policy != "dpnp" or min(CALLS.values()) > 100
