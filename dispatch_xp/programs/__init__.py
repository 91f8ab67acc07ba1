"""Whole programs, routed without being edited: ``dispatch-xp run``, ``measure`` and ``env``.

A program is started by its own interpreter, as if nobody stood in between; variables tell it to
import :mod:`sitecustomize` from the folder ``site``, which waits until the program imports NumPy.
So children follow their parents, whichever way they are started.
"""

VARIABLE = "DISPATCH_XP_RUN"
"""The environment variable that says what a started program is to do; not a setting."""
