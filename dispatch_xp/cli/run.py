"""``dispatch-xp run``."""

from __future__ import annotations

from pathlib import Path

import click

from dispatch_xp.cli.program import ProgramCommand, report_options, start
from dispatch_xp.cli.settings_options import settings_options, variables_of

__all__ = ["command"]


@click.command(cls=ProgramCommand)
@settings_options
@click.option("--verify", is_flag=True, help="Run the reference too, use its results, compare.")
@report_options
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(
    backend: str | None,
    level: int | None,
    policy: str | None,
    config: Path | None,
    verify: bool,
    trace: Path | None,
    report: Path | None,
    quiet: bool,
    program: tuple[str, ...],
) -> None:
    """Run a program with every call routed.

    The program's own command line follows as after `python`. At its end a summary goes to standard
    error. Its children are routed too.
    """
    settings = variables_of(
        backend=backend, level=level, policy=policy, config=config, verify=verify
    )
    start(program, settings, trace=trace, report=report, quiet=quiet)
