"""``dispatch-xp run``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dispatch_xp.cli.paths import NewFile
from dispatch_xp.cli.program import ProgramCommand, start

__all__ = ["command", "emptied", "settings_of"]


@click.command(cls=ProgramCommand)
@click.option("--backend", help="auto, reference, or one backend's name.")
@click.option("-l", "--level", type=click.IntRange(1, 10), help="1 (cautious) to 10 (eager).")
@click.option("--policy", help="cost-model, threshold, random, reference, or a plug-in's name.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="A configuration file.")  # fmt: skip
@click.option("--verify", is_flag=True, help="Run the reference too, use its results, compare.")
@click.option("--trace", type=NewFile(), help="Write every call to FILE.")
@click.option("--json", "report", type=NewFile(), help="Also write the summary to FILE.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
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
    from dispatch_xp.programs.environment import Plan, new_spool, variables

    settings = settings_of(
        backend=backend, level=level, policy=policy, config=config, verify=verify
    )
    plan = Plan(
        main=os.getpid(),
        spool="" if quiet and report is None else new_spool(),
        trace=emptied(trace),
        report=str(report.absolute()) if report is not None else "",
        summary=not quiet,
    )
    start(program, variables(plan, settings, os.environ))


def settings_of(
    *, config: Path | None = None, verify: bool = False, **given: object
) -> dict[str, str]:
    """Return options as variables, after checking them with all else that holds.

    Raises
    ------
    ConfigError
        Naming what isn't allowed.
    """
    from dispatch_xp.config import load

    found = {f"DISPATCH_XP_{k.upper()}": str(v) for k, v in given.items() if v is not None}
    if config is not None:
        found["DISPATCH_XP_CONFIG"] = str(config.absolute())
    if verify:
        found["DISPATCH_XP_VERIFY"] = "true"
    # in this process they are checked as they will be in the program's
    os.environ.update(found)
    load()
    return found


def emptied(trace: Path | None) -> str:
    """Make an empty file for a trace, and return its path; an empty string for none."""
    if trace is None:
        return ""
    trace.parent.mkdir(parents=True, exist_ok=True)
    trace.write_bytes(b"")
    return str(trace.absolute())
