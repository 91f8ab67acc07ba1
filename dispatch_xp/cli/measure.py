"""``dispatch-xp measure``."""

from __future__ import annotations

from pathlib import Path

import click

from dispatch_xp.cli.program import ProgramCommand, report_options, start

__all__ = ["command"]


@click.command(cls=ProgramCommand)
@report_options
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(trace: Path | None, report: Path | None, quiet: bool, program: tuple[str, ...]) -> None:
    """Run a program unchanged, and say what of it could be offloaded.

    Everything runs on NumPy and SciPy. The report on standard error says which part of the run time
    is inside calls that some backend could take, installed here or not: by operation, dtype, size
    and line.
    """
    start(program, {}, measure=True, trace=trace, report=report, quiet=quiet)
