"""Switching on and off: ``backend()``, ``set_backend()``, ``record()``."""

from __future__ import annotations

import threading
import warnings
from contextvars import Token
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dispatch_xp.config import Settings, load
from dispatch_xp.decision import REFERENCE
from dispatch_xp.errors import BackendUnavailable, BackendWarning, ProfileWarning
from dispatch_xp.observer import beside
from dispatch_xp.state import CURRENT, PROCESS, State, current

if TYPE_CHECKING:
    from dispatch_xp.backends.interface import Backend
    from dispatch_xp.recorder import Recorder

__all__ = [
    "active",
    "backend",
    "default_state",
    "record",
    "set_backend",
    "state_of",
    "switch",
    "tell_problem",
]

_states: dict[bytes, State] = {}
_told: set[str] = set()
_lock = threading.Lock()


def _tell(message: str, category: type[Warning]) -> None:
    """Warn once in a process."""
    if message not in _told:
        _told.add(message)
        warnings.warn(message, category, stacklevel=4)


def state_of(settings: Settings) -> State:
    """Return the state of a configuration; equal configurations share one, and what it learns."""
    import msgspec

    key = msgspec.json.encode(settings)
    with _lock:
        state = _states.get(key)
        if state is None:
            state = _states[key] = _build(settings)
    return state


def _build(settings: Settings) -> State:
    from dispatch_xp import policies

    if settings.backend == "auto":
        policy = policies.create(settings.policy, settings)
        wanted = tuple(settings.backends)
    elif settings.backend == REFERENCE:
        policy = policies.create("reference", settings)
        wanted = ()
    else:
        policy = policies.create("fixed", settings)
        wanted = (settings.backend,)
    pinned = tuple(p.backend for p in settings.operations.values() if p.backend != REFERENCE)
    return State(settings, policy, _available((*wanted, *pinned), settings))


def _available(names: tuple[str, ...], settings: Settings) -> tuple[Backend, ...]:
    from dispatch_xp import backends

    found = []
    for name in dict.fromkeys(names):
        candidate = backends.get(name)
        availability = candidate.probe()
        if availability.available:
            found.append(candidate)
        elif name == settings.backend:
            message = f"backend {name!r} is not available: {availability.reason}"
            if settings.fallback == "raise":
                raise BackendUnavailable(message)
            _tell(f"{message}; the reference runs everything", BackendWarning)
    return tuple(found)


def default_state() -> State:
    """Return the state of the configuration alone."""
    return state_of(load().settings)


def tell_problem(state: State) -> None:
    """Warn, once in a process, of a policy that can't do its work."""
    problem = getattr(state.policy, "problem", None)
    if problem:
        _tell(f"{problem}; everything stays on the reference", ProfileWarning)


class _Activation:
    """Makes a state current for a while; reusable and re-entrant."""

    def __init__(self) -> None:
        self._entered: list[tuple[Token[Any], State]] = []

    def _state(self) -> State:
        raise NotImplementedError

    def _activate(self) -> State:
        from dispatch_xp.doors import INSTALLATION
        from dispatch_xp.scipy import fft

        state = self._state()
        INSTALLATION.install()
        INSTALLATION.ufuncs.enter(state)
        fft.CONTEXT.__enter__()
        PROCESS.enter()
        self._entered.append((CURRENT.set(state), state))
        return state

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        from dispatch_xp.doors import INSTALLATION
        from dispatch_xp.scipy import fft

        token, state = self._entered.pop()
        CURRENT.reset(token)
        PROCESS.leave()
        fft.CONTEXT.__exit__(kind, error, traceback)
        INSTALLATION.ufuncs.leave(state)


class backend(_Activation):
    """Route NumPy and SciPy calls within a ``with`` block, in this thread and task.

    Plain ndarrays in, plain ndarrays out; also for calls made inside libraries, and for names
    imported before.

    Parameters
    ----------
    name : str, optional
        ``"auto"``: the policy decides, call by call. ``"reference"``: NumPy and SciPy themselves.
        Any other backend's name: that backend, where it takes the call. The configuration's if not
        given.
    level : int, optional
        From 1 (cautious: a backend must promise 3 times the speed) to 10 (eager).
    policy : str, optional
        ``"cost-model"``, ``"threshold"``, ``"random"``, ``"reference"`` or an entry point's name.
    verify : bool, optional
        Run the reference too, return its result, and record how far the backend's was from it.
    fallback : str, optional
        What is said when a chosen backend fails: ``"quiet"``, ``"warn"`` or ``"raise"``.
    **settings
        Any other key of the configuration.

    Raises
    ------
    ConfigError
        If a key or a value isn't allowed.
    BackendUnavailable
        With ``fallback="raise"``, if the named backend can't work here.

    Examples
    --------
    >>> import numpy as np, dispatch_xp
    >>> a = np.eye(3)
    >>> with dispatch_xp.backend("auto"):
    ...     b = np.linalg.inv(a)
    >>> type(b).__name__
    'ndarray'
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        level: int | None = None,
        policy: str | None = None,
        verify: bool | None = None,
        fallback: str | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        arguments = {
            "backend": name,
            "level": level,
            "policy": policy,
            "verify": verify,
            "fallback": fallback,
            **settings,
        }
        given = {key: value for key, value in arguments.items() if value is not None}
        self.settings = load(**given).settings

    def _state(self) -> State:
        outer = current()
        if outer is not None and outer.observer is not None and outer.observer.passive:
            return outer
        state = state_of(self.settings)
        tell_problem(state)
        if outer is not None and outer.observer is not None:
            state = replace(state, observer=outer.observer)
        return state

    def __enter__(self) -> backend:
        self._activate()
        return self


class active(_Activation):
    """Make a state current within a ``with`` block.

    Parameters
    ----------
    state : State
        As :func:`state_of` returns it, perhaps with an observer.
    """

    def __init__(self, state: State) -> None:
        super().__init__()
        self._given = state

    def _state(self) -> State:
        return self._given

    def __enter__(self) -> active:
        self._activate()
        return self


class record(_Activation):
    """Record what runs where, and why, within a ``with`` block.

    Examples
    --------
    >>> import numpy as np, dispatch_xp
    >>> with dispatch_xp.backend("reference"), dispatch_xp.record() as rec:
    ...     _ = np.linalg.inv(np.eye(3))
    >>> [(r.function, r.backend) for r in rec.records]
    [('numpy.linalg.inv', 'reference')]
    """

    def __init__(self) -> None:
        # most programs record nothing
        from dispatch_xp.recorder import Recorder

        super().__init__()
        self._recorder = Recorder()

    def _state(self) -> State:
        state = current()
        if state is None:
            return State(load().settings, None, observer=self._recorder)
        return replace(state, observer=beside(state.observer, self._recorder))

    def __enter__(self) -> Recorder:
        self._activate()
        return self._recorder


def set_backend(name: str | None, **settings: Any) -> None:
    """Route NumPy and SciPy calls in the whole process, wherever no ``backend()`` is active.

    Parameters
    ----------
    name : str or None
        As for :class:`backend`; None switches it off again.
    **settings
        As for :class:`backend`.
    """
    # made before the old one is taken away: an error changes nothing, and an observer stays
    switch(None if name is None else backend(name, **settings)._state())


def switch(state: State | None) -> None:
    """Make a state the one of all contexts where nothing else was said, or None again."""
    from dispatch_xp.doors import INSTALLATION
    from dispatch_xp.scipy import fft

    with _lock:
        previous, PROCESS.default = PROCESS.default, None
    if previous is not None:
        PROCESS.leave()
        INSTALLATION.ufuncs.leave(previous)
        fft.unregister()
    if state is None:
        return
    INSTALLATION.install()
    INSTALLATION.ufuncs.enter(state)
    fft.register()
    PROCESS.enter()
    PROCESS.default = state
