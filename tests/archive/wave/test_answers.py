"""All schemes, techniques and formats against a plain list, however days come."""

from __future__ import annotations

import tempfile
import zlib
from collections import Counter
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import seed, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.archive.support.plain import (
    COMBINATIONS,
    KEYS,
    SCHEMA,
    PlainList,
    answers,
    assert_same,
    expected,
    files_of,
    named,
    table,
)
from windrow.archive.archive import Archive
from windrow.archive.errors import DayError
from windrow.archive.format.disk import Disk
from windrow.archive.wave.schemes import SCHEMES, scheme_of
from windrow.archive.wave.wave import TECHNIQUES

ROW = st.tuples(st.sampled_from(KEYS), st.integers(0, 9))
ROWS = st.lists(ROW, max_size=6)
PAST = st.lists(st.lists(ROW, min_size=1, max_size=4), min_size=6, max_size=7)


class Days(RuleBasedStateMachine):
    """Days appended in order, ahead, in pieces; the window moved on; readers held; vacuum; another
    layout. It begins with more days than the window has: each example leaves out some of the
    rules, often those that move it on.

    ``reached`` counts for each example the days that it moved on by, and those that expired.
    """

    scheme, technique, form = "DEL", "in-place", "arrow"
    reached: list[Counter[str]]

    @initialize(window=st.integers(2, 5), past=PAST, data=st.data())
    def create(self, window, past, data):
        self.folder = tempfile.TemporaryDirectory()
        n = data.draw(st.integers(scheme_of(self.scheme).fewest, window))
        growth = data.draw(st.sampled_from([1.1, 2.0, 5.0]))
        self.archive = Archive.create(
            Disk(Path(self.folder.name)),
            SCHEMA,
            "key",
            window=window,
            scheme=self.scheme,
            n=n,
            technique=self.technique,
            growth=growth,
            format=self.form,
        )
        self.plain = PlainList(window)
        self.readers, self.drained = [], 0
        self.reached.append(Counter())
        for rows in past:
            self.a_day_comes(rows)

    def teardown(self):
        for reader, *_ in getattr(self, "readers", ()):
            reader.close()
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @rule(rows=ROWS)
    def a_day_comes(self, rows):
        day = 1 if self.plain.now is None else self.plain.now + 1
        self.archive.append(day, table(rows), now=day)
        self.plain.append(day, rows)
        self._moved_to(day)

    def _moved_to(self, now):
        gone = {row[2] for row in self.plain.seen()} - set(range(now - self.plain.window + 1, now))
        self.reached[-1].update(days=now - (self.plain.now or 0), expired=len(gone - {now}))
        self.plain.now = now

    @rule()
    def a_day_without_data_comes(self):
        self.the_window_moves_on(1)

    @rule(rows=ROWS, ahead=st.integers(1, 9))
    def data_comes_before_its_day(self, rows, ahead):
        day = (self.plain.now or 0) + ahead
        self.archive.append(day, table(rows).to_batches())
        self.plain.append(day, rows)

    @rule(days=st.sampled_from([0, 1, 1, 2, 3, 7, 20]))
    def the_window_moves_on(self, days):
        now = (self.plain.now or 0) + days
        if now == 0:
            return
        self.archive.advance(now)
        self._moved_to(now)

    @precondition(lambda self: self.plain.now is not None)
    @rule(back=st.integers(0, 3), rows=ROWS)
    def a_day_that_was_passed_is_refused(self, back, rows):
        with pytest.raises(DayError):
            self.archive.append(self.plain.now - back, table(rows))
        with pytest.raises(DayError):
            self.archive.advance(self.plain.now - back - 1)

    @rule()
    def it_is_opened_again(self):
        self.archive = Archive.open(Disk(Path(self.folder.name)))

    @rule()
    def a_reader_is_opened(self):
        if len(self.readers) < 3:
            reader = self.archive.reader()
            self.readers.append((reader, self.plain.now, dict(answers(reader, self.plain.now))))

    @precondition(lambda self: self.readers)
    @rule()
    def a_reader_is_closed(self):
        self.readers.pop(0)[0].close()

    @rule()
    def it_is_vacuumed(self):
        self.archive.vacuum()
        if not self.readers:
            assert files_of(self.archive.disk) == named(self.archive)

    @rule(
        scheme=st.sampled_from(list(SCHEMES)),
        technique=st.sampled_from(TECHNIQUES),
        form=st.sampled_from(["arrow", "parquet"]),
        how=st.sampled_from(["rebuild", "drain"]),
        data=st.data(),
    )
    def it_is_given_another_layout(self, scheme, technique, form, how, data):
        n = data.draw(st.integers(scheme_of(scheme).fewest, self.plain.window))
        self.archive.migrate(scheme=scheme, n=n, technique=technique, format=form, how=how)
        self.reached[-1][how] += 1
        if how == "drain":
            self.drained = self.plain.now or 0

    @precondition(lambda self: self.plain.now is not None)
    @rule(later=st.integers(0, 3))
    def a_soft_reader_is_given_whole_days_that_constituents_still_have_as_well(self, later):
        now, stat = self.plain.now + later, self.archive.stat()
        first = now - self.plain.window + 1
        held = {d for one in stat.indexes if one.constituent for d in one.days} | set(stat.ahead)
        with self.archive.reader(now, soft=True) as reader:
            expired = {day for day in reader.days if day < first}
            found = dict(answers(reader, now))
        assert expired <= held
        # A day that drains goes with its old index, though the new one covers it, empty.
        filled = {row[2] for row in self.plain.rows if self.drained < row[2] < first}
        assert expired >= held & filled
        seen = PlainList(now - min(expired, default=first) + 1)
        seen.now, seen.rows = now, [r for r in self.plain.rows if r[2] in expired or r[2] >= first]
        assert found == dict(expected(seen))
        self.reached[-1]["soft"] += bool(expired)

    @rule(later=st.integers(1, 8))
    def a_later_moment_sees_days_ahead_and_not_what_expired(self, later):
        if self.plain.now is not None:
            assert_same(self.archive, self.plain, self.plain.now + later)

    @invariant()
    def answers_are_those_of_the_list(self):
        if not hasattr(self, "plain"):
            return
        assert_same(self.archive, self.plain)
        assert self.archive.verify() == []

    @invariant()
    def open_readers_answer_as_they_did(self):
        for reader, now, before in getattr(self, "readers", ()):
            assert dict(answers(reader, now)) == before


@pytest.mark.parametrize(("scheme", "technique", "form"), COMBINATIONS)
def test_answers_are_those_of_a_list_day_after_day(scheme, technique, form, tmp_path):
    archive = Archive.create(
        Disk(tmp_path),
        SCHEMA,
        "key",
        window=5,
        scheme=scheme,
        n=3,
        technique=technique,
        format=form,
    )
    plain = PlainList(5)
    for day in range(1, 15):
        rows = [(KEYS[(day + i) % len(KEYS)], i) for i in range(day % 4 * 3)]
        archive.append(day, table(rows), now=day)
        plain.append(day, rows)
        plain.now = day
        assert_same(archive, plain)
    assert archive.verify() == []
    assert {len(index.days) > 0 for index in archive.stat().indexes if index.constituent} == {True}


def examples_of(scheme: str, technique: str, form: str, count: int, steps: int) -> list[Counter]:
    """Runs the machine, with a seed of its own for each combination where runs are to be alike."""

    class Machine(Days):
        pass

    Machine.scheme, Machine.technique, Machine.form = scheme, technique, form
    Machine.reached = []
    chosen = settings(max_examples=count, stateful_step_count=steps)
    if chosen.derandomize:
        seed(zlib.crc32(f"{scheme}, {technique}, {form}".encode()))(Machine)
    run_state_machine_as_test(Machine, settings=chosen)
    return Machine.reached


@pytest.mark.parametrize(("scheme", "technique", "form"), COMBINATIONS)
def test_answers_are_those_of_a_list_after_every_step(scheme, technique, form):
    reached = examples_of(scheme, technique, form, count=2, steps=12)
    assert all(one["expired"] for one in reached)


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "technique", "form"), COMBINATIONS)
def test_answers_are_those_of_a_list_after_every_step_at_length(scheme, technique, form):
    reached = examples_of(scheme, technique, form, count=30, steps=60)
    assert all(one["expired"] for one in reached)
