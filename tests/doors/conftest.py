"""Exchanged loops for tests."""

from __future__ import annotations

import numpy as np
import pytest

DOUBLE = np.dtype(np.float64).num


@pytest.fixture
def door():
    """Install loops that are offered from a limit on; everything is put back at the end."""
    loops = pytest.importorskip("dispatch_xp._ufunc_loops", exc_type=ImportError)
    slots = []

    def install(ufunc, types=(DOUBLE, DOUBLE), limit=0.0):
        slots.append(loops.install(ufunc, types))
        limits = np.full(max(slots) + 1, np.inf)
        limits[slots] = limit
        loops.set_limits(limits)
        return slots[-1]

    yield install
    loops.set_handler(None)
    loops.set_clock(None)
    for slot in slots:
        loops.uninstall(slot)
