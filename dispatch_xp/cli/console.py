"""The console that commands print to: plain text when piped, colours and bars in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

__all__ = ["bar", "console", "table"]


def console(*, err: bool = False) -> Console:
    """Return a console; as wide as it needs to be where there is no terminal."""
    # no markup: the names of extras, as in 'dispatch-xp[torch]', look like it
    found = Console(stderr=err, highlight=False, markup=False)
    if not found.is_terminal:
        found = Console(stderr=err, highlight=False, markup=False, width=160)
    return found


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """Return an empty table; the columns named in `right` hold numbers."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        numbers = column in right
        made.add_column(column, justify="right" if numbers else "left", no_wrap=numbers)
    return made


@contextmanager
def bar(total: float) -> Iterator[Progress]:
    """Show a progress bar with the time left, on standard error, if that is a terminal."""
    err = console(err=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    ) as progress:
        progress.add_task("", total=total)
        yield progress
