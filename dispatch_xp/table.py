"""Tables of text, and times as text."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Table", "seconds_text"]


def seconds_text(t: float) -> str:
    """Return a time with three digits and its unit."""
    if t != t:
        return "not timed"
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if t >= factor:
            return f"{t / factor:.3g} {unit}"
    return f"{t / 1e-9:.3g} ns"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text that show themselves, in a terminal and in a notebook."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        lines = [self.header, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        def line(cells: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(c)}</{tag}>" for c in cells) + "</tr>"

        body = "".join(line(row, "td") for row in self.rows)
        return f"<table><thead>{line(self.header, 'th')}</thead><tbody>{body}</tbody></table>"
