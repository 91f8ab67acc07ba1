"""What follows a command that starts a program: Python's own command line, handed on unread."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import click

__all__ = ["ProgramCommand", "start"]


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


def start(program: Sequence[str], variables: Mapping[str, str]) -> None:
    """Become a Python that runs a program; doesn't return.

    Parameters
    ----------
    program : sequence of str
        As after ``python``.
    variables : mapping
        Variables to set.
    """
    if not program:
        raise click.UsageError("there is no program: give a script, -m MODULE, -c CODE, or -")
    command = [sys.executable, *program]
    environ = {**os.environ, **variables}
    if os.name == "nt":
        # a process can't become another program there
        import subprocess

        raise SystemExit(subprocess.run(command, env=environ, check=False).returncode)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, command, environ)
