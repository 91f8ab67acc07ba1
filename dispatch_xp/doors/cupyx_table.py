"""``uarray.set_backend(cupyx.scipy.linalg)``: teaching CuPy's backend our multimethods.

CuPy's table of implementations is keyed by SciPy's function objects, while uarray hands a backend
the multimethod. So, while the doors are installed, our multimethods are keys of that table too. Its
functions take other arguments than SciPy's: an adapter translates, or declines what doesn't
translate.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from dispatch_xp.imports import AfterImport

__all__ = ["CupyxTable"]

_MODULE = "cupyx.scipy.linalg._uarray"
_Adapter = Callable[[Any, dict[str, Any]], Any]


def _cholesky(function: Any, given: dict[str, Any]) -> Any:
    lower = given.pop("lower", False)
    factor = function(**given)
    return factor if lower else factor.swapaxes(-1, -2).conj()


def _eigen(function: Any, given: dict[str, Any]) -> Any:
    return function(given.pop("a"), UPLO="L" if given.pop("lower", True) else "U", **given)


def _eigh(function: Any, given: dict[str, Any]) -> Any:
    if given.pop("eigvals_only", False):
        return NotImplemented
    return _eigen(function, given)


def _qr(function: Any, given: dict[str, Any]) -> Any:
    modes = {"full": "complete", "economic": "reduced", "r": "r"}
    mode = modes.get(given.pop("mode", "full"))
    if mode is None:
        return NotImplemented
    result = function(mode=mode, **given)
    return (result,) if mode == "r" else tuple(result)


def _same(function: Any, given: dict[str, Any]) -> Any:
    return function(**given)


# what means the same in both; pinv and lstsq cut off at other singular values
_ADAPTERS: Mapping[str, _Adapter] = {
    "cholesky": _cholesky,
    "eigh": _eigh,
    "eigvalsh": _eigen,
    "qr": _qr,
    **dict.fromkeys(
        ("det", "inv", "lu", "lu_factor", "lu_solve", "solve", "solve_triangular", "svd"), _same
    ),
}
# without a meaning for the result
_IGNORED = frozenset({"overwrite_a", "overwrite_b", "check_finite"})


class CupyxTable:
    """CuPy's table with our multimethods, for as long as the doors are installed."""

    def __init__(self) -> None:
        self._methods: dict[Any, tuple[Any, Any]] = {}
        self._added: list[tuple[dict[Any, Any], Any]] = []
        self._import: AfterImport | None = None

    def install(self, methods: Mapping[Any, tuple[Any, Any]]) -> None:
        """Teach the table now, or when CuPy is imported.

        Parameters
        ----------
        methods : mapping
            Per multimethod, SciPy's function object and a copy without door.
        """
        self._methods = dict(methods)
        self._import = AfterImport(_MODULE, self._teach)

    def uninstall(self) -> None:
        """Make the table what it was."""
        if self._import is not None:
            self._import.cancel()
        for table, method in self._added:
            table.pop(method, None)
        self._added.clear()
        self._methods = {}

    def _teach(self, module: ModuleType) -> None:
        table: dict[Any, Any] | None = getattr(module, "_implemented", None)
        if table is None:
            return
        for method, (function, signature_of) in self._methods.items():
            adapter = _ADAPTERS.get(function.__name__)
            if adapter is not None:
                table[method] = _adapted(table, function, signature_of, adapter)
                self._added.append((table, method))


def _adapted(
    table: dict[Any, Any], function: Any, signature_of: Any, adapter: _Adapter
) -> Callable[..., Any]:
    """Return what calls CuPy's implementation with SciPy's arguments."""
    signature = inspect.signature(signature_of)

    def call(*args: Any, **kwargs: Any) -> Any:
        # looked up late: CuPy fills the rest of its table after this module is imported
        theirs = table.get(function)
        if theirs is None:
            return NotImplemented
        given = {}
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            default = signature.parameters[name].default
            if name not in _IGNORED and value is not default:
                given[name] = value
        known = {*inspect.signature(theirs).parameters, "lower", "eigvals_only", "mode"}
        if not set(given) <= known:
            return NotImplemented
        return adapter(theirs, given)

    return call
