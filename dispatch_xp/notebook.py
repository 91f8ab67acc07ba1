"""Notebooks: ``%load_ext dispatch_xp``, then ``%%dispatch`` at the head of a cell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from dispatch_xp.config import Settings, check_file, load
from dispatch_xp.context import active, state_of, tell_problem
from dispatch_xp.errors import ConfigError, DispatchError
from dispatch_xp.observer import Observer, beside
from dispatch_xp.tally import Tally
from dispatch_xp.trace.writer import TraceWriter

__all__ = ["DispatchMagics"]


@magics_class
class DispatchMagics(Magics):
    """The magic of this package."""

    @magic_arguments()
    @argument("--backend", help="auto, reference, or one backend's name")
    @argument("-l", "--level", type=int, help="1 (cautious) to 10 (eager)")
    @argument("--policy", help="cost-model, threshold, random, reference, or a plug-in's name")
    @argument("--config", help="a configuration file, instead of the one in force")
    @argument("--verify", action="store_true", help="run the reference too, and compare")
    @argument("--trace", help="write every call to this file")
    @argument("-q", "--quiet", action="store_true", help="no summary")
    @cell_magic
    def dispatch(self, line: str, cell: str) -> None:
        """Run a cell with every call routed, and show what ran where."""
        options = parse_argstring(self.dispatch, line)
        try:
            state = state_of(_settings(options))
        except DispatchError as error:
            raise UsageError(str(error)) from None
        tell_problem(state)
        tally = Tally()
        observer: Observer = tally
        trace = None
        if options.trace:
            path = Path(options.trace).expanduser()
            path.write_bytes(b"")
            trace = TraceWriter(path, state.settings.limits.trace_size, print)
            observer = beside(tally, trace)
        try:
            with active(replace(state, observer=observer)):
                result = self.shell.run_cell(cell)
        finally:
            if trace is not None:
                trace.close()
        if not options.quiet:
            display(tally)
        if not result.success:
            # the cell has shown its error; a notebook that runs by itself has to stop all the same
            result.raise_error()


def _settings(options: Any) -> Settings:
    """Return the settings of a line."""
    keys = ("backend", "level", "policy")
    given = {key: getattr(options, key) for key in keys if getattr(options, key) is not None}
    if options.verify:
        given["verify"] = True
    if options.config is None:
        return load(**given).settings
    path = Path(options.config).expanduser()
    if not path.exists():
        raise ConfigError(f"{path} does not exist")
    return load(**{**msgspec.structs.asdict(check_file(path)), **given}).settings
