"""Residency: on which backends the current values of an array are.

An array's values are on the host, on backends with memory of their own, or on several of them. A
value on a backend is never written; a write makes the host's the only one. What is held on a
device is bounded: the least recently used is given back first, and brought to the host before if it
is the only current copy.
"""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dispatch_xp.errors import BackendError
from dispatch_xp.process import forked_from_started

if TYPE_CHECKING:
    import numpy.typing as npt

    from dispatch_xp.backends.interface import Backend

__all__ = ["ACTIVE", "LEDGER", "Holder", "Ledger", "Resident", "fetch", "hold", "value_on"]

ACTIVE = [False]
"""Whether any array of the process may be, or go, elsewhere than on the host."""


class Holder(Protocol):
    """An array, as this module sees it; the fields are those of ``_array_core.Core``.

    What is on a backend has memory on the host that nobody else sees: ``_shared`` is False wherever
    ``_away`` is something.
    """

    _memory: npt.NDArray[Any]
    _away: dict[str, Resident] | None
    _shared: bool
    _stale: bool

    @property
    def _host(self) -> npt.NDArray[Any]: ...


class Resident:
    """One value on a backend.

    Nothing of NumPy's takes it: whoever needs the numbers asks for them on the host.

    Attributes
    ----------
    backend : Backend
        Where it is.
    value : object
        The backend's own array; never written.
    shape, dtype
        As an ndarray's.
    holders : list of weakref.ref
        The arrays whose value it is.
    """

    __slots__ = ("__weakref__", "backend", "dtype", "holders", "nbytes", "shape", "value")
    __array_ufunc__ = None

    def __init__(self, backend: Backend, value: Any) -> None:
        self.backend = backend
        self.value = value
        self.shape = tuple(value.shape)
        self.dtype = backend.dtype_of(value)
        self.nbytes = int(self.dtype.itemsize * math.prod(self.shape))
        self.holders: list[weakref.ref[Any]] = []

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.nbytes // self.dtype.itemsize

    def on_host(self) -> npt.NDArray[Any]:
        """Copy it to the host."""
        return self.backend.copy_out(self.value)

    def converted(self, dtype: np.dtype[Any]) -> Resident:
        """Return it in another dtype, if no number changes by more than rounding.

        Raises
        ------
        TypeError
            If it has to be seen whether any does.
        """
        if not np.can_cast(self.dtype, dtype, "safe"):
            return self.rounded(dtype)
        return Resident(self.backend, self.backend.convert(self.value, dtype))

    def rounded(self, dtype: np.dtype[Any]) -> Resident:
        """Return it in lower precision.

        Raises
        ------
        TypeError
            If that can't be done here: another kind of number, or one that becomes infinite.
        """
        if dtype.kind != self.dtype.kind or dtype.itemsize > self.dtype.itemsize:
            raise TypeError(f"{self.dtype} becomes {dtype} on the host")
        result = Resident(self.backend, self.backend.convert(self.value, dtype))
        if not self.backend.all_finite(result.value):
            raise TypeError("too large a number")
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("the values are on a device")


class Ledger:
    """What arrays hold on devices, by backend, from the least recently used on."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._held: dict[str, OrderedDict[int, tuple[weakref.ref[Resident], int]]] = {}
        self._used: dict[str, int] = {}
        # noted without a lock: a value can die anywhere, also while another thread holds it
        self._dead: deque[tuple[str, int]] = deque()

    def add(self, resident: Resident, holder: Holder) -> None:
        """Note that an array holds a value."""
        name, key = resident.backend.name, id(resident)
        dead = self._dead
        with self.lock:
            self._bury()
            resident.holders.append(weakref.ref(holder))
            held = self._held.setdefault(name, OrderedDict())
            if key in held:
                held.move_to_end(key)
                return
            reference = weakref.ref(resident, lambda _: dead.append((name, key)))
            held[key] = reference, resident.nbytes
            self._used[name] = self._used.get(name, 0) + resident.nbytes

    def touch(self, resident: Resident) -> None:
        """Note that a value is used."""
        with self.lock:
            self._bury()
            held = self._held.get(resident.backend.name)
            if held is not None and id(resident) in held:
                held.move_to_end(id(resident))

    def used(self, backend: str) -> int:
        """Return the bytes that arrays hold on a backend."""
        with self.lock:
            self._bury()
            return self._used.get(backend, 0)

    def give_back(self, backend: str, nbytes: int) -> None:
        """Give back the least recently used values, so many bytes or all there are.

        An only current copy is brought to the host first; one that can't be stays where it is.
        """
        with self.lock:
            self._bury()
            goal = self._used.get(backend, 0) - nbytes
            for reference, _ in list(self._held.get(backend, {}).values()):
                if self._used[backend] <= max(goal, 0):
                    break
                resident = reference()
                if resident is not None:
                    _let_go(resident)
                del resident
                self._bury()

    def fetch_all(self) -> None:
        """Bring to the host what is on devices alone."""
        with self.lock:
            self._bury()
            for resident in self._residents():
                for holder in _holders(resident):
                    fetch(holder)

    def abandon(self) -> None:
        """Leave all devices alone, in the child of a fork: their values are not there."""
        self.lock = threading.RLock()
        residents = self._residents()
        # never freed: there is no device to free them on
        _ABANDONED.extend(residents)
        for resident in residents:
            for holder in _holders(resident):
                if not holder._stale:
                    holder._away = None
        self._held.clear()
        self._used.clear()
        self._dead.clear()

    def close(self) -> None:
        """Free what is on devices, at the end of the process, while their libraries are there."""
        for resident in self._residents():
            resident.value = None

    def _residents(self) -> list[Resident]:
        references = [r for held in self._held.values() for r, _ in held.values()]
        return [resident for r in references if (resident := r()) is not None]

    def _bury(self) -> None:
        """Forget values that have died."""
        while self._dead:
            name, key = self._dead.popleft()
            _, nbytes = self._held[name].pop(key, (None, 0))
            self._used[name] -= nbytes


LEDGER = Ledger()
_ABANDONED: list[Resident] = []


def _holders(resident: Resident) -> list[Any]:
    """Return the arrays that still hold a value."""
    holders = [holder for reference in resident.holders if (holder := reference()) is not None]
    name = resident.backend.name
    return [h for h in holders if h._away is not None and h._away.get(name) is resident]


def _let_go(resident: Resident) -> None:
    for holder in _holders(resident):
        away = holder._away
        assert away is not None
        if holder._stale and len(away) == 1:
            try:
                fetch(holder)
            except BackendError:
                continue
        others = {name: r for name, r in away.items() if r is not resident}
        holder._away = others or None


def fetch(array: Holder) -> None:
    """Bring an array's values to the host, where they are not.

    Raises
    ------
    BackendError
        If the backend can't give them; they stay where they are.
    """
    from dispatch_xp.state import quiet

    # a library may call NumPy on the way
    with LEDGER.lock, quiet():
        if not array._stale:
            return
        assert array._away is not None
        values = _copied(next(iter(array._away.values())))
        array._memory = values
        array._stale = False


def _copied(resident: Resident) -> npt.NDArray[Any]:
    """Copy to the host; once more where the first time failed."""
    name = resident.backend.name
    if resident.value is None:
        raise BackendError(f"values on {name} are gone: the process is ending")
    if forked_from_started(resident.backend):
        raise BackendError(f"values on {name} are lost: this process was forked from the one there")
    try:
        return resident.on_host()
    except Exception:
        resident.backend.release()
    try:
        return resident.on_host()
    except Exception as error:
        raise BackendError(
            f"values on {name} can't be brought to the host: {type(error).__name__}: {error}"
        ) from error


def hold(array: Holder, resident: Resident) -> None:
    """Make a value on a backend one of an array's current ones."""
    array._away = {**(array._away or {}), resident.backend.name: resident}
    LEDGER.add(resident, array)


def value_on(backend: Backend, array: Holder) -> Any:
    """Return an array's value on a backend, in the array's own dtype; copied in if need be.

    Parameters
    ----------
    backend : Backend
        Started, with memory of its own.
    array : Holder
        Holds the value from then on.
    """
    away = array._away
    resident = None if away is None else away.get(backend.name)
    if resident is not None:
        LEDGER.touch(resident)
        return resident.value
    values = array._host
    if array._shared:
        # somebody may write this memory, and the device would not see it
        values = array._memory = values.copy()
        array._shared = False
    value = backend.copy_in(values, values.dtype)
    hold(array, Resident(backend, value))
    return value


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LEDGER.fetch_all, after_in_child=LEDGER.abandon)
