"""``install()`` and ``uninstall()``."""

from __future__ import annotations

from dispatch_xp.doors import INSTALLATION

__all__ = ["install", "uninstall"]


def install() -> None:
    """Put the doors in place: every routable function of NumPy and SciPy in this process.

    ``backend()`` does it when first entered. Outside of ``backend()`` an installed door passes
    straight through. Names imported before are covered.
    """
    INSTALLATION.install()


def uninstall() -> None:
    """Take the doors away again: the exact inverse of :func:`install`."""
    INSTALLATION.uninstall()
