"""``dispatch-xp plot``."""

from __future__ import annotations

from pathlib import Path

import click

from dispatch_xp.cli.paths import NewFile

__all__ = ["command"]


@click.command()
@click.argument("operation", required=False)
@click.option("--layout", help="One only, such as matrix or stack.")
@click.option("--dtype", help="One only.")
@click.option("-l", "--level", type=click.IntRange(1, 10), help="Instead of the configured one.")
@click.option("--profile", type=click.Path(path_type=Path), help="Instead of the configured one.")
@click.option("-o", "--output", type=NewFile(), help="A .png, .svg or .pdf file.")
def command(
    operation: str | None,
    layout: str | None,
    dtype: str | None,
    level: int | None,
    profile: Path | None,
    output: Path | None,
) -> None:
    r"""Draw the time of an operation against its size, on every backend; without one, of all.

    \b
    dispatch-xp plot matmul --dtype float32 -o matmul.svg
    dispatch-xp plot -o profile.pdf
    """
    import numpy as np

    from dispatch_xp.plot import plot
    from dispatch_xp.profile import read

    if dtype is not None:
        try:
            np.dtype(dtype)
        except TypeError:
            raise click.BadParameter(f"{dtype!r} is not a dtype", param_hint="--dtype") from None
    found = plot(
        operation,
        layout=layout,
        dtype=dtype,
        level=level,
        profile=read(profile) if profile is not None else None,
    )
    path = output or Path(f"{operation or 'profile'}.png")
    found.save(path)
    click.echo(f"wrote {path}")
