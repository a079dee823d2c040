"""Rows of queries that make the same of shared aggregates: what each member loses, gets and has.

A *form* is one HAVING and one choice of columns (``windrow.operators.aggregates.shared_reads``). It
is evaluated once over the groups of all its members that are due, and rows that are equal before
and after do not come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.delta import Delta, batch_of
from windrow.columns.evaluate import evaluate
from windrow.columns.interner import Interner
from windrow.operators.aggregates.replaced_rows import differ
from windrow.operators.aggregates.shared_reads import DueRows, Form, SourceValues, TouchedRows


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
