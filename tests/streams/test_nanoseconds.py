"""Times finer than microseconds are cut to them, and that is said once."""

from __future__ import annotations

import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import windrow
from windrow import WindrowWarning
from windrow.cli.main import app
from windrow.core.errors import BindError
from windrow.core.schema import Type
from windrow.plan.program import compile_script
from windrow.tables.fit import count_cut

FINE = "2026-03-01 09:00:05.123456789"
PLAIN = "2026-03-01 09:00:05.123456"
STREAM = "CREATE STREAM s (at TIMESTAMP, v INT)"
NANO = pa.array(np.array([FINE, PLAIN], "datetime64[ns]"))


@pytest.mark.parametrize(
    ("values", "count"),
    [
        (NANO, 1),
        (NANO.cast(pa.timestamp("ns", "Europe/Berlin")), 1),
        (NANO.dictionary_encode(), 1),
        (pa.array([FINE, PLAIN, FINE + "+01:00", PLAIN + "000", None]), 2),
        (pa.array([PLAIN, "2026-03-01"]), 0),
        ([FINE, pd.Timestamp(FINE), np.datetime64(FINE), datetime(2026, 3, 1), None, 7], 3),
        ([PLAIN, pd.Timestamp(PLAIN), np.datetime64(PLAIN)], 0),
        (pa.array([1, 2]), 0),
    ],
)  # fmt: skip
def test_what_is_cut_is_counted(values: Any, count: int) -> None:
    assert count_cut(values, Type.TIMESTAMP) == count
    assert count_cut(values, Type.STRING) == 0


@pytest.mark.parametrize(
    "data",
    [
        {"at": NANO, "v": [1, 2]},
        {"at": [FINE, PLAIN], "v": [1, 2]},
        pd.DataFrame({"at": pd.to_datetime([FINE, PLAIN], format="ISO8601"), "v": [1, 2]}),
    ],
    ids=["arrow", "texts", "pandas"],
)
def test_a_push_is_warned_of_once_per_stream(data: Any) -> None:
    db = windrow.connect()
    (seen,) = db.execute(f"{STREAM}; SELECT at FROM s;")
    with pytest.warns(WindrowWarning, match="stream s: times were truncated") as told:
        db.push("s", data)
    assert [w.filename for w in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.push("s", {"at": [np.datetime64("2026-03-02T00:00:00.000000001")], "v": [3]})
    db.advance(to="2026-03-03")
    found = seen.answer()["at"].to_pylist()
    assert found[:2] == [datetime.fromisoformat(PLAIN)] * 2


def test_a_relations_updates_are_told_of_as_well() -> None:
    db = windrow.connect()
    db.execute(f"{STREAM}; CREATE RELATION r (day TIMESTAMP)")
    with pytest.warns(WindrowWarning, match="r: times were"):
        db.push("r", {"day": NANO})


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl", "s.parquet"])
def test_files_are_told_of_on_the_command_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    match Path(name).suffix:
        case ".csv":
            Path(name).write_text(f"at,v\n{FINE},1\n")
        case ".jsonl":
            Path(name).write_text(f'{{"at": "{FINE}", "v": 1}}\n')
        case _:
            pq.write_table(pa.table({"at": NANO, "v": [1, 2]}), name)
    Path("q.cql").write_text(f"{STREAM} FROM '{name}'{' FORMAT json' * name.endswith('l')};"
                             "SELECT v FROM s; SELECT at FROM s;")  # fmt: skip
    done = CliRunner().invoke(app, ["run", "q.cql", "--runner", "embedded", "--once"])
    assert done.exit_code == 0, done.output
    assert done.stderr.count("warning: query query1: times were truncated") == 1


def test_a_literal_with_nanoseconds_is_refused() -> None:
    with pytest.raises(BindError, match="whole microseconds") as refused:
        compile_script(f"{STREAM}; SELECT v FROM s WHERE at > '{FINE}'")
    assert refused.value.span is not None
    compile_script(f"{STREAM}; SELECT v FROM s WHERE at > '{PLAIN}000'")
