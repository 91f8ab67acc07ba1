"""Backends that never run anything, and profiles with round figures."""

from __future__ import annotations

import numpy as np
import pytest

from dispatch_xp.backends import Backend
from dispatch_xp.backends.interface import Availability
from dispatch_xp.call import Call
from dispatch_xp.curve import Point
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.profile import BackendProfile, Machine, Profile


def backend_class(name, *, started=True, own_memory=False, modules=()):
    class Fake(Backend):
        shares_host_memory = not own_memory

        def probe(self):
            return Availability(True)

        def operations(self):
            return frozenset(OPERATIONS)

        def start(self):
            self.started = True

        def run(self, call, arrays):
            raise NotImplementedError

    Fake.name = name
    Fake.modules = modules
    Fake.started = started
    return Fake


@pytest.fixture
def fake():
    return lambda name, **how: backend_class(name, **how)()


@pytest.fixture
def exp():
    """A call of ``exp``: one operation an element."""

    def make(n, dtype="float64", *, arrays=True):
        values = np.broadcast_to(np.ones(1, dtype=dtype), (n,))
        given = (values,) if arrays else ()
        return Call(OPERATIONS["exp"], np.dtype(dtype), ((n,),), {}, given)

    return make


@pytest.fixture
def profile_of():
    """A profile of ``exp`` with constant seconds an element, by backend."""

    def make(dtype="float64", *, backends=None, sizes=(10**3, 10**4, 10**5, 10**6), **rates):
        curves = {
            name: [Point(float(n), n * seconds, n) for n in sizes]
            for name, seconds in rates.items()
        }
        figures = {name: BackendProfile() for name in rates} | (backends or {})
        points = {"exp": {"vector": {dtype: curves}}}
        return Profile(Machine("fake", "fake", 2), points, figures)

    return make
