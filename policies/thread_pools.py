"""Whose threads are awake, and whether waking others has paid off."""

from __future__ import annotations

from dispatch_xp.decision import REFERENCE

__all__ = ["ThreadPools"]

# a change of pools that did not repay itself is twice as dear the next time, up to so many times
_DEAREST = 1024.0
# a call that takes longer by this share of a change may have paid one unseen
_SUSPECT = 0.25


class ThreadPools:
    """The account of changes from one thread pool to another.

    Not every call on the reference is observed, so its threads may have been awake in between, and
    a change is paid again and again. The gains tell: at the next change, or once they have turned
    into a loss as large as a change, it is settled whether this one was worth its price.

    Attributes
    ----------
    awake : str
        The backend whose threads were last at work, as far as is known.
    """

    def __init__(self) -> None:
        self.awake = REFERENCE
        # since the last change: what was gained by it, its own cost taken off
        self._gained = 0.0
        self._dearness: dict[str, float] = {}

    def price(self, backend: str, switch: float) -> float:
        """Return what calls have to save before a backend's threads are woken."""
        return 0.0 if backend == self.awake else switch * self._dearness.get(backend, 1.0)

    def wake(self, backend: str) -> bool:
        """Note that a backend's threads were at work; tell whether that was a change."""
        if backend == self.awake:
            return False
        self._settle(self.awake)
        self.awake = backend
        return True

    def has_paid(self, switch: float, excess: float) -> bool:
        """Whether the last change is repaid, and a call shows no sign of another one.

        Parameters
        ----------
        switch : float
            What a change costs.
        excess : float
            How much longer than predicted the call took.
        """
        return self._gained >= switch and excess < _SUSPECT * switch

    def gain(self, backend: str, seconds: float, switch: float) -> None:
        """Count what a call has saved, or lost if it is negative."""
        # what was gained long ago is not to hide what is lost now, and a start is no change
        self._gained = min(self._gained + max(seconds, -switch), switch)
        if self._gained < -switch:
            self._settle(backend)

    def _settle(self, backend: str) -> None:
        """Make the next change to a backend dearer or cheaper, by what the last one has gained."""
        dearness = self._dearness.get(backend, 1.0) * (0.5 if self._gained >= 0.0 else 2.0)
        self._dearness[backend] = min(max(dearness, 1.0), _DEAREST)
        self._gained = 0.0
        self.awake = REFERENCE
