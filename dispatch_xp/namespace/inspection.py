"""Inspection of the namespace: what it can do, its devices and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatch_xp.array import device as devices
from dispatch_xp.namespace import data_types

__all__ = ["__array_namespace_info__"]

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class Info:
    """What the namespace can do, as :func:`__array_namespace_info__` returns it."""

    def capabilities(self) -> dict[str, Any]:
        """Return the optional features of the standard, and whether they are here.

        Returns
        -------
        dict
            ``"boolean indexing"`` and ``"data-dependent shapes"``, both True, and
            ``"max dimensions"``, how many axes an array can have.
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Return the device of new arrays: ``"auto"``.

        Returns
        -------
        str
        """
        return devices.AUTO

    def default_dtypes(self, *, device: str | None = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of new arrays, by kind.

        Parameters
        ----------
        device : str, optional
            The dtypes are the same on all of them.

        Returns
        -------
        dict
            The dtypes of ``"real floating"``, ``"complex floating"``, ``"integral"`` and
            ``"indexing"``.

        Raises
        ------
        ValueError
            If there is no such device.
        """
        devices.checked(device)
        integer = np.dtype(np.int64)
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": integer,
            "indexing": np.dtype(np.intp),
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of a device, of a kind or of several.

        Parameters
        ----------
        device : str, optional
            The dtypes are the same on all of them.
        kind : str or tuple of str, optional
            Such as ``"integral"``, as for :func:`dispatch_xp.isdtype`. Default: all.

        Returns
        -------
        dict
            The dtypes by their names.

        Raises
        ------
        ValueError
            For a kind that the standard doesn't have, or if there is no such device.
        """
        devices.checked(device)
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        for name in kinds:
            if name not in _KINDS:
                allowed = ", ".join(repr(known) for known in _KINDS)
                raise ValueError(f"there is no kind {name!r} of dtype; there are {allowed}")
        return {dtype: getattr(data_types, dtype) for name in kinds for dtype in _KINDS[name]}

    def devices(self) -> tuple[str, ...]:
        """Return the devices that an array can be told to be on.

        Returns
        -------
        tuple of str
            ``"auto"``, ``"cpu"``, and those of the backends that are available.
        """
        return devices.available()


def __array_namespace_info__() -> Info:
    """Return what the namespace can do.

    Returns
    -------
    Info
        With the methods ``capabilities``, ``default_device``, ``default_dtypes``, ``devices`` and
        ``dtypes``.
    """
    return Info()
