"""A query over relations only is on the clock of the streams beside it, or of its updates."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
from tests.support.runs import run_embedded
from windrow.core.errors import InputError
from windrow.core.time import Clock
from windrow.plan.program import compile_script

TIMES = [datetime(2026, 1, 1), datetime(2026, 1, 1, 0, 0, 5)]
INTEGERS = [3, 8]
RELATION = "CREATE RELATION r (k INT);"


def updates(instants: list[Any]) -> dict[str, list[Any]]:
    return {"instant": instants, "change": ["+", "-"], "k": [1, 1]}


def pushed(script: str, instants: list[Any], to: Any) -> list[tuple[Any, str]]:
    with windrow.connect() as db:
        (query,) = db.execute(script)
        db.push("r", updates(instants))
        db.advance(to=to)
        assert db.count_rejected("r") == 0
        return [(row["instant"], row["change"]) for row in query.changes().to_pylist()]


@pytest.mark.parametrize("stream", ["", "CREATE STREAM s (ts TIMESTAMP);"])
def test_updates_with_times_put_the_query_on_their_clock(stream: str) -> None:
    found = pushed(stream + RELATION + "SELECT k FROM r;", TIMES, "2026-01-02")
    assert found == [(TIMES[0], "+"), (TIMES[1], "-")]


def test_texts_are_times_unless_they_are_numbers() -> None:
    texts = [t.isoformat(" ") for t in TIMES]
    found = pushed(RELATION + "SELECT k FROM r;", texts, "2026-01-02")
    assert found == [(TIMES[0], "+"), (TIMES[1], "-")]


def test_updates_with_numbers_stay_on_the_integer_clock() -> None:
    assert pushed(RELATION + "SELECT k FROM r;", INTEGERS, 20) == [(3, "+"), (8, "-")]


def test_durations_are_counted_on_the_clock_of_the_streams_beside_the_relation() -> None:
    script = "CREATE STREAM s (ts TIMESTAMP);" + RELATION + "SELECT k FROM r EVERY 4 SECONDS;"
    found = pushed(script, [datetime(2026, 1, 1, 0, 0, 1), TIMES[1]], "2026-01-02")
    assert found == [
        (datetime(2026, 1, 1, 0, 0, 4), "+"),
        (datetime(2026, 1, 1, 0, 0, 8), "-"),
    ]


@pytest.mark.parametrize(
    "rhythm", ["SELECT k FROM r EVERY 4 SECONDS;", "RSTREAM(SELECT k FROM r);"]
)
def test_durations_that_were_counted_already_are_not_counted_anew(rhythm: str) -> None:
    with pytest.raises(InputError, match="declare a stream with a TIMESTAMP column"):
        pushed(RELATION + rhythm, TIMES, "2026-01-02")


def test_once_it_has_updates_a_relation_keeps_its_clock() -> None:
    with windrow.connect() as db:
        db.execute(RELATION + "SELECT k FROM r;")
        db.push("r", updates(INTEGERS))
        db.push("r", updates(TIMES))
        assert db.count_rejected("r") == 2


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize(
    ("instants", "clock"), [(TIMES, Clock.TIMESTAMP), (INTEGERS, Clock.INTEGER)]
)
def test_files_with_times_put_the_query_on_their_clock(
    tmp_path: Path, kind: str, instants: list[Any], clock: Clock
) -> None:
    path, rows = tmp_path / f"r.{kind}", updates(instants)
    if kind == "parquet":
        pq.write_table(pa.table(rows), path)
    elif kind == "csv":
        lines = [",".join(map(str, row)) for row in zip(*rows.values(), strict=True)]
        path.write_text("\n".join([",".join(rows), *lines]) + "\n")
    else:
        each = (dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True))
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in each))
    script = f"CREATE RELATION r (k INT) FROM '{path}'; SELECT k FROM r;"
    (report,) = run_embedded(
        compile_script(script).catalog,
        once=True, quarantine=None, on_progress=lambda _: None,
    ).queries  # fmt: skip
    assert (report.clock, report.rows_out, report.quarantined) == (clock, 2, 0)


@pytest.mark.parametrize("form", ["RSTREAM", "RSTREAM-RESTORE"])
def test_what_was_there_from_the_beginning_of_time_is_not_repeated_since_then(form: str) -> None:
    """On an integer clock that would be about 2**63 times."""
    text = "CREATE STREAM s (ts BIGINT, x INT); CREATE RELATION r (k INT);"
    recent = "SELECT x FROM s [RANGE 2 SECONDS]"
    with windrow.connect() as db:
        [query] = db.execute(f"{text} {form}({recent} UNION ALL SELECT k FROM r) EVERY 1 SECOND;")
        db.push("s", {"ts": [1], "x": [1]})
        db.advance(to=2)
        assert query.changes()["instant"].to_pylist() == [1, 2]
    with windrow.connect() as db:
        db.execute(f"{text} {form}({recent} UNION ALL SELECT k FROM r) EVERY 1 SECOND;")
        db.push("r", {"k": [7]})
        db.push("s", {"ts": [1], "x": [1]})
        with pytest.raises(windrow.DataError, match="from the beginning of time"):
            db.advance(to=2)
