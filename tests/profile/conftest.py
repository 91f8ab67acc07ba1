"""A published machine profile, as one of ours: a GPU against sixteen cores."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from dispatch_xp.curve import Point
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.profile import BackendProfile, Copy, Machine, Profile

PUBLISHED = Path(__file__).with_name("published.csv")
DEVICES = {"cpu": "reference", "gpu": "gpu"}


def shapes_of(operation: str, n: int) -> tuple[tuple[int, ...], ...]:
    """The shapes of the square problem that was measured; four right-hand sides."""
    second = {"matmul": (n, n), "linalg.solve": (n, 4)}
    return ((n, n), second[operation]) if operation in second else ((n, n),)


def read_published(path: Path) -> Profile:
    """Convert their rates to seconds, and read our rows' work at the same size: formulas differ."""
    points = {}
    with path.open(newline="") as lines:
        for row in csv.DictReader(lines):
            operation, n = row["operation"], int(row["n"])
            if operation not in OPERATIONS:
                continue
            dtype = np.dtype(row["dtype"])
            seconds = float(row["work_flops"]) / float(row["rate_flops_per_s"])
            work = OPERATIONS[operation].workload(shapes_of(operation, n), dtype, {}).work
            layout = points.setdefault(operation, {}).setdefault("matrix", {})
            curve = layout.setdefault(dtype.name, {}).setdefault(DEVICES[row["device"]], [])
            curve.append(Point(work, seconds, n * n))
    copy_in, copy_out = Copy(0.0, 9.71605802e9), Copy(0.0, 7.80743454e9)
    gpu = BackendProfile("published", 0.36438, 0.0, copy_in, copy_out)
    return Profile(Machine("published", "x86_64", 16), points, {"gpu": gpu})


@pytest.fixture(scope="session")
def published() -> Profile:
    return read_published(PUBLISHED)


@pytest.fixture
def published_shapes():
    return shapes_of
