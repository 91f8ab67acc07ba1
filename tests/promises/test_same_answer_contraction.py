"""Products and contractions: the reference's answer to rounding, wherever it was computed."""

from __future__ import annotations

import pytest
from arguments import PRODUCTS, TABLE, function
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check


@pytest.mark.usefixtures("persistent")
@pytest.mark.parametrize("path", PRODUCTS)
@settings(max_examples=25)
@given(data=st.data())
def test_same_answer(path, configuration, data):
    args, kwargs = data.draw(TABLE[path])
    check(configuration, function(path), *args, **kwargs)
