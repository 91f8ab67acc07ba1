"""Reductions, searches and sorting: the reference's answer to rounding."""

from __future__ import annotations

import pytest
from arguments import REDUCTIONS, TABLE, function
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check


@pytest.mark.usefixtures("persistent")
@pytest.mark.parametrize("path", REDUCTIONS)
@settings(max_examples=25)
@given(data=st.data())
def test_same_answer(path, configuration, data):
    args, kwargs = data.draw(TABLE[path])
    check(configuration, function(path), *args, **kwargs)
