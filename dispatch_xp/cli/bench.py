"""``dispatch-xp bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

__all__ = ["command"]


@click.command()
@click.option("--quick", is_flag=True, help="Smaller sizes; well under a minute.")
@click.option(
    "--dtype",
    default="float32",
    show_default=True,
    type=click.Choice(["float32", "float64", "complex64", "complex128"]),
)
@click.option("--json", "file", type=click.Path(path_type=Path), help="Also write the figures.")
def command(quick: bool, dtype: str, file: Path | None) -> None:
    """Measure CPU, backend, transfer and result, here.

    Every available backend against NumPy and SciPy, results compared, and where `auto` would send
    each call.
    """
    from dispatch_xp.bench import Row, measure, problems
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
    rows: list[Row] = report.rows
    out.print(_table(rows))
    for problem in chosen:
        if problem.shrunk:
            out.print(f"{problem.label}: {problem.shrunk}", style="dim")
    for note in report.notes:
        out.print(note, style="dim", soft_wrap=True)
    if file is not None:
        import msgspec

        text = msgspec.json.encode([_plain(row) for row in rows])
        file.write_bytes(msgspec.json.format(text, indent=1))
        out.print(f"wrote {file}")
    if any(row.result not in ("same", "") for row in rows):
        raise SystemExit(1)


def _table(rows: list[Any]) -> Any:
    from dispatch_xp.cli.console import table
    from dispatch_xp.recorder import seconds_text

    numbers = ("NumPy", "time", "of that copies", "speed-up")
    made = table("operation", "NumPy", "backend", *numbers[1:], "result", "auto", right=numbers)
    last = None
    for row in rows:
        first = row.label != last
        last = row.label
        gain = row.reference / row.seconds if row.seconds else 0
        made.add_row(
            row.label if first else "",
            seconds_text(row.reference) if first else "",
            row.backend,
            seconds_text(row.seconds) if row.seconds else "-",
            seconds_text(row.copies) if row.copies else "-",
            f"{gain:.2f}" if row.seconds else "-",
            row.result if row.seconds else row.note,
            "<-- auto" if row.chosen else ("stays on NumPy" if first and row.stays else ""),
        )
    return made


def _plain(row: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(row)
