"""``dispatch-xp measure``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dispatch_xp.cli.paths import NewFile
from dispatch_xp.cli.program import ProgramCommand, start
from dispatch_xp.cli.run import emptied

__all__ = ["command"]


@click.command(cls=ProgramCommand)
@click.option("--trace", type=NewFile(), help="Write every call to FILE, for `estimate`.")
@click.option("--json", "report", type=NewFile(), help="Also write the report to FILE.")
@click.option("-q", "--quiet", is_flag=True, help="Print no report.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(trace: Path | None, report: Path | None, quiet: bool, program: tuple[str, ...]) -> None:
    """Run a program unchanged, and say what of it could be offloaded.

    Everything runs on NumPy and SciPy. The report on standard error says which part of the run time
    is inside calls that some backend could take, installed here or not: by operation, dtype, size
    and line.
    """
    from dispatch_xp.programs.environment import Plan, new_spool, variables

    plan = Plan(
        measure=True,
        main=os.getpid(),
        spool=new_spool(),
        trace=emptied(trace),
        report=str(report.absolute()) if report is not None else "",
        summary=not quiet,
    )
    start(program, variables(plan, {}, os.environ))
