"""Devices: where an array may be told to stay."""

from __future__ import annotations

from typing import Any

__all__ = ["AUTO", "CPU", "DEVICES", "checked"]

AUTO = "auto"
"""Placed by the policy, call by call."""

CPU = "cpu"
"""Pinned to the host: NumPy itself computes."""

DEVICES = (AUTO, CPU)


def checked(device: Any) -> str | None:
    """Return a device's name, None for the default.

    Raises
    ------
    ValueError
        If there is no such device here.
    """
    if device is None or device in DEVICES:
        return None if device is None else str(device)
    allowed = ", ".join(repr(name) for name in DEVICES)
    raise ValueError(f"there is no device {device!r}; the devices here are {allowed}")
