"""Devices: where an array may be told to stay."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from dispatch_xp.errors import BackendUnavailable

if TYPE_CHECKING:
    from dispatch_xp.backends import Backend

__all__ = ["AUTO", "CPU", "available", "backend_of", "checked", "common", "owner_of"]

AUTO = "auto"
"""Placed by the policy, call by call."""

CPU = "cpu"
"""Pinned to the host: NumPy itself computes."""


def checked(device: Any) -> str | None:
    """Return a device's full name, None for the default.

    Raises
    ------
    ValueError
        If there is no such device here, with the reason.
    """
    if device is None or device in (AUTO, CPU):
        return None if device is None else str(device)
    if not isinstance(device, str):
        raise ValueError(f"a device is named by a string, such as {CPU!r}, not by {device!r}")
    name = device if ":" in device else f"{device}:0"
    backend_of(name)
    return name


def common(first: str | None, second: str | None) -> str | None:
    """Return what two arrays that are used together are pinned to, None if neither is.

    Raises
    ------
    ValueError
        If they are pinned to different devices.
    """
    if first is None or second is None or first == second:
        return first or second
    raise ValueError(
        f"arrays pinned to {first!r} and to {second!r} can't be used together: "
        "move one of them by to_device()"
    )


def available() -> tuple[str, ...]:
    """Return the devices that an array can be told to be on."""
    found = [b.device_name for b in _remote() if b.probe().available]
    return (AUTO, CPU, *dict.fromkeys(found))


@cache
def backend_of(device: str) -> Backend:
    """Return the first available backend on a device.

    Raises
    ------
    ValueError
        If there is none, with the reasons.
    """
    problems = []
    for backend in _remote():
        if backend.device_name == device:
            availability = backend.probe()
            if availability.available:
                return backend
            problems.append(f"{backend.name}: {availability.reason}")
    allowed = ", ".join(repr(name) for name in available())
    why = f" ({'; '.join(problems)})" if problems else ""
    raise ValueError(f"there is no device {device!r}{why}; the devices here are {allowed}")


def owner_of(array: Any) -> Backend | None:
    """Return the backend that takes a foreign array on a device as it is, or None."""
    library = type(array).__module__.partition(".")[0]
    for backend in _remote():
        if library in backend.modules and backend.probe().available:
            try:
                if not backend.started:
                    backend.start()
            except BackendUnavailable:
                continue
            if backend.adopts(array):
                return backend
    return None


def _remote() -> list[Backend]:
    from dispatch_xp import backends

    every = (backends.get(name) for name in backends.names(entry_points=True))
    return [backend for backend in every if backend.device_name]
