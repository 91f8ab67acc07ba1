"""No function is forgotten by the tests, and every one is really routed."""

from __future__ import annotations

import pytest
from arguments import TABLE

from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.operations import OPERATIONS


def test_the_table_of_arguments_has_every_function():
    assert set(TABLE) == set(FUNCTIONS)


PROBLEMS = [
    pytest.param(operation, problem, id=f"{operation.name}-{problem.layout}")
    for operation in OPERATIONS.values()
    for problem in operation.problems
]
