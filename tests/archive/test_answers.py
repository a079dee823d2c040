"""All schemes, techniques and formats against a plain list, however days come."""

from __future__ import annotations

import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.archive.disks import UnsyncedDisk
from tests.archive.plain import (
    COMBINATIONS,
    KEYS,
    SCHEMA,
    PlainList,
    answers,
    assert_same,
    files_of,
    named,
    table,
)
from windrow.archive.archive import Archive
from windrow.archive.errors import DayError
from windrow.archive.schemes.registry import scheme_of

ROWS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 9)), max_size=6)


class Days(RuleBasedStateMachine):
    """Days appended in order, ahead, in pieces; the window moved on; readers held; vacuum."""

    scheme, technique, form = "DEL", "in-place", "arrow"

    @initialize(window=st.integers(2, 6), data=st.data())
    def create(self, window, data):
        self.folder = tempfile.TemporaryDirectory()
        n = data.draw(st.integers(scheme_of(self.scheme).fewest, window))
        growth = data.draw(st.sampled_from([1.1, 2.0, 5.0]))
        self.archive = Archive.create(
            UnsyncedDisk(Path(self.folder.name)),
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
        self.readers = []

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
        self.plain.now = day

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
        self.plain.now = now

    @precondition(lambda self: self.plain.now is not None)
    @rule(back=st.integers(0, 3), rows=ROWS)
    def a_day_that_was_passed_is_refused(self, back, rows):
        with pytest.raises(DayError):
            self.archive.append(self.plain.now - back, table(rows))
        with pytest.raises(DayError):
            self.archive.advance(self.plain.now - back - 1)

    @rule()
    def it_is_opened_again(self):
        self.archive = Archive.open(UnsyncedDisk(Path(self.folder.name)))

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
        UnsyncedDisk(tmp_path),
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


@pytest.mark.parametrize(("scheme", "technique", "form"), COMBINATIONS)
def test_answers_are_those_of_a_list_after_every_step(scheme, technique, form):
    class Machine(Days):
        pass

    Machine.scheme, Machine.technique, Machine.form = scheme, technique, form
    run_state_machine_as_test(Machine, settings=settings(max_examples=2, stateful_step_count=20))


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "technique", "form"), COMBINATIONS)
def test_answers_are_those_of_a_list_after_every_step_at_length(scheme, technique, form):
    class Machine(Days):
        pass

    Machine.scheme, Machine.technique, Machine.form = scheme, technique, form
    run_state_machine_as_test(Machine, settings=settings(max_examples=30, stateful_step_count=60))
