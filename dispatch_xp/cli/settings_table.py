"""Every effective setting and where it comes from, as a table."""

from __future__ import annotations

import msgspec
from rich.table import Table

from dispatch_xp.cli.console import table
from dispatch_xp.config import Resolved

__all__ = ["settings_table"]


def settings_table(resolved: Resolved) -> Table:
    """Return the settings, a row each."""
    made = table("setting", "value", "from")
    values = msgspec.to_builtins(resolved.settings)
    for key, value in values.items():
        made.add_row(key, _text(value), resolved.sources[key])
    return made


def _text(value: object) -> str:
    if value is None or value == {}:
        return "-"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
