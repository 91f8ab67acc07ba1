"""A group of commands that imports a command only when it runs, and says errors in one line."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from dispatch_xp.errors import DispatchError

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """Commands live in modules of this package that carry their names.

    Parameters
    ----------
    commands_by_name : dict of str to str
        Each command's one-line help.
    """

    def __init__(self, *args: Any, commands_by_name: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._short = commands_by_name

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names."""
        return sorted(self._short)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name not in self._short:
            return None
        module = import_module(f"dispatch_xp.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, or say which one may have been meant."""
        if args[0] not in self._short:
            import difflib

            if near := difflib.get_close_matches(args[0], self._short, 1):
                ctx.fail(f"No such command {args[0]!r}; did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self._short.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Turn what the user can mend into one line on standard error, and exit code 2."""
        try:
            return super().invoke(ctx)
        except DispatchError as error:
            message = str(error)
        except OSError as error:
            # a file that the user named; anything else is a fault of ours
            if error.filename is None:
                raise
            message = f"{error.filename}: {error.strerror}"
        click.echo(f"dispatch-xp: {message}", err=True)
        sys.exit(2)
