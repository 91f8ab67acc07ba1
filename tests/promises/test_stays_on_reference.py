"""What a backend cannot do exactly stays on the reference, bit by bit, with a reason."""

from __future__ import annotations

import numpy as np
import pytest
from arguments import ELEMENTWISE, TABLE, function
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import check

from dispatch_xp.errors import Unsupported
from dispatch_xp.functions import FUNCTIONS


class Own(np.ndarray):
    """A user's subclass."""


def _memmap(a: np.ndarray) -> np.ndarray:
    import tempfile

    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=a.dtype, shape=a.shape, mode="w+")
    mapped[...] = a
    return mapped


EXOTIC = {
    "half": lambda a: a.astype("e"),
    "long double": lambda a: a.astype("g"),
    "complex long double": lambda a: a.astype("G"),
    "object": lambda a: a.astype("O"),
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "structured": lambda a: np.zeros(a.shape, dtype=[("x", "f8"), ("y", "f8")]),
    "datetime": lambda a: np.zeros(a.shape, dtype="M8[s]"),
    "timedelta": lambda a: np.zeros(a.shape, dtype="m8[s]"),
    "text": lambda a: np.full(a.shape, "x"),
    "matrix": lambda a: np.matrix(a) if a.ndim == 2 else a.view(Own),
    "masked": lambda a: np.ma.masked_array(a, mask=np.arange(a.size).reshape(a.shape) % 3 == 1),
    "subclass": lambda a: a.view(Own),
    "memmap": _memmap,
    "size zero": lambda a: a[..., :0],
}


# ufuncs are routed by the loop, which never sees anything but plain native numbers
PRODUCTS_BY_LOOP = ("matmul", "vecdot", "linalg.matmul", "linalg.vecdot", "matvec", "vecmat")
LOOPS = {*ELEMENTWISE, *(f"numpy.{name}" for name in PRODUCTS_BY_LOOP)}
PATHS = [path for path in TABLE if path not in LOOPS]


@pytest.mark.usefixtures("persistent")
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=12)
@given(data=st.data())
def test_exotic_arrays_stay(path, configuration, data):
    args, kwargs = data.draw(TABLE[path])
    kind = data.draw(st.sampled_from(sorted(EXOTIC)))
    places = [i for i, x in enumerate(args) if type(x) is np.ndarray and x.dtype.kind in "biuf"]
    assume(places and args[places[0]].size and args[places[0]].ndim)
    # SciPy 1.17's lu reads memory that was never written if it is big-endian
    assume((path, kind) != ("scipy.linalg.lu", "big-endian"))
    # one byte has no order
    assume(kind != "big-endian" or args[places[0]].dtype.itemsize > 1)
    plain = args[places[0]]
    if path == "scipy.linalg.inv":
        # SciPy 1.17 crashes where it converts an array in Fortran order
        plain = np.ascontiguousarray(plain)
    with np.errstate(all="ignore"):
        exotic = EXOTIC[kind](plain)
    args = (*args[: places[0]], exotic, *args[places[0] + 1 :])
    how = check(configuration, function(path), *args, **kwargs)
    outermost = how.records[0] if how.records else None
    # a subclass may be taken apart by the reference, whose inner calls are calls of their own
    assert outermost is None or outermost.backend == "reference" or kind in ("subclass", "masked")


@pytest.mark.parametrize("how", ["raise", "call", "print", "log"])
@pytest.mark.parametrize("path", ["numpy.linalg.inv", "numpy.fft.fft", "numpy.sum", "numpy.exp"])
def test_errstate_that_asks_for_more_than_warnings_stays(path, how, configuration):
    a = np.random.default_rng(0).standard_normal((20, 20))
    with np.errstate(all=how, call=lambda *_: None):
        seen = check(configuration, function(path), a)
    assert not seen.backends


@pytest.mark.parametrize("path", ["numpy.divide", "numpy.matmul", "numpy.linalg.det", "numpy.prod"])
def test_errstate_raise_raises(path, configuration):
    a = np.full((20, 20), 1e300)
    args = (a,) * getattr(function(path), "nin", 1)
    with np.errstate(all="raise"):
        check(configuration, function(path), *args)


def test_errstate_ignore_is_silent(configuration):
    a = np.full((20, 20), 1e300)
    with np.errstate(all="ignore"):
        for path in ("numpy.matmul", "numpy.multiply", "numpy.divide"):
            check(configuration, function(path), a, a)


def test_the_reason_is_recorded(configuration):
    a = np.ones((4, 4), dtype=np.longdouble)
    how = check(configuration, np.fft.fft, a)
    assert [str(r.reason) for r in how.records] == ["dtype stays on the reference"]


@pytest.mark.parametrize(
    ("path", "shape", "kwargs"),
    [
        ("scipy.linalg.svd", (4799, 53130), {}),
        ("scipy.linalg.svd", (53130, 53130), {"full_matrices": False}),
        ("scipy.linalg.pinv", (2**20, 2**11), {}),
        ("scipy.linalg.polar", (2**11, 2**20), {}),
    ],
)
def test_what_scipy_refuses_as_too_large_is_not_begun_elsewhere(path, shape, kwargs):
    a = np.broadcast_to(1.0, shape)  # takes no memory
    with pytest.raises(Unsupported, match="too many for LAPACK's indices"):
        FUNCTIONS[path].bind(a, **kwargs)
    small = {"full_matrices": False} if path.endswith("svd") else {}
    assert FUNCTIONS[path].bind(a[:, :2], **small).call.shapes == ((shape[0], 2),)
