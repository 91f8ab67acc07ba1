"""The array of the Array API namespace, and how calls on it are routed."""

from __future__ import annotations

from dispatch_xp.array.array import Array

__all__ = ["Array"]
