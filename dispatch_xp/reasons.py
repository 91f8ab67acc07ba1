"""The fixed list of reasons a decision can have."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Reason"]


class Reason(StrEnum):
    """Why a call ran where it ran."""

    # a backend was chosen
    FASTEST = "predicted fastest"
    FIXED = "the policy names this backend"
    PINNED = "pinned by configuration"
    THRESHOLD = "at or above the threshold"
    RANDOM = "drawn at random"
    PROBE = "measured again, to see whether what was learned still holds"

    # the policy kept the call on the reference
    NOT_FASTER = "no backend is predicted to be enough faster"
    BELOW_LIMIT = "below the smallest useful size"
    BELOW_THRESHOLD = "below the threshold"
    NOT_STARTED = "the work seen so far would not repay the backend's start-up"
    SWITCH = "the work seen so far would not repay changing thread pools"
    NO_PROFILE = "no machine profile"
    NO_CURVE = "the machine profile has no figures for this operation"
    REFERENCE_POLICY = "the policy keeps everything on the reference"
    INACTIVE = "no backend is active"

    # no candidate
    NO_BACKEND = "no available backend has this operation"
    TYPE = "not a plain ndarray"
    DTYPE = "dtype stays on the reference"
    BYTE_ORDER = "not in native byte order"
    REFUSED = "no available backend takes this call"
    ARGUMENT = "an argument the backends do not take"
    EMPTY = "size zero"
    ZERO_DIMENSIONAL = "zero-dimensional"
    SHAPE = "shape stays on the reference"
    VIEW = "the reference returns a view"
    OVERLAP = "input and output share memory"
    ERRSTATE = "np.errstate asks for more than warnings"
    NON_FINITE_INPUT = "non-finite input"
    MEMORY = "not enough memory on the device"
    BUSY = "other programs use the device"
    FORKED = "no device after fork"
    SUSPENDED = "left alone after failures"

    # tried, and the reference had to finish
    NON_FINITE_RESULT = "the backend's result is not finite"
    ILL_CONDITIONED = "ill-conditioned: the reference warns"
    INVALID = "the arguments are invalid"
    LINALG_ERROR = "the backend reports a linear algebra error"
    FAILED = "the backend failed"

    @property
    def is_failure(self) -> bool:
        """Whether the reason is a fault of the backend (and not of the input)."""
        return self is Reason.FAILED
