"""What a process has installed: one object, whose install and uninstall are exact inverses."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from dispatch_xp.doors import ufuncs
from dispatch_xp.doors.code import copy_of, swap_code
from dispatch_xp.doors.cupyx_table import CupyxTable
from dispatch_xp.doors.dispatcher import swap_implementation
from dispatch_xp.doors.handler import handler
from dispatch_xp.doors.multimethods import multimethod
from dispatch_xp.functions import FUNCTIONS

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
        self._lock = threading.RLock()

    def install(self) -> None:
        """Put every door in place, once."""
        with self._lock:
            if self.installed:
                return
            try:
                for path in FUNCTIONS:
                    module, _, name = path.rpartition(".")
                    if module in _MODULES:
                        self._install_function(path, module, name)
                self._cupyx.install(self._methods)
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
        self.ufuncs.uninstall()
        self._cupyx.uninstall()
        self._methods.clear()
        while self._undo:
            self._undo.pop()()
        self._counts.clear()
        self.problems.clear()

    def _install_function(self, path: str, module: str, name: str) -> None:
        found: Any = getattr(importlib.import_module(module), name, None)
        if found is None:
            self.problems[path] = "this version does not have it"
            return
        if isinstance(found, np.ufunc):
            return  # its loops have the door
        beneath = getattr(found, "_implementation", found)
        handle = handler(FUNCTIONS[path])
        try:
            if isinstance(beneath, FunctionType):
                reference: Callable[..., Any] = copy_of(beneath)
                if module == "scipy.linalg":
                    method = multimethod(reference)
                    self._methods[method] = (beneath, reference)
                    reference = method
                undo = swap_code(beneath, handle, reference)
            else:
                _, undo = swap_implementation(name, found, handle)
        except (RuntimeError, ValueError, KeyError, AttributeError) as error:
            self.problems[path] = str(error)
            return
        self._undo.append(undo)
        self._counts[module] = self._counts.get(module, 0) + 1


INSTALLATION = Installation()
"""The doors of this process."""
