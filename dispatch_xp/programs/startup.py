"""What a process does that was started with routing on, before it imports NumPy."""

from __future__ import annotations

import atexit
import contextlib
import sys
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING

from dispatch_xp.errors import ConfigError
from dispatch_xp.imports import AfterImport
from dispatch_xp.programs.environment import Plan

if TYPE_CHECKING:
    from dispatch_xp.programs.session import Session

__all__ = ["tell", "watch"]

_began = perf_counter()
_session: Session | None = None


def tell(message: str) -> None:
    """Print lines to standard error, where there is one."""
    stream = sys.stderr if sys.stderr is not None and not sys.stderr.closed else sys.__stderr__
    # where nobody listens the program's own exit code stands
    with contextlib.suppress(OSError, ValueError):
        if stream is not None:
            stream.write("".join(f"dispatch-xp: {line}\n" for line in message.splitlines()))


def watch() -> None:
    """Switch routing on when the program imports NumPy."""
    try:
        plan = Plan.current()
    except ConfigError as error:
        tell(str(error))
        return
    if plan.is_main:
        atexit.register(_end, plan)

    def begin(module: ModuleType) -> None:
        global _session
        try:
            from dispatch_xp.programs.session import Session

            _session = Session(plan, _began)
        except Exception as error:
            # never in the program's way
            tell(f"not routed: {error}")

    AfterImport("numpy", begin)


def _end(plan: Plan) -> None:
    if _session is not None:
        return
    if plan.summary:
        tell("the program did not import NumPy")
    if plan.report:
        tell(f"so {plan.report} was not written")
