"""The rows of groups that are replaced because their aggregates changed.

Of queries that make the same of shared aggregates: what each member loses, gets and has. A *form*
is one HAVING and one choice of columns (``windrow.operators.aggregates.shared_reads``). It is
evaluated once over the groups of all its members that are due, and rows that are equal before and
after do not come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools, Int64s, fixed_array, numpy_view
from windrow.columns.delta import Delta, batch_of
from windrow.columns.evaluate import evaluate
from windrow.columns.interner import Interner
from windrow.columns.time_order import time_order
from windrow.columns.value_order import comparable_column
from windrow.core.time import FOREVER
from windrow.operators.aggregates.events import Events
from windrow.operators.aggregates.shared_reads import DueRows, Form, SourceValues, TouchedRows


def replaced_rows(
    groups: Interner,
    events: Events,
    sizes: tuple[Int64s, Int64s],
    values: Sequence[tuple[pa.Array, pa.Array]],
    schema: pa.Schema,
    every_time: bool,
) -> Delta:
    """Old rows out, new rows in, where they differ; with ``every_time`` also where they do not.

    ``sizes`` and ``values`` are what accumulators answer: before the events for each group that is
    touched, after them for each segment. A group of size 0 has no row.
    """
    code, time = events.code[events.last], events.time[events.last]
    new = np.arange(len(code)) + len(events.groups)
    old = np.where(events.opening, events.group_of, new - 1)
    held = np.concatenate(sizes) > 0
    changed = held[old] != held[new]
    both = np.flatnonzero(held[old] & held[new])
    kinds = schema.types[len(schema) - len(values) :]
    columns = [_typed(pa.concat_arrays(pair), k) for pair, k in zip(values, kinds, strict=True)]
    if every_time:
        changed[both] = True
    elif len(both) and columns:
        changed[both] = differ(columns, old[both], new[both])
    leaving, coming = np.flatnonzero(changed & held[old]), np.flatnonzero(changed & held[new])
    at = np.concatenate([old[leaving], new[coming]])
    times = np.concatenate([time[leaving], time[coming]])
    sign = np.ones(len(at), np.int8)
    sign[: len(leaving)] = -1
    order = time_order(times)
    at, exp = at[order], np.full(len(at), FOREVER, np.int64)
    keys = groups.rows(np.concatenate([events.groups, code])[at])
    typed = [_typed(a, k) for a, k in zip(keys, schema.types, strict=False)]
    rows = batch_of([*typed, *(_taken(c, at) for c in columns)], schema, len(at))
    return Delta(times[order], exp, sign[order], rows)


def _typed(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return array if array.type == kind else array.cast(kind)


def _is_plain(column: pa.Array) -> bool:
    """Whether numpy sees its values where they lie: many intervals are short, and numpy takes a
    tenth of the time that Arrow takes for a few values."""
    kind = column.type
    return not column.null_count and (pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _taken(column: pa.Array, at: Int64s) -> pa.Array:
    if not _is_plain(column):
        return column.take(pa.array(at))
    return fixed_array(numpy_view(column)[at], None, column.type)


def differ(columns: Sequence[pa.Array], old: Int64s, new: Int64s) -> npt.NDArray[np.bool_]:
    """Whether rows ``old`` and ``new`` differ in any column; NULL equals NULL, NaN equals NaN."""
    found = np.zeros(len(old), np.bool_)
    for column in columns:
        if _is_plain(column):
            values = numpy_view(column)
            before, after = values[old], values[new]
            different = before != after
            if pa.types.is_floating(column.type):
                different &= ~(np.isnan(before) & np.isnan(after))
            found |= different
            continue
        a, b = (comparable_column(column.take(pa.array(at))) for at in (old, new))
        different = pc.fill_null(pc.not_equal(a, b), False).to_numpy(zero_copy_only=False).copy()
        if pa.types.is_floating(column.type):
            nans = [
                pc.fill_null(pc.is_nan(x), False).to_numpy(zero_copy_only=False) for x in (a, b)
            ]
            different &= ~(nans[0] & nans[1])
        if column.null_count:
            nulls = [x.is_null().to_numpy(zero_copy_only=False) for x in (a, b)]
            different |= nulls[0] != nulls[1]
        found |= different
    return found


@dataclass(frozen=True)
class FormRows:
    """See the module. ``groups`` has the keys of groups, whose types are ``kinds``; ``schema`` is
    that of the answer: the member, and slots that forms have columns in."""

    groups: Interner
    kinds: Sequence[pa.DataType]
    schema: pa.Schema

    @cached_property
    def nothing(self) -> Delta:
        return Delta.empty(self.schema)

    def changes_of(
        self, form: Form, values: Sequence[SourceValues | None], rows: TouchedRows
    ) -> tuple[Delta, Delta]:
        """The rows that members of a form lose and get."""
        due = DueRows.of(form, values, rows)
        if due is None:
            return self.nothing, self.nothing
        held = due.sizes[0] > 0, due.sizes[1] > 0
        changed = held[0] != held[1]
        both = np.flatnonzero(held[0] & held[1])
        if len(both) and due.columns:
            whole = [pa.concat_arrays(pair) for pair in due.columns]
            changed[both] = differ(whole, both, both + len(changed))
        at = np.flatnonzero(changed)
        groups = [self._group_rows(due, side, at) for side in (0, 1)]
        shown = [held[side][at] & form.rows_shown(groups[side]) for side in (0, 1)]
        columns = [[evaluate(c, g) for c in form.columns] for g in groups]
        both = np.flatnonzero(shown[0] & shown[1])
        if len(both) and not form.shows_all:
            whole = [pa.concat_arrays(pair) for pair in zip(*columns, strict=True)]
            equal = both[~differ(whole, both, both + len(at))]
            shown[0][equal] = shown[1][equal] = False
        lost, got = (
            self._in_slots(form, columns[side], due.member[at], due.time[at], shown[side])
            for side in (0, 1)
        )
        return replace(lost, sign=-lost.sign), got

    def answer_of(
        self, form: Form, values: Sequence[SourceValues | None], rows: TouchedRows
    ) -> Delta:
        """The rows that members of a form have."""
        due = DueRows.of(form, values, rows)
        if due is None:
            return self.nothing
        at = np.flatnonzero((due.sizes[1] > 0) & (due.time > due.since))
        group = self._group_rows(due, 1, at)
        columns = [evaluate(c, group) for c in form.columns]
        return self._in_slots(form, columns, due.member[at], due.time[at], form.rows_shown(group))

    def _group_rows(self, due: DueRows, side: int, at: Int64s) -> pa.RecordBatch:
        """Keys and aggregates, before or after."""
        keys = self.groups.rows(due.group[at])
        arrays = [k.cast(t) for k, t in zip(keys, self.kinds, strict=True)]
        chosen = pa.array(at)
        arrays += [pair[side].take(chosen) for pair in due.columns]
        return pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])

    def _in_slots(
        self,
        form: Form,
        columns: Sequence[pa.Array],
        member: Int64s,
        time: Int64s,
        shown: Bools,
    ) -> Delta:
        """The rows that are shown, with a form's columns in their slots."""
        if not shown.all():
            at = np.flatnonzero(shown)
            member, time, chosen = member[at], time[at], pa.array(at)
            columns = [column.take(chosen) for column in columns]
        own = dict(zip(form.slots, columns, strict=True))
        arrays = [pa.array(member)]
        for slot, kind in enumerate(self.schema.types[1:]):
            column = own.get(slot)
            arrays.append(pa.nulls(len(member), kind) if column is None else column.cast(kind))
        return Delta.insertions(time, batch_of(arrays, self.schema, len(member)))
