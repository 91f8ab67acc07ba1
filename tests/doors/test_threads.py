"""Many threads at once, each under its own choice: every answer right, no standstill, no leak.

``SOAK_SECONDS`` lengthens the test.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import random
import sys
import threading
import traceback
from collections import Counter
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
import scipy.fft
import scipy.linalg

import dispatch_xp
from dispatch_xp import backends
from dispatch_xp.errors import BackendUnavailable

SECONDS = float(os.environ.get("SOAK_SECONDS", "3"))
THREADS = 16
# what a run may add, for good, to what the process holds after the warm-up
ALLOWANCE = 100e6

RNG = np.random.default_rng(0)
SQUARE = RNG.standard_normal((48, 48)) + 48 * np.eye(48)
STACK = RNG.standard_normal((12, 20, 20)) + 20 * np.eye(20)
RIGHT = RNG.standard_normal((48, 3))
VECTOR = RNG.uniform(0.5, 1.5, 6000)
WAVES = RNG.standard_normal((16, 128)) + 1j * RNG.standard_normal((16, 128))


def _singular_values(a):
    return np.linalg.svd(a)[1]


def _product_of_svd(a):
    u, s, vh = np.linalg.svd(a)
    return (u * s[..., None, :]) @ vh


def _in_place():
    x = VECTOR.copy()
    x += VECTOR
    np.exp(x, out=x)
    return x


JOBS = {
    "matmul": lambda: SQUARE @ SQUARE,
    "matmul of a stack": lambda: STACK @ STACK,
    "dot": lambda: np.dot(SQUARE, RIGHT),
    "exp": lambda: np.exp(VECTOR),
    "add": lambda: VECTOR + VECTOR,
    "add in single precision": lambda: np.add(VECTOR, VECTOR, dtype="f4"),
    "out": lambda: np.multiply(VECTOR, 3.0, out=np.empty(6000)),
    "in place": _in_place,
    "solve": lambda: np.linalg.solve(SQUARE, RIGHT),
    "scipy solve": lambda: scipy.linalg.solve(SQUARE, RIGHT),
    "inv of a stack": lambda: np.linalg.inv(STACK),
    "singular values": lambda: _singular_values(STACK),
    "svd": lambda: _product_of_svd(SQUARE),
    "fft": lambda: np.fft.fft(WAVES),
    "scipy fft": lambda: scipy.fft.fft2(WAVES),
    "sum": lambda: np.sum(VECTOR),
    "method": lambda: VECTOR.reshape(60, 100).mean(axis=1),
    "reduce": lambda: np.add.reduce(VECTOR),
    "reduce rows": lambda: np.maximum.reduce(VECTOR.reshape(3, 2000), axis=1),
    "sort": lambda: np.sort(VECTOR.reshape(60, 100), axis=1),
}


def _choices():
    """Return the contexts that threads work in, by name."""
    threads = backends.get("threads")
    found = {
        "none": contextlib.nullcontext,
        "threads": lambda: dispatch_xp.backend("threads", fallback="raise"),
    }
    names = ["threads"]
    with contextlib.suppress(BackendUnavailable):
        if backends.get("torch").probe().available:
            backends.get("torch").start()
            names.append("torch")
            found["torch"] = lambda: dispatch_xp.backend("torch", fallback="raise")
    found["random"] = lambda: dispatch_xp.backend(
        "auto", policy="random", backends=names, fallback="raise"
    )
    assert threads.probe().available
    return found


class Crowd:
    """Threads that compute until a time, and what they found."""

    def __init__(self, choices, wanted):
        self.choices = choices
        self.wanted = wanted
        self.wrong: list[str] = []
        self.ran: Counter[tuple[str, str]] = Counter()
        self.jobs = 0
        self._lock = threading.Lock()

    def work(self, seconds):
        """Let all threads work for so long; fail if one does not come back."""
        names = [*self.choices] * THREADS
        end = monotonic() + seconds
        threads = [
            threading.Thread(target=self._work, args=(names[i], i, end), daemon=True)
            for i in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        late = monotonic() + seconds + 60
        for thread in threads:
            thread.join(max(late - monotonic(), 0.01))
        if any(thread.is_alive() for thread in threads):
            faulthandler.dump_traceback(file=sys.__stderr__, all_threads=True)
            pytest.fail("a thread stands still; the stacks are on standard error")

    def _work(self, choice, seed, end):
        rng = random.Random(seed)
        try:
            while monotonic() < end and not self.wrong:
                # contexts come and go all the time; some are watched
                names = rng.choices([*JOBS], k=5)
                with self.choices[choice](), self._watched(choice, rng.random() < 0.5):
                    results = [JOBS[name]() for name in names]
                for name, got in zip(names, results, strict=True):
                    self._check(choice, name, got)
        except BaseException:
            self.wrong.append(f"under {choice}: {traceback.format_exc()}")

    def _check(self, choice, name, got):
        want = self.wanted[name]
        scale = np.abs(want).max()
        tolerance = 1e-4 if want.dtype == "f4" else 1e-10
        if got.dtype != want.dtype or not np.allclose(got, want, rtol=0, atol=tolerance * scale):
            self.wrong.append(f"{name} under {choice}")
        with self._lock:
            self.jobs += 1

    @contextlib.contextmanager
    def _watched(self, choice, watched):
        if not watched:
            yield
            return
        with dispatch_xp.record() as record:
            yield
        with self._lock:
            self.ran.update((choice, r.backend) for r in record.records)


def resident():
    """Return the bytes of memory that the process holds, or None where nobody says."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_threads_do_not_disturb_each_other(monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda u: reported.append(repr(u.exc_value)))
    threads = backends.get("threads")
    if threads._workers < 2:
        monkeypatch.setattr(threads, "_workers", 2)
    crowd = Crowd(_choices(), {name: np.asarray(job()) for name, job in JOBS.items()})
    crowd.work(min(SECONDS, 5.0))
    before = resident()
    crowd.work(SECONDS)
    after = resident()
    assert crowd.wrong == []
    assert reported == []
    # they did what their names say: forced to a backend, drawn by chance, or left alone
    for choice in crowd.choices:
        ran = {backend for chosen, backend in crowd.ran if chosen == choice}
        if choice == "none":
            assert ran == {"reference"}
        elif choice == "random":
            assert {"reference", "threads"} <= ran
        else:
            assert choice in ran
    if before is not None and after is not None:
        assert after - before < ALLOWANCE
    print(f"{crowd.jobs} calls, {(after or 0) - (before or 0):+d} bytes, {dict(crowd.ran)}")
