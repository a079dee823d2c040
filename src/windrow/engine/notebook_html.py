"""What a notebook shows of answers, plans and connections: plain HTML, without scripts.

Whatever comes from data or from a script is escaped. Styles stand in the elements themselves, so a
cell looks the same wherever it is shown.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from html import escape

import pyarrow as pa

from windrow.columns.text_forms import plain_values
from windrow.core.patterns import UpdatePattern

SHOWN = 20
"""Rows of a table that are shown."""
COLOURS = {
    UpdatePattern.MONOTONIC: "#2a7f3f",
    UpdatePattern.WEAKEST: "#1f5fa8",
    UpdatePattern.WEAK: "#a86a00",
    UpdatePattern.STRICT: "#b3261e",
}
"""From results that never change to those that may be withdrawn at any time."""
_PATTERN = re.compile(r"(↑ )(" + "|".join(pattern.name for pattern in COLOURS) + r")\b")


class Plan(str):
    """The text of EXPLAIN; a notebook shows update patterns in colour.

    >>> Plan("↑ STRICT")._repr_html_()
    '<pre>↑ <span style="color:#b3261e;font-weight:bold">STRICT</span></pre>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        def in_colour(found: re.Match[str]) -> str:
            style = f"color:{COLOURS[UpdatePattern[found[2]]]};font-weight:bold"
            return f'{found[1]}<span style="{style}">{found[2]}</span>'

        return f"<pre>{_PATTERN.sub(in_colour, escape(self))}</pre>"


def table_html(table: pa.Table, caption: str = "", shown: int = SHOWN) -> str:
    """The first rows of a table, and how many more there are.

    >>> table_html(pa.table({"a<b": ["<i>", None]}))
    '<table><tr><th>a&lt;b</th></tr><tr><td>&lt;i&gt;</td></tr><tr><td><i>NULL</i></td></tr></table>'
    """
    columns = [plain_values(column) for column in table.slice(0, shown).columns]
    more = table.num_rows - shown
    footer = f"<p>... and {more:,} more</p>" if more > 0 else ""
    rows = zip(*columns, strict=True) if columns else ()
    return rows_html(table.column_names, rows, caption) + footer


def show_tables_as_html() -> None:
    """Let the notebook that this runs in, if any, show Arrow tables as it shows queries.

    Answers and changes are plain Arrow tables, which have no HTML of their own. How tables are
    shown stays as it is if somebody has said so before.
    """
    find_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = find_shell() if find_shell is not None else None
    formatter = getattr(shell, "display_formatter", None)
    if formatter is None:
        return
    html = formatter.formatters["text/html"]
    try:
        html.lookup_by_type(pa.Table)
    except KeyError:
        html.for_type(pa.Table, lambda table: table_html(table, _shape(table)))


def _shape(table: pa.Table) -> str:
    rows = "1 row" if table.num_rows == 1 else f"{table.num_rows:,} rows"
    return rows if table.num_columns else f"{rows} without columns"


def rows_html(headings: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Rows of values under headings."""
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return f"<table>{title}<tr>{head}</tr>{body}</table>"


def _cell(value: object) -> str:
    if value is None:
        return "<td><i>NULL</i></td>"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    style = ' style="text-align:right"' if number else ""
    return f"<td{style}>{escape(str(value))}</td>"
