"""Queries that come while others run, and go: what each starts on, and that its answers are right.

Golab 2006, 8.2: a query that comes starts at once on a matching synopsis, extends one, or fills its
own; a query that goes leaves what others use. Every answer from ``complete_from`` on is recomputed
by a query that ran alone from the beginning.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.plan.sharing.test_shared_synopses import MEMBERS, ROWS, STREAM, bag, in_time, run
from windrow.core.errors import InputError
from windrow.engine.handles import Handle
from windrow.plan.sharing.shared_synopses import MOST_PREDICATES

END = 60


@pytest.fixture
def sizes_but_one_group(sizes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thresholds as usual and at their least, but no queries are left to an index."""
    monkeypatch.setattr(MOST_PREDICATES, "value", MOST_PREDICATES.usual)


class Guests:
    """Queries of a connection with their texts, checked against queries that ran alone."""

    def __init__(self) -> None:
        self.db = windrow.connect()
        self.db.execute(STREAM)
        self.here: dict[str, tuple[Handle, str, int]] = {}
        self.rows: list[dict[str, Any]] = []
        self.made = 0
        self.now = -1

    def come(self, texts: list[str]) -> None:
        names = [f"q{self.made + i}" for i in range(len(texts))]
        script = "".join(f"CREATE QUERY {n} AS {t};" for n, t in zip(names, texts, strict=True))
        said = self.db.explain(script)
        handles = self.db.execute(script)
        self.made += len(texts)
        for handle, text, plan in zip(handles, texts, said.split("\n\n"), strict=True):
            self.here[handle.name] = handle, text, self.now
            self.check_words(handle, plan)

    def check_words(self, handle: Handle, would_be: str) -> None:
        """What was said before it came is what is said of it now, and what has happened."""
        sharing = [line for line in would_be.splitlines() if line.startswith("  ") and "(SS" in line]
        running = self.db.explain(handle.name)
        assert all(line in running for line in sharing)
        assert bool(sharing) == (handle._run.job.synopses is not None)
        complete = handle.complete_from
        if sharing:
            when = "at once" if complete is None else f"from {complete} on"
            assert f"complete {when} (SS" in sharing[0]
        assert (f"complete from instant {complete}" in running) == (complete is not None)

    def go(self, number: int) -> None:
        name = sorted(self.here)[number % len(self.here)]
        del self.here[name]
        self.db.execute(f"DROP QUERY {name}")

    def push(self, rows: list[dict[str, Any]]) -> None:
        rows = [row for row in rows if row["ts"] > self.now]
        self.db.push("s", rows)
        self.rows += rows

    def advance(self, to: int) -> None:
        self.db.advance(to=to)
        self.now = to
        for handle, text, came in self.here.values():
            complete, slide = handle.complete_from, int(text.split("SLIDE ")[1].split()[0])
            if (complete is not None and to < complete) or to // slide * slide <= came:
                continue
            (whole,) = run(f"{text};", [self.rows], to)
            assert bag(handle.answer()) == bag(whole.answer()), (text, to)
            assert held_by(handle) == bag(handle.answer()), text


def held_by(handle: Handle) -> list[str]:
    """The answer that the changes so far come to."""
    net: dict[str, int] = {}
    for change in handle.changes().to_pylist():
        sign = {"+": 1, "-": -1}[change.pop("change")]
        del change["instant"]
        net[repr(change)] = net.get(repr(change), 0) + sign
    return sorted(row for row, n in net.items() for _ in range(n))


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.lists(MEMBERS, min_size=1, max_size=2)),
        st.tuples(st.just("go"), st.integers(0, 5)),
        st.tuples(st.just("pass"), st.integers(1, 9)),
    ),
    min_size=2,
    max_size=7,
)


@pytest.mark.usefixtures("sizes_but_one_group")
@settings(max_examples=40)
@given(first=st.lists(MEMBERS, max_size=3), events=EVENTS, rows=ROWS.map(in_time))
def test_whoever_comes_and_goes_answers_are_right_from_when_they_are_complete(first, events, rows):
    guests = Guests()
    if first:
        guests.come(first)
    guests.push([row for row in rows if row["ts"] <= 4])
    guests.advance(5)
    for kind, what in events:
        match kind:
            case "come":
                guests.come(what)
            case "go" if guests.here:
                guests.go(what)
            case "pass":
                until = guests.now + what
                guests.push([row for row in rows if guests.now < row["ts"] <= until])
                guests.advance(until)
    for end in (guests.now + 3, guests.now + 8, END + guests.now):
        guests.push([row for row in rows if guests.now < row["ts"] <= end])
        guests.advance(end)
