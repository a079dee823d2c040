"""Updates of a relation: rows that come and go at instants, checked before anything sees them.

An update has the form in which results are written: ``instant``, ``change`` (``+`` or ``-``),
then the relation's columns. So a relation's updates are a stream, with a time of its own that
holds queries back like any other, and one query's result files can be another's relation. Rows
without ``instant`` and ``change`` are the relation's contents from the beginning.

Which updates may be carried out depends on what the relation holds by then. A ``-`` needs a row
that is there. In a non-retroactive relation a key that was deleted may not come again: tuples that
met the old row would seem to speak of the new one (Golab 2006, 3.3.1). What breaks these rules is
refused like any other bad row.

Space: the different rows that are held, up to a factor, however many have come and gone. A
non-retroactive relation also remembers the keys that were deleted, since its rule asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.delta import Delta, batch_of, take
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Crowding, Interner
from windrow.columns.kernels import boolean, flags_out, ints, ints_out, kernel, signs, void
from windrow.columns.netting import net
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import BEGINNING, FOREVER, MICROSECONDS, Clock
from windrow.plan.catalog import NO_TIMESTAMP, RelationDeclaration, StreamDeclaration
from windrow.streams.horizon import Horizon
from windrow.streams.monitor import Accepted, InputMonitor
from windrow.streams.pushed_rows import clock_of_column, clock_of_value, column_names, parse_pushed
from windrow.tables.parsed_rows import Parsed, Rejected
from windrow.tables.readers import columns_in, first_value

INSTANT, CHANGE = "instant", "change"
Signs = npt.NDArray[np.int8]


def updates_of(declaration: RelationDeclaration, clock: Clock) -> StreamDeclaration:
    """The stream of a relation's updates."""
    kind = Type.TIMESTAMP if clock is Clock.TIMESTAMP else Type.BIGINT
    first = (Field(INSTANT, kind), Field(CHANGE, Type.STRING))
    schema = Schema(first + declaration.schema.fields)
    ahead = declaration.ahead
    if ahead is not None and ahead < FOREVER and clock is Clock.INTEGER:
        ahead = -(-ahead // MICROSECONDS["SECOND"])
    return StreamDeclaration(
        declaration.name, schema, 0, clock, 0, declaration.source,
        ahead=ahead, idle=declaration.idle,
    )  # fmt: skip


def contents_of(declaration: RelationDeclaration, clock: Clock) -> StreamDeclaration:
    """A relation's rows without a time of their own."""
    source = declaration.source
    return StreamDeclaration(
        declaration.name, declaration.schema, NO_TIMESTAMP, clock, 0, source, declaration.span
    )


def contents_in(
    files: Sequence[Path], relation: RelationDeclaration, clock: Clock
) -> StreamDeclaration | None:
    """How to read a relation's files if they are its contents; None if any of them has updates."""
    updates = updates_of(relation, clock)
    if any(_has_updates(columns_in(f, updates), relation, str(f)) for f in files):
        return None
    return contents_of(relation, clock)


def _has_updates(columns: set[str], relation: RelationDeclaration, where: str) -> bool:
    """Whether rows with these columns are updates; one of their two columns alone is a mistake."""
    found = {INSTANT, CHANGE} & columns
    if len(found) == 1 and not found & {field.name.lower() for field in relation.schema}:
        raise InputError(
            where=where,
            expected=f"updates of {relation.name} with the columns {INSTANT} and {CHANGE}, or its "
            "contents with neither",
            found=f"{found.pop()} alone",
            remedy=f"add the other column; {CHANGE} is + for a row that comes, - for one that goes",
        )
    return len(found) == 2


def clock_in(files: Sequence[Path], relation: RelationDeclaration) -> Clock | None:
    """The clock of the updates in a relation's files; None if they do not tell."""
    updates = updates_of(relation, Clock.INTEGER)
    values = (first_value(file, updates, INSTANT) for file in files)
    return next((clock for v in values if (clock := clock_of_value(v)) is not None), None)


class RelationMonitor(InputMonitor):
    """An input monitor whose rows are updates; ``release`` gives them with their signs."""

    def __init__(self, relation: RelationDeclaration, clock: Clock) -> None:
        super().__init__(updates_of(relation, clock))
        self.relation = relation
        self.contents = arrow_schema(relation.schema)
        self._nothing = Delta.empty(self.contents)
        self.refused: list[Rejected] = []
        self.held = RelationContents(self.contents, relation.key, not relation.retroactive)

    def accept(self, parsed: Parsed | pa.RecordBatch, horizon: Horizon | None = None) -> Accepted:
        """Take updates in, in order; those that break the relation's rules are refused."""
        if isinstance(parsed, pa.RecordBatch):
            parsed = Parsed.clean(parsed)
        judged = self._judge(parsed, horizon)
        change = parsed.rows.column(1)
        kept = pc.is_in(change, pa.array(["+", "-"])).to_numpy(zero_copy_only=False).copy()
        wrong = np.flatnonzero(~kept)
        self._refuse(parsed, wrong, [_unknown(change[int(p)].as_py()) for p in wrong])
        rows, sign = self._split(parsed.rows)
        # An update that is late or ahead is not carried out, so it cannot make another one wrong.
        due = np.flatnonzero(kept & judged.in_time)
        broken = due[~self.held.carry_out(take(rows, due), sign[due])]
        self._refuse(parsed, broken, [self._reason(int(sign[p])) for p in broken])
        kept[broken] = False
        return self._take_in(parsed, judged, kept)

    def _refuse(self, parsed: Parsed, positions: Int64s, reasons: list[str]) -> None:
        texts = parsed.texts(positions)
        for position, reason, text in zip(positions, reasons, texts, strict=True):
            self.refused.append(Rejected(int(parsed.numbers[position]), reason, text))
        self.rejected += len(positions)

    def release(self, now: int) -> Delta:
        """The updates up to ``now``, net of what came and went within one instant."""
        released = super().release(now)
        return net(self._with_signs(released)) if len(released) else self._nothing

    def drain(self) -> Delta:
        """All updates that were accepted, also of open instants; pairs may still cancel."""
        return self._with_signs(super().release(FOREVER))

    def recall(self, updates: Delta, top: int | None) -> None:
        """Go on after updates that an earlier monitor drained, and the time that it had seen."""
        self.held.carry_out(updates.rows, updates.sign)
        self.top = top

    def _with_signs(self, updates: Delta) -> Delta:
        rows, sign = self._split(updates.rows)
        return Delta(updates.ts, updates.exp, sign, rows)

    def _split(self, updates: pa.RecordBatch) -> tuple[pa.RecordBatch, npt.NDArray[np.int8]]:
        """Updates as rows of the relation and signs."""
        plus = pc.equal(updates.column(1), "+").to_numpy(zero_copy_only=False)
        rows = batch_of(updates.columns[2:], self.contents, updates.num_rows)
        return rows, np.where(plus, 1, -1).astype(np.int8)

    def _reason(self, sign: int) -> str:
        name = self.relation.name
        if sign < 0:
            return f"-: expected a row that is in {name}, found none"
        return f"+: the key was deleted from {name} before, and an NRR does not accept it again"

    @property
    def fresh(self) -> bool:
        """Whether neither rows nor a time have come to it, so that any clock would do."""
        return self.top is None and self.closed_instant == BEGINNING

    def clock_of(self, data: Any) -> Clock | None:
        """The clock of pushed updates; None if they do not tell."""
        return clock_of_column(data, INSTANT, self.declaration)

    def parse_pushed(self, data: Any) -> Parsed:
        """Pushed data as updates."""
        where = f"data pushed to {self.relation.name}"
        if _has_updates(column_names(data, self.declaration), self.relation, where):
            return parse_pushed(data, self.declaration)
        return self.initial(parse_pushed(data, contents_of(self.relation, self.declaration.clock)))

    def initial(self, contents: Parsed) -> Parsed:
        """Rows without ``instant`` and ``change`` as insertions at the next open instant."""
        count = len(contents)
        instants = pa.array(np.full(count, self.closed_instant + 1), pa.int64())
        instants = instants.cast(self.schema.field(0).type)
        signs = pa.array(["+"] * count, pa.string())
        rows = batch_of([instants, signs, *contents.rows.columns], self.schema, count)
        return replace(contents, rows=rows)

    def closed_rows(self) -> pa.RecordBatch:
        """What the relation holds at the last closed instant, whether or not any query reads it."""
        return self.rows_at(FOREVER if self.over else self.closed_instant)

    def rows_at(self, instant: int) -> pa.RecordBatch:
        """The same at that instant or a later one, as far as updates have come."""
        _, later = self.waiting.split(instant)
        return self.held.before(*self._split(later.rows))

    def present(self) -> Delta:
        """What the relation holds at the last closed instant, for a query that starts now."""
        rows = self.held.before(*self._split(self.waiting.rows))  # not part of it yet
        ts = np.full(rows.num_rows, max(self.closed_instant, BEGINNING + 1))
        return Delta.insertions(ts, rows)


def _unknown(found: object) -> str:
    return f"{CHANGE}: expected '+' or '-', found {found!r}"


@kernel(void, ints, ints, signs, boolean, ints_out, flags_out, flags_out)
def _apply(row, key, sign, once, held, retired, accepted):  # type: ignore[no-untyped-def]
    """Carry out updates in order; ``held`` counts rows, ``retired`` marks deleted keys."""
    for i in range(len(row)):
        if sign[i] > 0:
            accepted[i] = not (once and retired[key[i]])
            if accepted[i]:
                held[row[i]] += 1
        else:
            accepted[i] = held[row[i]] > 0
            if accepted[i]:
                held[row[i]] -= 1
                retired[key[i]] = True


class RelationContents:
    """The rows that are held. With ``once`` a ``key`` that was deleted is not taken again."""

    def __init__(self, schema: pa.Schema, key: Sequence[int], once: bool) -> None:
        self.schema, self._once = schema, once
        self._key = tuple(key) if once else ()
        self._rows = Interner(schema.types)
        self._held = fresh(0)
        self._keys = Interner([schema.types[k] for k in self._key])
        self._retired = fresh(False, np.bool_)
        self._crowded_rows, self._crowded_keys = Crowding(), Crowding()

    def carry_out(self, rows: pa.RecordBatch, sign: Signs) -> Bools:
        """Whether each update keeps the rules; those that do are counted."""
        row = self._numbers(rows)
        key = self._keys.codes([rows.column(k) for k in self._key], rows.num_rows)
        self._retired = grow(self._retired, len(self._keys), False)
        kept = np.empty(len(row), np.bool_)
        _apply(row, key, sign, self._once, self._held, self._retired, kept)
        self._forget_rows()
        self._forget_keys()
        return kept

    def before(self, rows: pa.RecordBatch, sign: Signs) -> pa.RecordBatch:
        """What was held before these updates, which are among those that were carried out."""
        numbers = self._numbers(rows)
        held = self._held[: len(self._rows)].copy()
        np.subtract.at(held, numbers, sign)
        present = np.repeat(np.arange(len(held)), held)
        return batch_of(self._rows.rows(present), self.schema, len(present))

    def size(self) -> int:
        """How many rows and keys are remembered, those included that are to be forgotten."""
        return len(self._rows) + len(self._keys)

    def _numbers(self, rows: pa.RecordBatch) -> Int64s:
        numbers = self._rows.codes(rows.columns, rows.num_rows)
        self._held = grow(self._held, len(self._rows), 0)
        return numbers

    def _forget_rows(self) -> None:
        """Give the rows that are held new numbers, once most numbers are unused."""
        size = len(self._rows)
        if not self._crowded_rows.is_due(size):
            return
        live = np.flatnonzero(self._held[:size])
        if not self._crowded_rows.renewal_pays(size, len(live)):
            return
        counts, numbers = self._held[live], self._rows.compact(live)
        self._held = grow(fresh(0), len(self._rows), 0)
        self._held[numbers[live]] = counts

    def _forget_keys(self) -> None:
        """Only a key that was deleted matters; others get their numbers when they come again."""
        size = len(self._keys)
        if not self._crowded_keys.is_due(size):
            return
        deleted = np.flatnonzero(self._retired[:size])
        if not self._crowded_keys.renewal_pays(size, len(deleted)):
            return
        numbers = self._keys.compact(deleted)
        self._retired = grow(fresh(False, np.bool_), len(self._keys), False)
        self._retired[numbers[deleted]] = True
