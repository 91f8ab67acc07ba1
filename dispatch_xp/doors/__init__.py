"""Doors: the code by which a user's call reaches the router.

One file per way in: functions written in Python, functions written in C beneath NumPy's
dispatcher, ufunc loops, and uarray's multimethods.
"""

from __future__ import annotations

from dispatch_xp.doors.installation import INSTALLATION, DoorReport

__all__ = ["INSTALLATION", "DoorReport"]
