"""The router: a call goes to the backend that the policy chooses, with the reference behind it.

A door calls :func:`consider`. It gets None (the call is none of our business), or an
:class:`Outcome`: finished, or a reference call that the door makes itself, so that warnings and
tracebacks look as if nobody stood in between::

    outcome = consider(state, function, args, kwargs)
    if outcome is not None:
        if outcome.done:
            return outcome.result
        with outcome:
            return outcome.finish(reference(*args, **kwargs))
    return reference(*args, **kwargs)
"""

from __future__ import annotations

import warnings
from contextvars import Token
from dataclasses import replace
from time import perf_counter
from types import TracebackType
from typing import Any

import numpy as np

from dispatch_xp import process
from dispatch_xp.backends.interface import Backend, Memory
from dispatch_xp.call import Call
from dispatch_xp.decision import REFERENCE, Decision, stay
from dispatch_xp.errors import BackendError, BackendUnavailable, BackendWarning, Unsupported
from dispatch_xp.execution import Phase, execute
from dispatch_xp.finite import all_finite
from dispatch_xp.functions.function import Function, Request, Results
from dispatch_xp.levels import LEVELS
from dispatch_xp.observer import Ended
from dispatch_xp.reasons import Reason
from dispatch_xp.residency import LEDGER, Holder, Resident
from dispatch_xp.state import CURRENT, QUIET, State

__all__ = ["Outcome", "consider", "decide", "make_room", "run"]

# seconds that a question may wait to hear how busy a device is
_PATIENCE = 1.0


class Outcome:
    """What the router made of a call: a result, or the decision to call the reference."""

    __slots__ = (
        "_began",
        "_routed",
        "_started",
        "_state",
        "_token",
        "call",
        "decision",
        "done",
        "function",
        "note",
        "result",
    )

    def __init__(
        self,
        state: State,
        function: str,
        call: Call | None,
        decision: Decision,
        note: str = "",
        *,
        began: float,
    ) -> None:
        self._state = state
        self.function = function
        self.call = call
        self.decision = decision
        self.note = note
        self.done = False
        self.result: Any = None
        self._routed: Any = None
        self._token: Token[Any] | None = None
        self._began = self._started = began

    def __enter__(self) -> Outcome:
        self._token = CURRENT.set(QUIET)
        self._started = perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        seconds = perf_counter() - self._started
        assert self._token is not None
        CURRENT.reset(self._token)
        state, call = self._state, self.call
        if kind is None and call is not None and state.policy is not None:
            state.policy.observe(call, REFERENCE, seconds)
        if state.observer is not None:
            said, got, before = self.note, self.result, self._started - self._began
            state.observer.add(
                Ended(self.function, call, self.decision, REFERENCE, seconds, said, got, before)
            )

    def finish(self, result: Any) -> Any:
        """Return the reference's result, after comparing it where that was asked for."""
        self.result = result
        if self._routed is not None and self.call is not None:
            from dispatch_xp.verify import compare

            comparison = compare(self.call, self._routed, result)
            if self._state.observer is not None:
                self._state.observer.compared(self.call.operation.name, comparison)
        elif self.decision.reason is Reason.INVALID and self._state.settings.fallback == "raise":
            raise BackendError(
                f"{self.function}: the reference accepted arguments that were taken for invalid "
                f"({self.decision.detail}); please report this"
            )
        return result


def consider(
    state: State, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Outcome:
    """Decide about a user's call, and run it unless it stays on the reference.

    Parameters
    ----------
    state : State
        The active state.
    function : Function
        What the user called.
    args, kwargs
        As the user gave them.

    Returns
    -------
    Outcome
        Done, or to be finished by the caller with the reference.
    """
    token = CURRENT.set(QUIET)
    started = perf_counter()
    try:
        request = _bind(function, args, kwargs)
        if isinstance(request, Decision):
            return Outcome(state, function.path, None, request, began=started)
        call = request.call
        if state.settings.precision == "native" and request.native not in (None, call.dtype):
            call = replace(call, dtype=request.native)
        decision, backend = decide(state, call)
        if backend is None:
            return Outcome(state, function.path, call, decision, began=started)
        results = run(state, backend, call, function.path)
        if not isinstance(results, Decision):
            finished = _finish(state, backend, request, results, function.path)
            if not isinstance(finished, Decision):
                outcome = Outcome(state, function.path, call, decision, began=started)
                seconds = perf_counter() - started
                if state.policy is not None:
                    state.policy.observe(call, backend.name, seconds)
                if state.settings.verify:
                    outcome._routed = (backend.name, results, finished)
                    return outcome
                if request.out is not None:
                    # last, and not before the reference: it may be an argument's memory too
                    np.copyto(request.out, finished)
                    finished = request.out
                if state.observer is not None:
                    path, name = function.path, backend.name
                    state.observer.add(Ended(path, call, decision, name, seconds, "", finished))
                outcome.done, outcome.result = True, finished
                return outcome
            results = finished
        note = f"{backend.name} tried first"
        failed = decision.ended(results.reason, results.detail)
        return Outcome(state, function.path, call, failed, note, began=started)
    finally:
        CURRENT.reset(token)


def _bind(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Request | Decision:
    try:
        return function.bind(*args, **kwargs)
    except Unsupported as refusal:
        return stay(refusal.reason, refusal.detail)
    except Exception as error:
        # most often the arguments are wrong, and the reference says it better; where it accepts
        # them, the mistake is ours, and Outcome.finish tells those who asked to be told
        return stay(Reason.INVALID, f"{type(error).__name__}: {error}")


def _finish(
    state: State, backend: Backend, request: Request, results: Results, function: str
) -> Any:
    try:
        return request.finish(results)
    except Unsupported as refusal:
        return stay(refusal.reason, refusal.detail)
    except Exception as error:
        state.health.failed(backend.name, request.call)
        detail = f"finish: {type(error).__name__}: {error}"
        return _failed(state, backend, function, detail, error)


def decide(state: State, call: Call) -> tuple[Decision, Backend | None]:
    """Choose where a call runs.

    Returns
    -------
    Decision
        With the reason.
    Backend or None
        The chosen backend; None for the reference.
    """
    if state.policy is None:
        return stay(Reason.INACTIVE), None
    pinned = state.settings.operations.get(call.operation.name)
    if pinned is not None and pinned.backend == REFERENCE:
        return stay(Reason.PINNED, f"operations.{call.operation.name}"), None
    having = state.having(call.operation.name)
    if pinned is not None:
        having = tuple(b for b in having if b.name == pinned.backend)
    if pinned is None and state.settings.backend == REFERENCE:
        return stay(Reason.REFERENCE_POLICY), None
    if not having:
        return stay(Reason.NO_BACKEND, call.operation.name), None
    candidates, refusal = _candidates(state, call, having)
    if not candidates:
        return refusal, None
    if call.arrays and not _flags_are_quiet():
        return stay(Reason.ERRSTATE), None
    if pinned is not None:
        return Decision(candidates[0].name, Reason.PINNED), candidates[0]
    decision = state.policy.choose(call, candidates)
    if decision.backend == REFERENCE:
        return decision, None
    backend = next(b for b in candidates if b.name == decision.backend)
    if call.operation.finite and not _is_finite(call):
        return stay(Reason.NON_FINITE_INPUT), None
    return decision, backend


def _is_finite(call: Call) -> bool:
    """Whether all arguments are finite, looked at where they are."""
    if not call.owners:
        return all(all_finite(a) for a in call.arrays)
    for array, owner in zip(call.arrays, call.owners, strict=True):
        away = None if owner is None or not owner._stale else owner._away
        if away is None:
            # memory may have been exchanged since, by another thread
            finite = all_finite(array if owner is None else owner._host)
        else:
            resident = next(iter(away.values()))
            finite = resident.backend.all_finite(resident.value)
        if not finite:
            return False
    return True


def _candidates(
    state: State, call: Call, having: tuple[Backend, ...]
) -> tuple[list[Backend], Decision]:
    candidates: list[Backend] = []
    reasons: list[Reason] = []
    details: list[str] = []
    for backend in having:
        reason, why = _obstacle(state, backend, call)
        if reason is None:
            candidates.append(backend)
        else:
            reasons.append(reason)
            details.append(f"{backend.name}: {why}")
    reason = reasons[0] if len(set(reasons)) == 1 else Reason.REFUSED
    return candidates, stay(reason, "; ".join(details))


def _obstacle(state: State, backend: Backend, call: Call) -> tuple[Reason | None, str]:
    if process.forked_from_started(backend):
        return Reason.FORKED, "started before the fork"
    if why := state.health.refusal(backend.name, call):
        return Reason.SUSPENDED, why
    if why := backend.refuses(call):
        return Reason.REFUSED, why
    if backend.shares_host_memory:
        return None, ""
    if why := _is_left_to_others(state, backend, call):
        return Reason.BUSY, why
    if why := _lacks_memory(state, backend, call):
        return Reason.MEMORY, why
    return None, ""


def _is_left_to_others(state: State, backend: Backend, call: Call) -> str:
    """Say how busy other programs keep a device, if that is more than the level goes along with.

    Who names a backend gets it, and what is there alone may be worked on there: it would have to be
    copied away, and back when the others pause.
    """
    settings = state.settings
    if settings.backend != "auto" or call.operation.name in settings.operations:
        return ""
    # a question about a call may take a moment, a call may not
    load = backend.others_load(0.0 if call.arrays else _PATIENCE)
    limit = LEVELS[settings.level].others_load
    if load is None or load <= limit or call.is_only_on(backend.name):
        return ""
    return f"{load:.0%} used by others, {limit:.0%} allowed at level {settings.level}"


def _lacks_memory(state: State, backend: Backend, call: Call) -> str:
    memory = backend.memory()
    if memory is None:
        return ""
    # what arrays hold there can be given back
    room = _room(state, backend, memory) + LEDGER.used(backend.name)
    needed = _needed(backend, call)
    if needed <= room:
        return ""
    return f"needs {needed / 1e6:.0f} MB, {max(room, 0) / 1e6:.0f} MB may be used"


def _needed(backend: Backend, call: Call) -> int:
    """Return the bytes of arguments that aren't there, results, and a workspace as large."""
    missing, _ = call.missing(backend.name)
    return 2 * (missing + call.workload.bytes_out)


def _room(state: State, backend: Backend, memory: Memory) -> float:
    """Return the bytes that may be used besides what arrays hold."""
    room = memory.free - LEVELS[state.settings.level].memory_free * memory.total
    limit = state.settings.limits.device_memory
    return room if limit is None else min(room, limit - LEDGER.used(backend.name))


def make_room(
    state: State, backend: Backend, needed: int, owners: tuple[Holder | None, ...] = ()
) -> None:
    """Give back what arrays hold on a device, the least recently used first, where memory is short.

    Parameters
    ----------
    state : State
        Says how much may be used.
    backend : Backend
        Started.
    needed : int
        Bytes.
    owners : tuple
        Arrays that are about to be used.
    """
    memory = None if backend.shares_host_memory else backend.memory()
    if memory is None or not LEDGER.used(backend.name):
        return
    for owner in owners:
        resident = None if owner is None else (owner._away or {}).get(backend.name)
        if resident is not None:
            LEDGER.touch(resident)
    lacking = needed - _room(state, backend, memory)
    if lacking > 0:
        LEDGER.give_back(backend.name, int(lacking))


def _flags_are_quiet() -> bool:
    """Whether nothing more than warnings is asked for; the reference alone raises or calls."""
    state = np.geterr()
    return state["under"] == "ignore" and all(
        state[key] in ("ignore", "warn") for key in ("divide", "over", "invalid")
    )


def run(state: State, backend: Backend, call: Call, function: str) -> Results | Decision:
    """Run a call on a backend.

    Returns
    -------
    tuple of ndarray or Resident, or Decision
        The results, or why the reference has to run the call.
    """
    phase = Phase()
    try:
        if not backend.started:
            backend.start()
        if not backend.shares_host_memory:
            make_room(state, backend, _needed(backend, call), call.owners)
        results = _with_second_try(backend, call, phase)
    except Unsupported as refusal:
        if refusal.reason is Reason.NON_FINITE_RESULT:
            state.health.wasted(backend.name, call)
        return stay(refusal.reason, refusal.detail)
    except BackendUnavailable as error:
        state.health.gave_up(backend.name, str(error))
        return _failed(state, backend, function, str(error), error)
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        return stay(Reason.LINALG_ERROR, str(error))
    except Exception as error:
        if _is_linalg_error(error):
            return stay(Reason.LINALG_ERROR, str(error))
        state.health.failed(backend.name, call)
        detail = f"{phase.name}: {type(error).__name__}: {error}"
        return _failed(state, backend, function, detail, error)
    if not all(
        x.backend.all_finite(x.value) if isinstance(x, Resident) else backend.is_finite(call, x)
        for x in results
    ):
        state.health.wasted(backend.name, call)
        return stay(Reason.NON_FINITE_RESULT, backend.name)
    if call.destination is not None and not backend.shares_host_memory:
        # only now: the memory may be an argument's too, and the reference would have needed it
        for target, result in zip(call.destination, results, strict=True):
            np.copyto(target, result, casting="same_kind")
    state.health.succeeded(backend.name, call)
    return results


def _with_second_try(backend: Backend, call: Call, phase: Phase) -> Results:
    """Run; on running out of memory, free what the backend caches and run once more."""
    try:
        return execute(backend, call, phase)
    except Exception as error:
        if not _is_out_of_memory(error):
            raise
        LEDGER.give_back(backend.name, LEDGER.used(backend.name))
        backend.release()
    return execute(backend, call, phase)


def _is_out_of_memory(error: Exception) -> bool:
    name = type(error).__name__  # CuPy's and PyTorch's; SYCL's
    return isinstance(error, MemoryError) or "OutOfMemory" in name or "AllocationError" in name


def _is_linalg_error(error: Exception) -> bool:
    """Whether a library's own exception says what ``LinAlgError`` says."""
    return type(error).__name__.strip("_") == "LinAlgError"


def _failed(
    state: State, backend: Backend, function: str, detail: str, error: Exception
) -> Decision:
    fallback = state.settings.fallback
    if fallback == "raise":
        raise BackendError(f"{function} on {backend.name} failed: {detail}") from error
    if fallback == "warn":
        warnings.warn(
            f"{function} on {backend.name} failed, the reference runs it: {detail}",
            BackendWarning,
            stacklevel=2,
        )
    return stay(Reason.FAILED, f"{backend.name}: {detail}")
