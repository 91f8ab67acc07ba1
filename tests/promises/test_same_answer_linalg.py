"""Linear algebra: the reference's answer to rounding, wherever it was computed."""

from __future__ import annotations

import pytest
from arguments import TABLE, function
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check

PATHS = [path for path in TABLE if ".linalg." in path]


@pytest.mark.usefixtures("persistent")
@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=25)
@given(data=st.data())
def test_same_answer(path, configuration, data):
    args, kwargs = data.draw(TABLE[path])
    check(configuration, function(path), *args, **kwargs)
