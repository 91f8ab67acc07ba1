"""Ufuncs: their inner loops are exchanged, for ``np.exp(x)``, ``a @ b``, ``x + y`` alike.

A loop is given raw memory; what is routed is written straight into the output, or made elsewhere
and copied where the output is an input too. A loop smaller than its limit runs as if nobody stood
in between. Needs the compiled part of the package.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from dispatch_xp.backends.interface import Backend
from dispatch_xp.call import Call
from dispatch_xp.decision import REFERENCE, Decision, stay
from dispatch_xp.doors.loops import Loop, Reduction, exchanged
from dispatch_xp.observer import Ended
from dispatch_xp.reasons import Reason
from dispatch_xp.router import decide, run
from dispatch_xp.state import CURRENT, PROCESS, QUIET, State

loops: Any
PROBLEM = ""
try:
    loops = import_module("dispatch_xp._ufunc_loops")
except ImportError as error:  # no compiler when the package was installed
    loops = None
    PROBLEM = f"the compiled part is missing ({error}): install a C compiler and reinstall"

__all__ = ["PROBLEM", "UfuncDoor"]

_RECORDED = 1024.0
_ROW = 1024.0


class _Timed(threading.local):
    """What the loop that this thread is in will be reported as; one at a time, they don't nest."""

    loop: tuple[State, str, Call, Decision, str, Any, float, float] | None = None


class UfuncDoor:
    """The exchanged loops of a process."""

    def __init__(self) -> None:
        self._slots: dict[int, Loop] = {}
        self._reductions: dict[int, Reduction] = {}
        self._active: list[State] = []
        # the state of all that is active, if they agree: its answers hold for every thread
        self._only: State | None = None
        # what was active last, since the same is often entered again
        self._last: list[State] = []
        self._limits = self._reduction_limits = np.empty(0)
        self._lock = threading.Lock()
        self._timed = _Timed()
        # told of the active states when they change
        self.watchers: list[Callable[[list[State]], None]] = []

    def install(self) -> None:
        """Exchange the loops."""
        if loops is None or self._slots:
            return
        for ufunc, types, loop in exchanged():
            slot = loops.install(ufunc, types)
            self._slots[slot] = loop
            reduction = loop.reduction()
            if reduction is not None:
                self._reductions[slot] = reduction
        loops.set_handler(self._handle)
        loops.set_clock(self._clock)
        self._set_limits()

    def uninstall(self) -> None:
        """Put the original loops back."""
        if loops is None:
            return
        for slot in self._slots:
            loops.uninstall(slot)
        self._slots.clear()
        self._reductions.clear()
        self._last = []
        loops.set_handler(None)
        loops.set_clock(None)

    @property
    def installed(self) -> int:
        """How many loops are exchanged."""
        return len(self._slots)

    def enter(self, state: State) -> None:
        """Let the calls that a state is interested in come through."""
        with self._lock:
            self._active.append(state)
            self._set_limits()

    def leave(self, state: State) -> None:
        """Take a state's interest away."""
        with self._lock:
            self._active.remove(state)
            self._set_limits()

    def _set_limits(self) -> None:
        """Give every loop the smallest limit that any active state wants."""
        states = list({id(s): s for s in self._active}.values())
        for watcher in self.watchers:
            watcher(states)
        if loops is None or not self._slots:
            return
        self._only = states[0] if len(states) == 1 else None
        if not states:
            loops.set_limits(np.full(max(self._slots) + 1, np.inf))
            return
        if states != self._last:
            self._limits = self._smallest(states, self._slots)
            self._reduction_limits = self._smallest(states, self._reductions)
            self._last = states
            loops.forget()
        loops.set_limits(self._limits, self._reduction_limits)

    def _smallest(
        self, states: list[State], known: Mapping[int, Loop | Reduction]
    ) -> npt.NDArray[np.float64]:
        """Return the smallest limit that a state wants, slot by slot."""
        limits = np.full(max(self._slots) + 1, np.inf)
        for state in states:
            for slot, loop in known.items():
                limits[slot] = min(limits[slot], self._limit(state, loop))
        return limits

    @staticmethod
    def _limit(state: State, loop: Loop | Reduction) -> float:
        reduces = isinstance(loop, Reduction)
        key = f"reduction {loop.operation.name}" if reduces else f"ufunc {loop.operation.name}"
        limit = dict.get(state.limits, key)
        if limit is None:
            limit = state.operation_limit(loop.operation)
            if state.exhaustive:
                limit = min(limit, _RECORDED)
            # a loop without dimensions is not worth a handler, whatever the policy; nor is each row
            # of a matrix that is reduced row by row
            if reduces or not state.exhaustive:
                limit = max(limit, _ROW if reduces else 2.0)
            state.limits[key] = limit
        return limit

    def _handle(self, slot: int, arrays: tuple[Any, ...]) -> bool | int | None:
        """Route one loop; True if the output has been written.

        A whole number if not: for so many loops of these dimensions the answer stands. None if
        the original loop is to be timed.
        """
        state = CURRENT.get()
        if state is None:
            state = PROCESS.default
        if state is None or state is QUIET:
            return False
        # of a reduction there are two arrays, and only binary ufuncs have them
        reduction = self._reductions.get(slot) if len(arrays) == 2 else None
        loop = self._slots.get(slot) if reduction is None else reduction
        if loop is None or max(a.size for a in arrays) < self._limit(state, loop):
            return False
        token = CURRENT.set(QUIET)
        began = perf_counter() if state.exhaustive else 0.0
        try:
            call = loop.call(arrays)
            if call is None:
                return False
            decision, backend = decide(state, call)
            note = ""
            if backend is not None:
                tried = _routed(state, loop, arrays, call, decision, backend)
                if tried is None:
                    return True
                decision, note = tried
            if state.exhaustive or (note and state.observer is not None):
                now = perf_counter()
                before = now - began if began else 0.0
                output = arrays[-1]
                self._timed.loop = (state, loop.path, call, decision, note, output, now, before)
                return None
            if state.observer is not None:
                ended = Ended(loop.path, call, decision, REFERENCE, float("nan"), note)
                state.observer.add(ended)
            if decision.standing is not None and not state.exhaustive and self._only is state:
                return decision.standing.hand_over()
            return False
        finally:
            CURRENT.reset(token)

    def _clock(self, slot: int) -> None:
        """Report the original loop that has ended in this thread."""
        now = perf_counter()
        # the arrays are there until this returns, and nobody may keep them
        loop, self._timed.loop = self._timed.loop, None
        if loop is None:
            return
        state, path, call, decision, note, output, started, before = loop
        seconds = now - started
        token = CURRENT.set(QUIET)
        try:
            if state.policy is not None:
                state.policy.observe(call, REFERENCE, seconds)
            if state.observer is not None:
                ended = Ended(path, call, decision, REFERENCE, seconds, note, output, before)
                state.observer.add(ended)
        finally:
            CURRENT.reset(token)


def _routed(
    state: State,
    loop: Loop | Reduction,
    arrays: tuple[Any, ...],
    call: Call,
    decision: Decision,
    backend: Backend,
) -> tuple[Decision, str] | None:
    """Run a loop on a backend; None if that wrote the output, else why the original has to."""
    if state.settings.verify:
        _verified(state, loop.path, call, backend)
        return decision, ""
    started = perf_counter()
    results = run(state, backend, call, loop.path)
    if not isinstance(results, Decision):
        try:
            value = loop.unwritten(call, arrays, results)
        except FloatingPointError:
            results = stay(Reason.NON_FINITE_RESULT, backend.name)
        else:
            if value is not None:
                # not before: until now the original could have run, and now it can't any more
                loops.write(arrays[-1], value)
    seconds = perf_counter() - started
    if isinstance(results, Decision):
        failed = decision.ended(results.reason, results.detail)
        return failed, f"{backend.name} tried first"
    if state.policy is not None:
        state.policy.observe(call, backend.name, seconds)
    if state.observer is not None:
        ended = Ended(loop.path, call, decision, backend.name, seconds, "", arrays[-1])
        state.observer.add(ended)
    return None


def _verified(state: State, path: str, call: Call, backend: Backend) -> None:
    """Compare in memory of our own; the original loop writes the output."""
    from dispatch_xp.verify import compare

    elsewhere = call
    if call.destination is not None:
        (output,) = call.destination
        elsewhere = replace(call, destination=(np.empty(output.shape, dtype=output.dtype),))
    results = run(state, backend, elsewhere, path)
    if not isinstance(results, Decision) and state.observer is not None:
        with np.errstate(all="ignore"):
            reference = getattr(np, call.operation.numpy.removeprefix("numpy."))
            want = np.asarray(reference(*call.arrays))
        routed = (backend.name, results, results[0])
        state.observer.compared(call.operation.name, compare(call, routed, want))
