"""Fourier transforms of the Array API standard, on :class:`dispatch_xp.Array`."""

from __future__ import annotations

from dispatch_xp.namespace.fft import *  # noqa: F403
from dispatch_xp.namespace.fft import __all__ as __all__
