"""The uarray backend for ``scipy.fft``.

Give this module to SciPy's own protocol, as with ``cupyx.scipy.fft``::

    with scipy.fft.set_backend(dispatch_xp.scipy.fft):
        scipy.fft.fft2(image)

The functions of ``scipy.fft`` are here too, routed by the active ``backend()`` or else by the
configuration.
"""

from __future__ import annotations

import threading
from typing import Any

import uarray

from dispatch_xp.doors.multimethods import PerThread, UarrayBackend

__all__ = ["__ua_domain__", "__ua_function__"]

__ua_domain__ = "numpy.scipy.fft"
__ua_cache__ = PerThread()


def _default() -> Any:
    from dispatch_xp.context import default_state

    return default_state()


_BACKEND = UarrayBackend(__ua_domain__, "scipy.fft", _default)
_DOOR = UarrayBackend(__ua_domain__, "scipy.fft")

__ua_function__ = _BACKEND.__ua_function__


class _Context(threading.local):
    """Sets our door as uarray's backend, in the thread that enters.

    A context of uarray's holds the lists of the thread that made it, wherever it is entered.
    Made without ``uarray.set_backend``, which announces another way that does not exist yet.
    """

    def __init__(self) -> None:
        self._own = uarray._SetBackendContext(_DOOR, False, False)

    def __enter__(self) -> None:
        self._own.__enter__()

    def __exit__(self, *raised: Any) -> None:
        self._own.__exit__(*raised)


CONTEXT = _Context()
"""The context manager, reusable, by which ``backend()`` reaches ``scipy.fft`` in its thread."""


def register() -> None:
    """Reach ``scipy.fft`` in every thread."""
    uarray.register_backend(_DOOR)


def unregister() -> None:
    """Undo :func:`register`, leaving the backends that others have registered."""
    others = [
        b
        for domain, (_, registered, _) in uarray.get_state()._pickle()[0].items()
        if domain == __ua_domain__
        for b in registered
        if b is not _DOOR
    ]
    uarray.clear_backends(__ua_domain__, registered=True, globals=False)
    for other in others:
        uarray.register_backend(other)


def __getattr__(name: str) -> Any:
    from dispatch_xp.scipy._routed import routed

    return routed("scipy.fft", name)
