"""The uarray backend for ``scipy.linalg``, in the domain ``numpy.scipy.linalg``.

Give this module to uarray::

    with uarray.set_backend(dispatch_xp.scipy.linalg):
        scipy.linalg.svd(a)

SciPy itself has no multimethods for that domain; asking for the domain puts ours in place. The
functions of ``scipy.linalg`` are here too, routed by the active ``backend()`` or else by the
configuration.
"""

from __future__ import annotations

from typing import Any

from dispatch_xp.doors.multimethods import LINALG_DOMAIN, PerThread, UarrayBackend

__all__ = ["__ua_function__"]


def _default() -> Any:
    from dispatch_xp.context import default_state

    return default_state()


_BACKEND = UarrayBackend(LINALG_DOMAIN, "scipy.linalg", _default)

__ua_function__ = _BACKEND.__ua_function__
__ua_cache__ = PerThread()


def __getattr__(name: str) -> Any:
    if name == "__ua_domain__":
        # uarray asks for it when the backend is about to be used
        from dispatch_xp.doors import INSTALLATION

        INSTALLATION.install()
        return LINALG_DOMAIN
    from dispatch_xp.scipy._routed import routed

    return routed("scipy.linalg", name)
