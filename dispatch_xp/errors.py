"""Every exception and warning the package raises, under one base."""

from __future__ import annotations

from dispatch_xp.reasons import Reason

__all__ = [
    "BackendError",
    "BackendUnavailable",
    "BackendWarning",
    "ConfigError",
    "DispatchError",
    "DispatchWarning",
    "PluginError",
    "ProfileError",
    "ProfileWarning",
    "TraceError",
    "Unsupported",
]


class DispatchError(Exception):
    """Base of every error of this package."""


class ConfigError(DispatchError, ValueError):
    """A setting is unknown or has a value that isn't allowed."""


class ProfileError(DispatchError):
    """A machine profile can't be used: damaged, foreign or newer."""


class TraceError(DispatchError):
    """A trace can't be read, or is not one."""


class PluginError(DispatchError):
    """An entry point named a backend or policy that doesn't fit the interface."""


class BackendUnavailable(DispatchError):
    """A backend can't work on this machine, and says why."""


class BackendError(DispatchError):
    """A chosen backend failed and ``fallback = "raise"`` asked to be told."""


class Unsupported(DispatchError):
    """A call stays on the reference.

    Parameters
    ----------
    reason : Reason
        One of the fixed reasons.
    detail : str
        What exactly it was, for a reader: the dtype, the argument, the type.
    """

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail


class DispatchWarning(UserWarning):
    """Base of every warning of this package."""


class ProfileWarning(DispatchWarning):
    """``auto`` stays on the reference, because there is no usable machine profile."""


class BackendWarning(DispatchWarning):
    """A backend failed and the reference ran the call."""
