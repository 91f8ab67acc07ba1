"""What follows a command that starts a program: Python's own command line, handed on unread."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from dispatch_xp.cli.paths import NewFile

__all__ = ["ProgramCommand", "report_options", "start"]

Command = TypeVar("Command", bound=Callable[..., Any])


class ProgramCommand(click.Command):
    """A command whose own options end where the program's command line begins.

    That is a script, ``-m module``, ``-c code`` or ``-``, with whatever follows it.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Mark where the program begins, so that no option of it is taken for ours."""
        with_value = {
            name
            for option in self.params
            if isinstance(option, click.Option) and not option.is_flag
            for name in option.opts
        }
        position = 0
        while position < len(args):
            given = args[position]
            if given == "-" or not given.startswith("-") or given[:2] in ("-m", "-c"):
                args = [*args[:position], "--", *args[position:]]
                break
            if given == "--":
                break
            position += 2 if given in with_value else 1
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show how Python is called."""
        return ["[OPTIONS]", "(SCRIPT | -m MODULE | -c CODE | -)", "[ARGS]..."]


_REPORT = (
    click.option("--trace", type=NewFile(), help="Write every call to FILE, for `estimate`."),
    click.option("--json", "report", type=NewFile(), help="Also write the report to FILE."),
    click.option("-q", "--quiet", is_flag=True, help="Print no report."),
)


def report_options(function: Command) -> Command:
    """Give a command the options that say what is told of the program, and where."""
    for option in reversed(_REPORT):
        function = option(function)
    return function


def start(
    program: Sequence[str],
    settings: Mapping[str, str],
    *,
    measure: bool = False,
    trace: Path | None,
    report: Path | None,
    quiet: bool,
) -> None:
    """Become a Python that runs a program; doesn't return.

    Parameters
    ----------
    program : sequence of str
        As after ``python``.
    settings : mapping
        ``DISPATCH_XP_*`` variables to set.
    measure : bool
        Whether everything stays on the reference.
    trace, report : Path or None
        Where every call, and the report, are written.
    quiet : bool
        Whether no report is printed.
    """
    from dispatch_xp.programs.environment import Plan, new_spool, variables

    if not program:
        raise click.UsageError("there is no program: give a script, -m MODULE, -c CODE, or -")
    if trace is not None:
        trace.parent.mkdir(parents=True, exist_ok=True)
        trace.write_bytes(b"")
    plan = Plan(
        measure=measure,
        main=os.getpid(),
        spool="" if quiet and report is None else new_spool(),
        trace=str(trace.absolute()) if trace is not None else "",
        report=str(report.absolute()) if report is not None else "",
        summary=not quiet,
    )
    command = [sys.executable, *program]
    environ = {**os.environ, **variables(plan, settings, os.environ)}
    if os.name == "nt":
        # a process can't become another program there
        import subprocess

        raise SystemExit(subprocess.run(command, env=environ, check=False).returncode)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, command, environ)
