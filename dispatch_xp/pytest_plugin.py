"""A pytest plug-in: runs a test suite with every call routed, without changing it.

::

    pytest -p dispatch_xp.pytest_plugin --dispatch-backend torch
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

__all__ = [
    "pytest_addoption",
    "pytest_configure",
    "pytest_terminal_summary",
    "pytest_unconfigure",
]

_OPTIONS = {
    "backend": "auto, reference, or a backend's name",
    "policy": "cost-model, threshold, random, reference, or an entry point's name",
    "level": "from 1 (cautious) to 10 (eager)",
    "verify": "run the reference too, return its result, and count the differences",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("dispatch-xp", "route NumPy and SciPy calls")
    for key, about in _OPTIONS.items():
        how: dict[str, Any] = {"action": "store_true"} if key == "verify" else {}
        if key == "level":
            how = {"type": int}
        group.addoption(
            f"--dispatch-{key}", dest=f"dispatch_{key}", default=None, help=about, **how
        )


_TALLY: pytest.StashKey[Any] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Switch routing on, for the whole process."""
    from dispatch_xp.config import load
    from dispatch_xp.context import state_of, switch, tell_problem
    from dispatch_xp.errors import DispatchError
    from dispatch_xp.tally import Tally

    options = {key: config.getoption(f"dispatch_{key}") for key in _OPTIONS}
    given = {key: value for key, value in options.items() if value is not None}
    try:
        state = state_of(load(**given).settings)
    except DispatchError as error:
        raise pytest.UsageError(f"dispatch-xp: {error}") from None
    tell_problem(state)
    tally = config.stash[_TALLY] = Tally()
    switch(replace(state, observer=tally))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Switch it off again."""
    if _TALLY in config.stash:
        from dispatch_xp.context import switch

        switch(None)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what ran where; under pytest-xdist that is known to the workers alone."""
    if _TALLY in config.stash:
        terminalreporter.section("dispatch-xp")
        terminalreporter.write_line(str(config.stash[_TALLY].totals))
