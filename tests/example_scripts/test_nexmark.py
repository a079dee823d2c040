"""Every query of ``examples/nexmark.cql`` answers as DuckDB does over the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from examples.nexmark_data import (
    AUCTIONS,
    BEGINNING,
    BIDS,
    HOT,
    PERSONS,
    ROUND,
    Nexmark,
    write_side_input,
    write_tables,
)
from tests.example_scripts.changes import answer_at, catalog_of, changes_of
from tests.example_scripts.nexmark_oracle import ANSWERS, WINDOWS
from tests.support.runs import run_embedded

SMALL = Nexmark(events=6_000, rate=150, seed=7)
"""Forty seconds."""
SECONDS = (3, 17, 39)
"""When answers are compared, after the beginning."""


class Run:
    """The script over some events, and the same events in DuckDB."""

    def __init__(self, events: Nexmark, directory: Path) -> None:
        self.tables = events.tables()
        write_tables(self.tables, directory / "data" / "nexmark", files=4)
        write_side_input(directory / "data" / "nexmark")
        self.catalog = catalog_of("nexmark.cql", directory)
        run_embedded(self.catalog)
        self.database = duckdb.connect()
        self.database.execute(f"""CREATE TABLE side_input AS FROM
            read_csv('{directory}/data/nexmark/side_input.csv')""")
        for name, rows in self.tables.items():
            self.database.register(f"{name}_rows", rows)
            self.database.execute(f"""CREATE TABLE all_{name} AS
                SELECT *, row_number() OVER () AS arrival FROM {name}_rows""")

    def recompute(self, query: str, instant: datetime) -> Counter[tuple[Any, ...]]:
        self.database.execute(f"""CREATE OR REPLACE VIEW instant AS
            SELECT TIMESTAMP '{instant}' AS instant""")
        for name in self.tables:
            self.database.execute(f"""CREATE OR REPLACE VIEW {name} AS
                SELECT * FROM all_{name} WHERE date_time <= TIMESTAMP '{instant}'""")
        return Counter(self.database.execute(query).fetchall())


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Iterator[Run]:
    made = Run(SMALL, tmp_path_factory.mktemp("nexmark"))
    yield made
    made.database.close()


def instant(second: int) -> datetime:
    return datetime.fromtimestamp(BEGINNING + second, UTC).replace(tzinfo=None)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_that_of_the_rows_so_far(run, name):
    changes = changes_of(run.catalog, name)
    for second in SECONDS:
        expected = run.recompute(ANSWERS[name], instant(second))
        assert answer_at(changes, instant(second)) == expected
    assert expected, "there is something to compare at the end"


@pytest.mark.parametrize("name", WINDOWS)
def test_what_is_reported_of_each_window_is_what_its_rows_give(run, name):
    found = changes_of(run.catalog, name)
    assert set(found["change"].to_pylist()) == {"+"}
    rows = Counter(tuple(row.values()) for row in found.drop_columns(["change"]).to_pylist())
    assert rows == run.recompute(WINDOWS[name], instant(100))
    assert len({end for end, *_ in rows}) >= 3


def test_every_query_of_the_script_is_compared(run):
    assert [q.name for q in run.catalog.queries] == sorted(
        [*ANSWERS, *WINDOWS], key=lambda name: int(name[1:])
    )


def test_events_have_the_proportions_of_the_description():
    tables = Nexmark(50 * ROUND * HOT, seed=1).tables()
    rounds = 50 * HOT
    expected = {"person": PERSONS * rounds, "auction": AUCTIONS * rounds, "bid": BIDS * rounds}
    assert {name: len(rows) for name, rows in tables.items()} == expected
    bid, auction = tables["bid"], tables["auction"]

    def share(rows: pa.Table, column: str, rest: int) -> float:
        """Of the rows, those whose number is one of the hot ones."""
        return sum(n % HOT == rest for n in rows[column].to_pylist()) / len(rows)

    assert share(bid, "auction", 0) == pytest.approx(1 / 2 + 1 / 2 / HOT, abs=0.01)
    assert share(bid, "bidder", 1) == pytest.approx(3 / 4 + 1 / 4 / HOT, abs=0.01)
    assert share(auction, "seller", 0) == pytest.approx(3 / 4 + 1 / 4 / HOT, abs=0.02)


def test_events_are_the_same_again_in_order_and_on_no_edge():
    first, second = (Nexmark(5_000, seed=3).tables() for _ in range(2))
    assert first == second
    assert first["bid"] != Nexmark(5_000, seed=4).tables()["bid"]
    for rows in first.values():
        micros = rows["date_time"].cast(pa.int64()).to_numpy()
        assert (micros[1:] >= micros[:-1]).all()
        assert (micros % 1_000_000 != 0).all()
