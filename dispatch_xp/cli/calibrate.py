"""``dispatch-xp calibrate``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatch_xp.cli.paths import NewFile

if TYPE_CHECKING:
    from dispatch_xp.profile import Profile

__all__ = ["command"]


def _names(text: str | None) -> list[str] | None:
    return [name.strip() for name in text.split(",") if name.strip()] if text else None


@click.command()
@click.option("--quick", "depth", flag_value="quick", help="Under a minute.")
@click.option("--full", "depth", flag_value="full", help="Up to the largest sizes; half an hour.")
@click.option("--operations", help="Only these, separated by commas.")
@click.option("--dtypes", help="Only these, separated by commas.")
@click.option("--backends", help="Only these, separated by commas.")
@click.option("--continue", "go_on", is_flag=True, help="Go on where the last one was stopped.")
@click.option("--output", type=NewFile(), help="Instead of the configured file.")
def command(
    depth: str | None,
    operations: str | None,
    dtypes: str | None,
    backends: str | None,
    go_on: bool,
    output: Path | None,
) -> None:
    """Learn this machine: measure every operation on every backend.

    Takes under five minutes. The profile replaces the old one only when it is complete: what
    Ctrl-C leaves waits beside it for --continue. With --operations, --dtypes or --backends, the
    rest of the old profile stays, and the number of BLAS threads is compared only if it never was.
    """
    from dispatch_xp.quiet_pools import make_quiet

    # before NumPy is loaded
    make_quiet()
    import numpy as np

    from dispatch_xp.calibration import Interrupted, Progress, calibrate
    from dispatch_xp.cli.blas_threads import sentences
    from dispatch_xp.cli.console import bar, console
    from dispatch_xp.config import load
    from dispatch_xp.profile import default_path, merged, write

    arguments = {"backends": _names(backends)} if backends else {}
    settings = load(**arguments).settings
    chosen = _checked(_names(operations))
    for name in _names(dtypes) or ():
        try:
            np.dtype(name)
        except TypeError:
            raise click.BadParameter(f"{name!r} is not a dtype", param_hint="--dtypes") from None
    path = output or (Path(settings.profile) if settings.profile else default_path())
    # what a stopped calibration leaves
    rest = path.with_name(f"{path.name}.part")
    known = None
    if go_on:
        known = _old(rest)
        if known is None:
            raise click.UsageError(f"there is nothing to go on with: no {rest} of this machine")
    old = _old(path)
    part = bool(operations or dtypes or backends)
    with bar(1.0) as progress:
        task = progress.task_ids[0]

        def tell(step: Progress) -> None:
            progress.update(task, completed=step.share, description=step.label[:44].ljust(44))

        try:
            profile = calibrate(
                settings,
                depth or (known.depth if known is not None else "default"),
                operations=chosen,
                dtypes=_names(dtypes),
                blas=not part or old is None or old.blas_threads is None,
                known=known,
                progress=tell,
            )
        except Interrupted as stopped:
            write(stopped.profile, rest)
            raise click.ClickException(
                f"stopped after {len(stopped.profile.curves)} speed curves; "
                "`dispatch-xp calibrate --continue` goes on, the old profile is as it was"
            ) from None
    if not profile.curves:
        raise click.UsageError("; ".join(("nothing was measured", *profile.notes)))
    measured = len(profile.curves)
    if old is not None and part:
        profile = merged(old, profile)
    write(profile, path)
    rest.unlink(missing_ok=True)
    out = console()
    replaced = f", in place of {len(old.curves)}" if old is not None else ""
    total = f" of {len(profile.curves)}" if len(profile.curves) != measured else ""
    out.print(f"wrote {path}: {measured} speed curves{total}{replaced}", soft_wrap=True)
    _summary(profile)
    if profile.blas_threads is not None:
        out.print("BLAS threads", style="bold")
        for line in sentences(profile.blas_threads, os.environ):
            out.print(f"  {line}", soft_wrap=True)
    for note in profile.notes[:5]:
        out.print(f"  {note}", style="dim", soft_wrap=True)
    if len(profile.notes) > 5:
        out.print(f"  and {len(profile.notes) - 5} more notes in the file", style="dim")


def _checked(operations: list[str] | None) -> list[str] | None:
    from dispatch_xp.config import check_operation

    for name in operations or ():
        check_operation(name)
    return operations


def _old(path: Path) -> Profile | None:
    """Return a profile of this machine, or None if there is no usable one."""
    from dispatch_xp.errors import ProfileError
    from dispatch_xp.profile import read

    try:
        return read(path)
    except ProfileError:
        return None


def _summary(profile: Profile) -> None:
    """Say what each backend wins, at the largest size that was measured."""
    from dispatch_xp.cli.console import console, table
    from dispatch_xp.decision import REFERENCE

    made = table("backend", "curves", "wins", "most at its largest size", right=("curves", "wins"))
    for name in profile.backends:
        gains = []
        count = 0
        for (operation, layout, dtype), curves in profile.curves.items():
            if name not in curves or REFERENCE not in curves:
                continue
            count += 1
            last = curves[name].points[-1]
            gain = curves[REFERENCE].seconds(last.work) / last.seconds
            if gain > 1:
                gains.append((gain, f"{operation} {layout} {dtype}"))
        best = ", ".join(f"{what} {gain:.1f}x" for gain, what in sorted(gains, reverse=True)[:3])
        made.add_row(name, str(count), str(len(gains)), best)
    console().print(made)
