"""Every grid on disk against a plain list: the same answers after every step.

A step may give the index another grid, by rebuilding or draining.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from windrow.archive.errors import LifetimeError
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import (
    Chronological,
    Grid,
    GridTechnique,
    Randomised,
    RoundRobin,
)
from windrow.archive.versions.pinned_reader import Range

SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64())])
INTERVAL, P = 4, 5
LONGEST = INTERVAL * P
KEYS = ["a", "b", "c", "d", None]
RECORDS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(-2, LONGEST)), max_size=12)
GRIDS = st.builds(
    Grid,
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from(GridTechnique),
    st.sampled_from([Chronological(), RoundRobin(), Randomised(5)]),
)


def rows(table: pa.Table) -> Counter:
    return Counter(tuple(row.values()) for row in table.to_pylist())


class IndexMachine(RuleBasedStateMachine):
    """``held`` is everything ever inserted: (key, value, period of insertion, expiry)."""

    @initialize(
        grid=GRIDS,
        kind=st.sampled_from(["arrow", "parquet"]),
        origin=st.integers(-7, 7),
        start=st.integers(-30, 30),
    )
    def create(self, grid, kind, origin, start):
        self.path = Path(tempfile.mkdtemp())
        self.index = LifetimeIndex.create(
            Disk(self.path),
            SCHEMA,
            "k",
            longest=LONGEST,
            interval=INTERVAL,
            origin=origin,
            grid=grid,
            format=kind,
        )
        self.now, self.held, self.count, self.pinned = start, [], 0, []

    def _forward(self, ticks, to_boundary):
        self.now += ticks
        if to_boundary:
            self.now = self.index.periods.last(self.index.periods.of(self.now))

    @rule(ticks=st.integers(0, INTERVAL), to_boundary=st.booleans(), records=RECORDS)
    def insert(self, ticks, to_boundary, records):
        self._forward(ticks, to_boundary)
        values = list(range(self.count, self.count + len(records)))
        expiries = [self.now + life for _, life in records]
        table = pa.table({"k": [k for k, _ in records], "v": values}, schema=SCHEMA)
        update = self.index.insert(self.now, table, pa.array(expiries, pa.int64()))
        assert update.dead == sum(life <= 0 for _, life in records)
        period = self.index.periods.of(self.now)
        for (key, life), value in zip(records, values, strict=True):
            if life > 0:
                self.held.append((key, value, period, self.now + life))
        self.count += len(records)

    @rule(ticks=st.integers(0, 2 * LONGEST), to_boundary=st.booleans())
    def advance(self, ticks, to_boundary):
        self._forward(ticks, to_boundary)
        self.index.advance(self.now)

    @rule()
    def reopen(self):
        self.index = LifetimeIndex.open(Disk(self.path))

    @rule(
        grid=GRIDS,
        how=st.sampled_from(["rebuild", "drain"]),
        kind=st.sampled_from(["arrow", "parquet"]),
    )
    def migrate(self, grid, how, kind):
        self.index.migrate(grid=grid, how=how, format=kind)

    @rule()
    def vacuum(self):
        self.index.vacuum()

    @rule(later=st.integers(0, LONGEST))
    def pin(self, later):
        if self.index.contents().now is not None and len(self.pinned) < 3:
            reader = self.index.reader(self.now + later)
            self.pinned.append((reader, list(self.held), self.now + later))

    @rule()
    def unpin(self):
        if self.pinned:
            self.pinned.pop(0)[0].close()

    @rule(ago=st.integers(-1, P + 1), count=st.integers(1, 3), key=st.sampled_from("abcd"))
    def probe_by_period_of_insertion(self, ago, count, key):
        t1 = self.index.periods.of(self.now) - ago
        t2 = t1 + count - 1
        with self.index.reader() as reader:
            expected = Counter((k, v) for k, v, p, e in self._live() if k == key and t1 <= p <= t2)
            assert rows(reader.probe(key, t1, t2)) == expected
            inside = Counter((k, v) for k, v, p, e in self._live() if t1 <= p <= t2)
            assert rows(reader.scan(t1, t2)) == inside

    def _live(self):
        return [r for r in self.held if r[3] > self.now]

    @invariant()
    def answers_are_those_of_a_list(self):
        with self.index.reader() as reader:
            self._compare(reader, self._live())
        for reader, held, now in self.pinned:
            self._compare(reader, [r for r in held if r[3] > now])

    def _compare(self, reader, live):
        found = reader.scan(columns=["k", "v", "_day", "_exp"])
        assert rows(found) == Counter(live)
        since = max((p for _, _, p, _ in live), default=0)
        for key in "abcd":
            newest = Counter((k, v) for k, v, p, _ in live if k == key and p == since)
            assert rows(reader.probe(key, since)) == newest
            assert rows(reader.probe(key)) == Counter((k, v) for k, v, _, _ in live if k == key)
        several = Counter((v,) for k, v, _, _ in live if k in ("a", "d"))
        assert rows(reader.probe(["a", "d", "a", "z"], columns=["v"])) == several
        middle = Counter((k, v) for k, v, _, _ in live if k in ("b", "c"))
        assert rows(reader.probe(Range("b", "c"))) == middle

    @invariant()
    def nothing_is_wrong_with_the_files(self):
        assert self.index.verify() == []
        for part in self.index.contents().partitions:
            state = part.state
            runs = [run for runs in state.subindices for run in runs]
            assert all(run.live(state.over) for run in runs)
            assert state.stored_records() <= 2 * sum(state.sizes())
            if part.grid.technique is GridTechnique.REBUILD:
                assert all(len(runs) <= 1 for runs in state.subindices)

    def teardown(self):
        if hasattr(self, "path"):
            for reader, _, _ in self.pinned:
                reader.close()
            shutil.rmtree(self.path)


TestIndexMachine = IndexMachine.TestCase
TestIndexMachine.settings = settings(max_examples=50, stateful_step_count=25)


def test_records_that_live_too_long_are_refused_and_nothing_changes(tmp_path):
    index = LifetimeIndex.create(tmp_path, SCHEMA, "k", longest=20, interval=4, grid=Grid(2, 2))
    table = pa.table({"k": ["a", "b"], "v": [1, 2]}, schema=SCHEMA)
    index.insert(4, table, pa.array([10, 24]))
    with pytest.raises(LifetimeError, match=r"up to 28.*found 29"):
        index.insert(8, table, pa.array([10, 29]))
    with index.reader() as reader:
        assert reader.scan().num_rows == 2
