"""Calibration: measuring this machine.

:func:`calibrate` plans (:mod:`~dispatch_xp.calibration.plan`), times
(:mod:`~dispatch_xp.calibration.timing`) and returns a profile. It prints nothing.
"""

from __future__ import annotations

from dispatch_xp.calibration.run import Interrupted, Progress, calibrate

__all__ = ["Interrupted", "Progress", "calibrate"]
