"""An answer over time as lines, drawn by Matplotlib, which is an extra of the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa

from windrow.core.errors import InputError
from windrow.result_files.identity import CHANGE, INSTANT
from windrow.tables.fit import script_type

NAN = float("nan")

Line = tuple[list[Any], list[float]]
"""Instants, and the value from each of them on; NaN where there is none."""


def draw_answer(changes: pa.Table, name: str, y: str | None, by: str | None, ax: Any) -> Any:
    """Draw the lines of ``lines_of`` into ``ax``, or into new axes."""
    columns = [n for n in changes.column_names if n not in (INSTANT, CHANGE)]
    y = columns[-1] if y is None and columns else y
    for wanted in (column for column in (y, by) if column is not None):
        if wanted not in columns:
            raise InputError(
                where=f"plot of {name}", expected=f"one of {', '.join(columns)}", found=wanted
            )
    assert y is not None
    _check_numbers(changes, name, y, columns)
    lines = lines_of(changes, name, y, by)
    try:
        from matplotlib import pyplot  # noqa: PLC0415
    except ImportError:
        raise InputError(
            where=f"plot of {name}",
            expected="Matplotlib",
            found="none",
            remedy="pip install 'windrow[plot]', or draw changes() yourself",
        ) from None
    ax = pyplot.subplots()[1] if ax is None else ax
    for label, (instants, values) in lines.items():
        ax.step(instants, values, where="post", label=None if by is None else str(label))
    ax.set_title(name)
    ax.set_ylabel(y)
    if by is not None and lines:
        ax.legend(title=by)
    return ax


def _check_numbers(changes: pa.Table, name: str, y: str, columns: list[str]) -> None:
    """InputError if the values of a column have no height."""
    drawn = [column for column in columns if _is_number(changes.schema.field(column).type)]
    if y in drawn:
        return
    kind = script_type(changes.schema.field(y).type)
    found = "something else" if kind is None else kind.value
    raise InputError(
        where=f"plot of {name}", expected="a column of numbers", found=f"{y}, which is {found}",
        remedy=f"name one: {', '.join(drawn)}" if drawn else "count or sum something in the query",
    )  # fmt: skip


def _is_number(kind: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(is_kind(kind) for is_kind in kinds)


def lines_of(changes: pa.Table, name: str, y: str, by: str | None) -> dict[Any, Line]:
    """For each value of ``by`` a step function of time; all of them reach to the last instant."""
    lines: dict[Any, Line] = {}
    live: dict[Any, Counter[Any]] = {}
    last = None
    for last, rows in groupby(_rows(changes, y, by), key=lambda row: row[0]):
        touched: dict[Any, None] = {}
        for _, change, label, value in rows:
            counts = live.setdefault(label, Counter())
            counts[value] += 1 if change == "+" else -1
            touched[label] = None
        for label in touched:
            instants, values = lines.setdefault(label, ([], []))
            instants.append(last)
            values.append(_value(+live[label], name, by, last))
    for instants, values in lines.values():
        if instants[-1] != last:
            instants.append(last)
            values.append(values[-1])
    return lines


def _rows(changes: pa.Table, y: str, by: str | None) -> Iterator[tuple[Any, str, Any, Any]]:
    labels = [None] * changes.num_rows if by is None else _keys(changes.column(by))
    columns = (changes.column(n).to_pylist() for n in (INSTANT, CHANGE))
    return zip(*columns, labels, _keys(changes.column(y)), strict=True)


def _keys(column: pa.ChunkedArray) -> list[Any]:
    """Values by which a dict finds equal ones: NaN is one object, what has others inside a text."""
    values = column.to_pylist()
    if pa.types.is_nested(column.type):
        return [None if v is None else str(v) for v in values]
    return [NAN if v != v else v for v in values]  # noqa: PLR0124 - only NaN is not itself


def _value(counts: Counter[Any], name: str, by: str | None, instant: Any) -> float:
    if counts.total() > 1:
        raise InputError(
            where=f"plot of {name}, at {instant}",
            expected="one row of the answer for each line",
            found=f"{counts.total():,} rows",
            remedy="name the column that tells them apart: plot(y, by=column)"
            if by is None
            else "group the query by that column",
        )
    value = next(iter(counts), None)
    return NAN if value is None else float(value)
