"""A program while it runs: the state that is on, who is told, and what is said at its end."""

from __future__ import annotations

import atexit
import os
import warnings
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dispatch_xp import files
from dispatch_xp.config import load
from dispatch_xp.context import state_of, switch
from dispatch_xp.imports import AfterImport
from dispatch_xp.observer import beside
from dispatch_xp.programs.environment import Plan
from dispatch_xp.programs.spool import Spool
from dispatch_xp.programs.startup import tell
from dispatch_xp.tally import Tally

if TYPE_CHECKING:
    from dispatch_xp.measurement import Measurement
    from dispatch_xp.trace.writer import TraceWriter

__all__ = ["Session"]


class Session:
    """Routing in a process, from the import of NumPy to the end.

    Parameters
    ----------
    plan : Plan
        What to do.
    began : float
        When the process started, by ``time.perf_counter``.
    """

    def __init__(self, plan: Plan, began: float) -> None:
        self._plan = plan
        self._began = began
        self._counts: Tally | Measurement = _measurement() if plan.measure else Tally()
        self._trace: TraceWriter | None = None
        with warnings.catch_warnings(record=True) as told:
            # the program's own filters may make errors of them
            warnings.simplefilter("always")
            settings = (load(backend="reference") if plan.measure else load()).settings
            state = state_of(settings)
        problems = [str(warning.message) for warning in told]
        problem = getattr(state.policy, "problem", "")
        self._problems = [*problems, *([problem] if problem else [])]
        observer: Any = self._counts
        self._spool: Spool | None = None
        if plan.spool:
            self._spool = Spool(plan.spool, self._counts)
            observer = beside(observer, self._spool)
            if not plan.is_main:
                self._spool.begin()
        if plan.trace:
            from dispatch_xp.trace.writer import TraceWriter

            self._trace = TraceWriter(Path(plan.trace), settings.limits.trace_size, tell)
            observer = beside(observer, self._trace)
        switch(replace(state, observer=observer))
        self._process = os.getpid()
        atexit.register(self.end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)
        AfterImport("multiprocessing.util", self._follow)

    def _in_child(self) -> None:
        """Count from nothing in a forked child."""
        self._counts.reset()
        if self._spool is not None:
            self._spool.begin()
        if self._trace is not None:
            self._trace.after_fork()

    def _follow(self, util: ModuleType) -> None:
        # forked workers end without running what was registered for the exit of their parent
        def register(session: Session) -> None:
            util.Finalize(None, session.end, exitpriority=0)

        util.register_after_fork(self, register)

    def end(self) -> None:
        """Report, or leave the counts to the process that does."""
        plan = self._plan
        if self._trace is not None:
            self._trace.close()
        if os.getpid() != self._process or not plan.is_main:
            if self._spool is not None:
                self._spool.leave()
            return
        seconds = perf_counter() - self._began
        totals = self._counts.totals
        for other in self._spool.collect() if self._spool is not None else ():
            totals.include(other)
        lines = [totals.text(seconds), *self._problems]
        if self._trace is not None:
            lines.append(self._trace.summary())
        if plan.summary:
            tell("\n".join(line for line in lines if line))
        if plan.report:
            try:
                files.replace(Path(plan.report), totals.json(seconds))
            except OSError as error:
                tell(f"{plan.report}: {error.strerror}")


def _measurement() -> Measurement:
    # imported by who measures only
    from dispatch_xp.measurement import Measurement

    return Measurement()
