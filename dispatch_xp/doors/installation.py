"""What a process has installed: one object, whose install and uninstall are exact inverses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from dispatch_xp.doors import ufuncs
from dispatch_xp.doors.code import copy_of, swap_code
from dispatch_xp.doors.cupyx_table import CupyxTable
from dispatch_xp.doors.dispatcher import swap_implementation
from dispatch_xp.doors.handler import COMPILED, Handler, handler
from dispatch_xp.doors.multimethods import multimethod
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.imports import AfterImport

__all__ = ["INSTALLATION", "DoorReport", "Installation"]

_MODULES = (
    "numpy",
    "numpy._core._methods",
    "numpy.linalg",
    "numpy.fft",
    "scipy.linalg",
)


@dataclass(frozen=True, slots=True)
class DoorReport:
    """One kind of door, for ``dispatch-xp status``."""

    door: str
    functions: int
    problem: str = ""


class Installation:
    """The doors of a process.

    Attributes
    ----------
    installed : bool
        Whether the doors are there.
    problems : dict of str to str
        The functions that have no door here, with the reason.
    """

    def __init__(self) -> None:
        self.installed = False
        self.problems: dict[str, str] = {}
        self.ufuncs = ufuncs.UfuncDoor()
        self._undo: list[Callable[[], None]] = []
        self._counts: dict[str, int] = {}
        self._methods: dict[Any, tuple[Any, Any]] = {}
        self._cupyx = CupyxTable()
        self._imports: list[AfterImport] = []
        self._lock = threading.RLock()

    def install(self) -> None:
        """Put every door in place, once; those of a module when it is imported."""
        with self._lock:
            if self.installed:
                return
            try:
                self._imports = [AfterImport(name, self._install_module) for name in _MODULES]
                self.ufuncs.install()
            except BaseException:
                self._take_down()
                raise
            self.installed = True

    def uninstall(self) -> None:
        """Take every door away again."""
        with self._lock:
            self._take_down()
            self.installed = False

    def reports(self) -> list[DoorReport]:
        """Return what is in place, by kind of door."""
        reports = [DoorReport(door, count) for door, count in sorted(self._counts.items())]
        reports.append(DoorReport("ufunc loops", self.ufuncs.installed, ufuncs.PROBLEM))
        return reports

    def _take_down(self) -> None:
        for waiting in self._imports:
            waiting.cancel()
        self._imports = []
        self.ufuncs.uninstall()
        self._cupyx.uninstall()
        self._methods.clear()
        while self._undo:
            self._undo.pop()()
        self._counts.clear()
        self.problems.clear()

    def _install_module(self, module: ModuleType) -> None:
        """Put the doors of a module in place; one that nobody has imported needs none."""
        with self._lock:
            for path in FUNCTIONS:
                prefix, _, name = path.rpartition(".")
                if prefix == module.__name__:
                    self._install_function(path, module, name)
            if self._methods and module.__name__ == "scipy.linalg":
                self._cupyx.install(self._methods)

    def _install_function(self, path: str, module: ModuleType, name: str) -> None:
        found: Any = getattr(module, name, None)
        if found is None:
            self.problems[path] = "this version does not have it"
            return
        if isinstance(found, np.ufunc):
            return  # its loops have the door
        handle = handler(FUNCTIONS[path])
        try:
            undo = self._exchanged(module, name, found, handle)
        except (RuntimeError, ValueError, KeyError, AttributeError) as error:
            self.problems[path] = str(error)
            return
        self._undo.append(undo)
        self._counts[module.__name__] = self._counts.get(module.__name__, 0) + 1

    def _exchanged(
        self, module: ModuleType, name: str, found: Any, handle: Handler
    ) -> Callable[[], None]:
        """Put a door before a function; return what takes it away."""
        beneath = getattr(found, "_implementation", found)
        if beneath is not found and (COMPILED or not isinstance(beneath, FunctionType)):
            try:
                return swap_implementation(name, found, handle)
            except RuntimeError:
                if not isinstance(beneath, FunctionType):
                    raise
        reference: Callable[..., Any] = copy_of(beneath)
        if module.__name__ == "scipy.linalg":
            method = multimethod(reference)
            self._methods[method] = (beneath, reference)
            reference = method
        return swap_code(beneath, handle, reference)


INSTALLATION = Installation()
"""The doors of this process."""
