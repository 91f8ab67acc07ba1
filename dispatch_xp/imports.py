"""Acting once a module has been imported, without importing it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

__all__ = ["AfterImport"]


class AfterImport:
    """Calls `action` with a module: now if it is there, else when it has been imported.

    The module keeps its own loader; an exception of `action` is the import's.

    Parameters
    ----------
    name : str
        The module.
    action : callable
        Takes the module.
    """

    def __init__(self, name: str, action: Callable[[ModuleType], object]) -> None:
        self._name = name
        self._action = action
        self._waiting = True
        self._looking = threading.local()
        module = sys.modules.get(name)
        if module is not None:
            self._waiting = False
            action(module)
        else:
            sys.meta_path.insert(0, self)

    def cancel(self) -> None:
        """Wait no longer."""
        self._waiting = False
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Look over the shoulder of the import of one module; find nothing else.

        Who asks may only want to know where the module is: the wait ends when it is executed.
        """
        if fullname != self._name or not self._waiting or getattr(self._looking, "now", False):
            return None
        self._looking.now = True
        try:
            spec = find_spec(fullname)
        finally:
            self._looking.now = False
        if spec is not None and spec.loader is not None:
            loader, execute = spec.loader, spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                loader.exec_module = execute  # type: ignore[method-assign]
                execute(module)
                if self._waiting:
                    self.cancel()
                    self._action(module)

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
