"""The options by which a command sets what a program is routed by."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["settings_options", "variables_of"]

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--backend", help="auto, reference, or one backend's name."),
    click.option("-l", "--level", type=click.IntRange(1, 10), help="1 (cautious) to 10 (eager)."),
    click.option("--policy", help="cost-model, threshold, random, reference, or a plug-in's name."),
    click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A configuration file.",
    ),
)


def settings_options(function: Command) -> Command:
    """Give a command the options."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def variables_of(
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
