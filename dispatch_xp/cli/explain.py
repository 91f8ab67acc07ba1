"""``dispatch-xp explain``."""

from __future__ import annotations

import ast
from typing import Any

import click

__all__ = ["command"]


def _shape(text: str) -> tuple[int, ...]:
    lengths = text.lower().split("x")
    if not all(n.isascii() and n.isdigit() for n in lengths):
        raise click.BadParameter(f"{text!r} is not a shape; write 4096x4096, or 1000 for a vector")
    return tuple(map(int, lengths))


def _option(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not key=value")
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return key, value


@click.command()
@click.argument("operation")
@click.argument("shapes", nargs=-1, required=True, type=_shape)
@click.option("--dtype", default="float64", show_default=True, help="Of the arguments.")
@click.option("--backend", help="Instead of the configured one.")
@click.option("-l", "--level", type=click.IntRange(1, 10), help="Instead of the configured one.")
@click.option("-o", "--option", "options", multiple=True, help="An argument, as key=value.")
def command(
    operation: str,
    shapes: tuple[tuple[int, ...], ...],
    dtype: str,
    backend: str | None,
    level: int | None,
    options: tuple[str, ...],
) -> None:
    r"""Say where a call would run, and why.

    \b
    dispatch-xp explain matmul 4096x4096 4096x4096 --dtype float32
    dispatch-xp explain linalg.svd 2000x500 -o full_matrices=False
    """
    import warnings

    import numpy as np

    from dispatch_xp.errors import DispatchWarning
    from dispatch_xp.explanation import explain

    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise click.BadParameter(f"{dtype!r} is not a dtype", param_hint="--dtype") from None
    chosen = dict(_option(text) for text in options)
    clash = chosen.keys() & {"dtype", "backend", "level"}
    if clash:
        raise click.BadParameter(f"give {clash.pop()} as an option of its own", param_hint="-o")
    with warnings.catch_warnings():
        # the explanation says it too
        warnings.simplefilter("ignore", DispatchWarning)
        found = explain(operation, *shapes, dtype=kind, backend=backend, level=level, **chosen)
    click.echo(found)
