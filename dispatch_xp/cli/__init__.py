"""The command line. One file per command; each imports what it needs when it runs."""

from __future__ import annotations

import click

from dispatch_xp.cli.lazy import LazyGroup

__all__ = ["main"]

_COMMANDS = {
    "bench": "Measure CPU, backend, transfer and result, here.",
    "calibrate": "Learn this machine: measure every operation on every backend.",
    "config": "Show, check or write the configuration.",
    "env": "Print what switches every Python program of a shell on, or off.",
    "estimate": "Predict from a trace what each level would save.",
    "explain": "Say where a call would run, and why.",
    "measure": "Run a program unchanged, and say what of it could be offloaded.",
    "plot": "Draw time against size, on every backend.",
    "run": "Run a program with every call routed.",
    "status": "Say what is there, what is missing, and what is set.",
}


@click.group(
    cls=LazyGroup,
    commands_by_name=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="dispatch-xp", prog_name="dispatch-xp")
def main() -> None:
    """Route NumPy and SciPy calls to the fastest backend of this machine."""
