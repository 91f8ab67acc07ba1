"""``dispatch-xp env``."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from dispatch_xp.cli.settings_options import settings_options, variables_of

__all__ = ["command"]


@click.command()
@settings_options
@click.option("--off", is_flag=True, help="Print what switches them off again.")
def command(
    backend: str | None, level: int | None, policy: str | None, config: Path | None, off: bool
) -> None:
    """Print what switches every Python program of a shell on, or off.

    For a POSIX shell: eval "$(dispatch-xp env)", and eval "$(dispatch-xp env --off)".
    """
    from dispatch_xp.programs.environment import Plan, removed, variables

    if off:
        lines = removed(os.environ)
    else:
        settings = variables_of(backend=backend, level=level, policy=policy, config=config)
        found = variables(Plan(), settings, os.environ)
        lines = [f"export {name}={shlex.quote(value)}" for name, value in found.items()]
        click.echo('dispatch-xp: off again with eval "$(dispatch-xp env --off)"', err=True)
    click.echo("\n".join(lines))
