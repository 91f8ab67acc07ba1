"""``dispatch-xp bench``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dispatch_xp.cli.paths import NewFile

if TYPE_CHECKING:
    from rich.table import Table

    from dispatch_xp.bench import Bench, Row

__all__ = ["command"]

_NARROW = 90
_ABOUT = (
    "copies: part of the time. speed-up: NumPy's time by the backend's. "
    "auto: where level {level} would send the call, by predicted times."
)


@click.command()
@click.option("--quick", is_flag=True, help="Smaller sizes; well under a minute.")
@click.option(
    "--dtype",
    default="float32",
    show_default=True,
    type=click.Choice(["float32", "float64", "complex64", "complex128"]),
)
@click.option("--json", "file", type=NewFile(), help="Also write the figures to FILE.")
def command(quick: bool, dtype: str, file: Path | None) -> None:
    """Measure CPU, backend, transfer and result, here.

    Every available backend against NumPy and SciPy, results compared, and where `auto` would send
    each call.
    """
    from dispatch_xp.quiet_pools import make_quiet

    # before NumPy is loaded
    make_quiet()
    from dispatch_xp.bench import measure, problems
    from dispatch_xp.cli.console import bar, console
    from dispatch_xp.config import load

    settings = load().settings
    chosen = problems(dtype, quick=quick)
    out = console()
    with bar(len(chosen) + 1.0) as progress:
        task = progress.task_ids[0]

        def tell(done: float, label: str) -> None:
            progress.update(task, completed=done, description=label[:44].ljust(44))

        report = measure(settings, chosen, quick=quick, tell=tell)
    benches = {bench.label: bench for bench in chosen}
    out.print(_table(report.rows, benches, narrow=out.width < _NARROW))
    about = _ABOUT.format(level=settings.level)
    for line in (about, *_shrunk(chosen), *_refusals(report.rows, benches), *report.notes):
        out.print(line, style="dim", soft_wrap=True)
    if file is not None:
        import msgspec

        text = msgspec.json.encode([_plain(row, benches[row.label]) for row in report.rows])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.format(text, indent=1))
        out.print(f"wrote {file}", soft_wrap=True)
    if any(row.result not in ("same", "") for row in report.rows):
        raise SystemExit(1)


def _size(bench: Bench) -> str:
    """Return the size alone, without blanks."""
    text = bench.label.removeprefix(f"{bench.operation} ").removesuffix(f" {bench.dtype}")
    return text.removesuffix(" elements").replace(" ", "")


def _table(rows: list[Row], benches: dict[str, Bench], *, narrow: bool) -> Table:
    from rich.text import Text

    from dispatch_xp.cli.console import table
    from dispatch_xp.table import seconds_text

    numbers = ("NumPy", "time", "copies", "speed-up")
    columns = ("operation", "size", "dtype", "NumPy", "backend", *numbers[1:], "result", "auto")
    made = table(*columns, right=numbers)
    if narrow:
        made.padding = (0, 1, 0, 0)
    for label, bench in benches.items():
        group = [row for row in rows if row.label == label]
        chosen = next((row.backend for row in group if row.chosen), "NumPy")
        reference = seconds_text(group[0].reference)
        first = (bench.operation, _size(bench), bench.dtype, reference)
        timed = [row for row in group if row.seconds]
        if not timed:
            made.add_row(*first, "-", "-", "-", "-", "-", chosen)
        for position, row in enumerate(timed):
            made.add_row(
                *(first if position == 0 else ("", "", "", "")),
                row.backend,
                seconds_text(row.seconds),
                seconds_text(row.copies) if row.copies else "-",
                f"{row.reference / row.seconds:.2f}",
                Text(row.result or "-", "" if row.result == "same" else "red"),
                chosen if position == 0 else "",
            )
    return made


def _shrunk(chosen: list[Bench]) -> list[str]:
    """Say which sizes are not those of the full list."""
    smaller = [f"{b.operation} {_size(b)} ({b.shrunk})" for b in chosen if b.shrunk]
    return [f"smaller sizes: {', '.join(smaller)}"] if smaller else []


def _refusals(rows: list[Row], benches: dict[str, Bench]) -> list[str]:
    """Say what was not measured, once for all operations with the same reason."""
    operations: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.note:
            listed = operations.setdefault((row.backend, row.note), [])
            listed.append(benches[row.label].operation)
    return [
        f"{backend}: no {', '.join(dict.fromkeys(names))}. {note}"
        for (backend, note), names in operations.items()
    ]


def _plain(row: Row, bench: Bench) -> dict[str, Any]:
    from dataclasses import asdict

    about = {key: getattr(bench, key) for key in ("operation", "size", "dtype", "shrunk")}
    return {**asdict(row), **about}
