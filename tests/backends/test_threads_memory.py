"""The threads backend lets go of the caller's memory before it returns."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dispatch_xp.backends.threads import ThreadsBackend
from dispatch_xp.call import Call
from dispatch_xp.errors import Unsupported
from dispatch_xp.operations import OPERATIONS


class Keeping(ThreadPoolExecutor):
    """Holds on to what it was given and to the futures, as a worker does for a moment."""

    def __init__(self):
        super().__init__(1)
        self.kept = []

    def submit(self, function, /, *args, **kwargs):
        future = super().submit(function, *args, **kwargs)
        self.kept.append((args, future))
        return future


@pytest.mark.parametrize("last", [1.0, -1.0])
def test_a_worker_keeps_no_array(last):
    backend = ThreadsBackend()
    backend._workers = 2
    with Keeping() as backend._pool:
        x = np.ones(10_000)  # a small call is not split over threads
        x[-1] = last
        gone = weakref.ref(x)
        call = Call(OPERATIONS["log"], x.dtype, (x.shape,), arrays=(x,))
        if last < 0:
            # the flag is raised in the worker's part
            with pytest.raises(Unsupported, match="invalid"):
                backend.run(call, (x,))
        else:
            backend.run(call, (x,))
        assert backend._pool.kept
        del x, call
        assert gone() is None
