"""What failed, and for how long it is left alone."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dispatch_xp.call import Call

__all__ = ["Health"]

_FIRST_PAUSE = 60.0
_LONGEST_PAUSE = 3600.0
_BACKEND_STRIKES = 3
_REMEMBERED = 1024


class _Pause:
    """A pause that doubles each time it is earned again."""

    __slots__ = ("length", "strikes", "until")

    def __init__(self) -> None:
        self.strikes = 0
        self.until = 0.0
        self.length = _FIRST_PAUSE

    def begin(self, now: float) -> None:
        self.until = now + self.length
        self.length = min(2 * self.length, _LONGEST_PAUSE)


class Health:
    """Remembers failures per backend, and per backend and call signature.

    A call that failed is not tried again for a minute, then two, then four, up to an hour; after
    three failures in a row, neither is anything else on that backend. What fails because of the
    data (results that are not finite) counts for the signature alone, after three times.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._backends: dict[str, _Pause] = {}
        self._signatures: OrderedDict[Any, _Pause] = OrderedDict()
        self._dead: dict[str, str] = {}

    def refusal(self, backend: str, call: Call) -> str:
        """Return why the backend is left alone for this call, or an empty string."""
        if not (self._backends or self._signatures or self._dead):
            return ""
        if backend in self._dead:
            return self._dead[backend]
        now = time.monotonic()
        pause = self._backends.get(backend)
        if pause is not None and now < pause.until:
            return f"{pause.strikes} failures in a row"
        pause = self._signatures.get((backend, call.signature))
        if pause is not None and now < pause.until:
            return "this call failed before"
        return ""

    def failed(self, backend: str, call: Call) -> None:
        """Note a fault of the backend."""
        now = time.monotonic()
        with self._lock:
            self._signature(backend, call).begin(now)
            pause = self._backends.setdefault(backend, _Pause())
            pause.strikes += 1
            if pause.strikes >= _BACKEND_STRIKES:
                pause.begin(now)

    def wasted(self, backend: str, call: Call) -> None:
        """Note a run that the reference had to repeat because of the data."""
        with self._lock:
            pause = self._signature(backend, call)
            pause.strikes += 1
            if pause.strikes >= _BACKEND_STRIKES:
                pause.begin(time.monotonic())

    def succeeded(self, backend: str, call: Call) -> None:
        """Note that the backend works."""
        if not (self._backends or self._signatures):
            return
        with self._lock:
            self._backends.pop(backend, None)
            self._signatures.pop((backend, call.signature), None)

    def gave_up(self, backend: str, reason: str) -> None:
        """Leave a backend alone for the rest of the process."""
        with self._lock:
            self._dead[backend] = reason

    def _signature(self, backend: str, call: Call) -> _Pause:
        key = (backend, call.signature)
        pause = self._signatures.setdefault(key, _Pause())
        self._signatures.move_to_end(key)
        if len(self._signatures) > _REMEMBERED:
            self._signatures.popitem(last=False)
        return pause
