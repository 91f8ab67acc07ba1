"""The variables that switch a program on, and its children with it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dispatch_xp import quiet_pools
from dispatch_xp.errors import ConfigError
from dispatch_xp.programs import VARIABLE

__all__ = ["SITE", "Plan", "new_spool", "removed", "variables"]

SITE = str(Path(__file__).parent / "site")


class Plan(NamedTuple):
    """What a started program is to do.

    Attributes
    ----------
    measure : bool
        Only measure what could be offloaded: everything runs on the reference.
    main : int
        The process that reports at its end; on Windows its parent; 0 if none does.
    spool : str
        The folder where the other processes leave what they have counted, made by the first of
        them; empty if nobody reads it.
    trace : str
        The file to which every call is written; empty for none.
    report : str
        The file to which the report is written as JSON; empty for none.
    summary : bool
        Whether the report is printed.
    set : tuple of str
        The other variables that were set with this one.
    """

    measure: bool = False
    main: int = 0
    spool: str = ""
    trace: str = ""
    report: str = ""
    summary: bool = False
    set: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the value of the variable."""
        return json.dumps(self._asdict())

    @classmethod
    def current(cls) -> Plan:
        """Return what this process is to do.

        Raises
        ------
        ConfigError
            If the variable was not written by this version.
        """
        try:
            return cls(**json.loads(os.environ[VARIABLE]))
        except (TypeError, ValueError):
            raise ConfigError(f"{VARIABLE} is not set by this version of dispatch-xp") from None

    @property
    def is_main(self) -> bool:
        """Whether this process is the one that reports."""
        if not self.main:
            return False
        # Windows can't exchange the program of a process, so there it is a child
        return self.main == (os.getppid() if os.name == "nt" else os.getpid())


def new_spool() -> str:
    """Return the path of a folder that does not exist yet."""
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"dispatch-xp-{os.urandom(8).hex()}")


def variables(
    plan: Plan, settings: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables to set.

    Parameters
    ----------
    plan : Plan
        What to do.
    settings : mapping
        ``DISPATCH_XP_*`` variables.
    environ : mapping
        The variables that are set already.
    """
    rest = _without(environ.get("PYTHONPATH", ""))
    found = {"PYTHONPATH": os.pathsep.join([SITE, *([rest] if rest else [])])}
    quiet = quiet_pools.missing(environ)
    plan = plan._replace(set=(*quiet, *settings))
    return {**found, **quiet, **settings, VARIABLE: plan.text()}


def removed(environ: Mapping[str, str]) -> list[str]:
    """Return the lines that undo in a shell what :func:`variables` sets.

    Parameters
    ----------
    environ : mapping
        The variables that are set.
    """
    import shlex

    rest = _without(environ.get("PYTHONPATH", ""))
    plan = Plan.current() if VARIABLE in environ else Plan()
    gone = [VARIABLE, *plan.set]
    path = [f"export PYTHONPATH={shlex.quote(rest)}"] if rest else ["unset PYTHONPATH"]
    return [f"unset {' '.join(gone)}", *path]


def _without(path: str) -> str:
    """Return a ``PYTHONPATH`` without our folder."""
    return os.pathsep.join(part for part in path.split(os.pathsep) if part and part != SITE)
