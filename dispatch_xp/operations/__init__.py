"""The operation table: what is true of every operation, one row each.

One file per chapter of the Array API standard. A row says where users find an operation, what it
costs on any machine, what calibration measures for it, and which arguments a backend may see.
"""

from __future__ import annotations

from types import MappingProxyType

from dispatch_xp.operations import (
    contraction,
    elementwise,
    fft,
    linalg,
    sorting,
    statistical,
)
from dispatch_xp.operations.row import Operation, Problem, Workload

__all__ = ["BLAS", "OPERATIONS", "Operation", "Problem", "Workload"]

OPERATIONS: MappingProxyType[str, Operation] = MappingProxyType(
    {
        row.name: row
        for module in (contraction, linalg, fft, elementwise, statistical, sorting)
        for row in module.ROWS
    }
)
"""Every operation by its name."""

BLAS = frozenset(row.name for row in (*contraction.ROWS, *linalg.ROWS))
"""The operations that wake the threads of the reference's BLAS."""
