"""``dispatch-xp config``."""

from __future__ import annotations

from pathlib import Path

import click

from dispatch_xp.cli.paths import NewFile

__all__ = ["command"]


@click.group()
def command() -> None:
    """Show, check or write the configuration."""


@command.command()
def show() -> None:
    """Print every effective setting and where it comes from."""
    from dispatch_xp.cli.console import console
    from dispatch_xp.cli.settings_table import settings_table
    from dispatch_xp.config import load

    console().print(settings_table(load()))


@command.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
def check(file: Path | None) -> None:
    """Check FILE, or everything that is in force here."""
    from dispatch_xp.config import check_file, load

    if file is None:
        load()
        click.echo("the configuration is valid")
    else:
        check_file(file)
        click.echo(f"{file} is valid")


@command.command()
@click.argument("file", required=False, type=NewFile())
@click.option("--user", is_flag=True, help="Write your own file, for all folders.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def init(file: Path | None, user: bool, force: bool) -> None:
    """Write a file with every key, its default and what it means.

    Without FILE, to dispatch_xp.toml in the working folder.
    """
    from dispatch_xp.config import user_file
    from dispatch_xp.config_template import TEMPLATE

    if file is not None and user:
        raise click.UsageError("give a FILE or --user, not both")
    path = user_file() if user else file or Path("dispatch_xp.toml")
    if path.exists() and not force:
        raise click.UsageError(f"{path} exists; --force replaces it")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEMPLATE, encoding="utf-8")
    click.echo(f"wrote {path}")
