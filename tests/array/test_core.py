"""The compiled core of the array, and what stands in for it without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

import dispatch_xp as xp
from dispatch_xp.array.core import COMPILED, core

WITHOUT = """
import sys
sys.modules["dispatch_xp._array_core"] = None
import numpy as np
import dispatch_xp as xp
from dispatch_xp.array.core import COMPILED
assert not COMPILED
x = xp.asarray([1.0, -2.0, 3.0])
a = np.asarray(x)
operators = "+ - * / // % ** < <= == != > >=".split()
for sign in operators:
    for left, right in (("x", "x"), ("x", "2.5"), ("2.5", "x")):
        got = eval(f"{left} {sign} {right}")
        want = eval(f"{left} {sign} {right}".replace("x", "a"))
        assert type(got) is xp.Array
        np.testing.assert_array_equal(np.asarray(got), want)
i = xp.asarray([6, 3])
for sign in "& | ^ << >>".split():
    np.testing.assert_array_equal(
        np.asarray(eval(f"i {sign} 1")), eval(f"np.asarray(i) {sign} 1"))
for text in ("-x", "+x", "abs(x)", "~i", "xp.exp(x)", "xp.add(x, x)", "x @ x"):
    eval(text)
try:
    x + "text"
except TypeError:
    pass
else:
    raise AssertionError
try:
    hash(x)
except TypeError:
    pass
else:
    raise AssertionError
"""


def test_without_the_compiled_part_everything_works():
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT],
        env={**os.environ, "DISPATCH_XP_BACKEND": "reference"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


compiled = pytest.mark.skipif(not COMPILED, reason="no C compiler when the package was installed")


@compiled
def test_operands_and_results_are_let_go():
    x = xp.ones(10)
    values = np.asarray(x)
    before = sys.getrefcount(values)
    for _ in range(100):
        _ = x + x
        _ = x * 2.0
        _ = -x
        xp.add(x, x)
    assert sys.getrefcount(values) == before
    made = x + x
    seen = weakref.ref(made)
    del made
    assert seen() is None


@compiled
def test_cycles_are_collected():
    import gc

    x = xp.ones(3)
    holder = [x]
    seen = weakref.ref(x)
    holder.append(holder)
    del x, holder
    gc.collect()
    assert seen() is None


@compiled
def test_an_error_of_numpy_s_comes_through():
    with pytest.raises(ValueError, match="broadcast"):
        xp.ones(3) + xp.ones(4)
    with pytest.raises(TypeError):
        xp.ones(3) & xp.ones(3)


@compiled
@pytest.mark.parametrize("entry", [-1, 10**6])
def test_an_entry_that_is_not_there(entry):
    with pytest.raises(IndexError, match="no entry"):
        core.binary(entry, xp.ones(1), xp.ones(1))


@compiled
def test_a_context_in_another_thread_is_seen_by_its_own_calls_only():
    import threading

    x = xp.ones(10**4)
    inside, done = threading.Event(), threading.Event()
    backends = []

    def other():
        with xp.backend("threads"), xp.record() as record:
            inside.set()
            _ = x + x
            done.wait()
        backends.extend(r.backend for r in record.records)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    assert float((x + x)[0]) == 2.0
    done.set()
    thread.join()
    assert backends == ["threads"]
