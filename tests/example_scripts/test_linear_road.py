"""``examples/linear_road.cql`` says what a recomputation from all reports says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest

from examples.linear_road_data import EVERY, EXIT, LinearRoad, write_tables
from tests.example_scripts.changes import answer_at, catalog_of, changes_of
from tests.example_scripts.linear_road_oracle import ANSWERS, FACTS, VIEWS
from tests.support.runs import run_embedded
from windrow.plan.catalog import Catalog

ROAD = LinearRoad(vehicles=2_000, seconds=700, seed=2)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Iterator[tuple[Catalog, duckdb.DuckDBPyConnection]]:
    """The script over the reports, and the same reports in DuckDB."""
    directory = tmp_path_factory.mktemp("linear_road")
    tables = ROAD.tables()
    write_tables(tables, directory / "data" / "linear_road", files=3)
    catalog = catalog_of("linear_road.cql", directory)
    run_embedded(catalog)
    with duckdb.connect() as database:
        for name, rows in tables.items():
            database.register(f"{name}_rows", rows)
            database.execute(f"CREATE TABLE {name} AS FROM {name}_rows")
        database.execute(VIEWS)
        yield catalog, database


def rounded(rows: Counter) -> Counter:
    """A mean of means depends on the order of additions in DuckDB."""
    return Counter(
        {tuple(round(v, 9) if isinstance(v, float) else v for v in r): n for r, n in rows.items()}
    )


@pytest.mark.parametrize("name", ANSWERS)
def test_each_notice_comes_at_its_second_and_once(run, name):
    catalog, database = run
    changes = changes_of(catalog, name)
    assert set(changes["change"].to_pylist()) == {"+"}
    found = Counter(tuple(r.values()) for r in changes.drop_columns(["change"]).to_pylist())
    expected = Counter(database.execute(ANSWERS[name]).fetchall())
    assert found == expected
    assert expected


@pytest.mark.parametrize("name", FACTS)
def test_accidents_and_segments_are_those_of_every_second(run, name):
    catalog, database = run
    changes, compared = changes_of(catalog, name), 0
    for second in range(60, ROAD.seconds - 1, 60):
        for instant in (second - 1, second):
            asked = f"{FACTS[name]} WHERE {instant} >= since AND {instant} < until"
            expected = rounded(Counter(database.execute(asked).fetchall()))
            width = max((len(row) for row in expected), default=0)
            found = rounded(answer_at(changes, instant))
            assert Counter({row[:width]: n for row, n in found.items()}) == expected, instant
            compared += expected.total()
    assert compared > 5


def test_every_query_of_the_script_is_compared(run):
    assert {q.name for q in run[0].queries} == {*ANSWERS, *FACTS}


def test_some_pay_tolls_and_some_do_not(run):
    _, database = run
    asked = "SELECT count(*) FILTER (toll > 0), count(*) FILTER (toll = 0) FROM notices"
    assert min(database.execute(asked).fetchone()) > 100


def test_reports_are_as_described():
    reports = ROAD.tables()["reports"]
    assert reports == ROAD.tables()["reports"]
    time, vid, lane, pos, seg = (
        reports[c].to_numpy() for c in ("time", "vid", "lane", "pos", "seg")
    )
    assert (time[1:] >= time[:-1]).all()
    assert (pos // 5_280 == seg).all()
    assert seg.min() >= 0
    assert seg.max() < 100
    for one in range(0, 200, 20):
        mine = vid == one
        if mine.any():
            assert set(time[mine][1:] - time[mine][:-1]) <= {EVERY}
            assert EXIT not in lane[mine][:-1]
