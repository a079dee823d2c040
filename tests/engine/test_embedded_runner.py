"""The embedded runner: what is in the result files, and when."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

from tests.support.runs import run_embedded
from windrow.core.errors import DataError
from windrow.engine.embedded import Embedded
from windrow.engine.progress import Progress
from windrow.engine.runner import run
from windrow.plan.program import compile_script
from windrow.streams.monitor import Accepted, InputMonitor

SCRIPT = """
    CREATE STREAM s (ts BIGINT, w BIGINT) FROM 'in' FORMAT csv;
    CREATE QUERY seen AS SELECT w FROM s INTO 'out' FORMAT csv;
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/1.csv").write_text("ts,w\n1,10\n2,20\n3,30\n")


def ignored(_: Progress) -> None:
    """Progress that nobody looks at."""


def written() -> list[int]:
    tables = [pyarrow.csv.read_csv(p) for p in sorted(Path("out").glob("batch-*"))]
    return [w for table in tables for w in table["w"].to_pylist()]


def test_results_are_published_while_the_runner_waits_for_more_files() -> None:
    stop = threading.Event()
    catalog = compile_script(SCRIPT).catalog
    work = threading.Thread(
        target=lambda: run_embedded(
            catalog, once=False, quarantine=None, on_progress=ignored, stop=stop
        )
    )
    work.start()
    try:
        for name, expected in (("in/2.csv", [10, 20]), ("in/3.csv", [10, 20, 30])):
            deadline = time.monotonic() + 60
            while written() != expected and time.monotonic() < deadline:
                time.sleep(0.05)
            assert written() == expected
            Path(f"{name}.hidden").write_text("ts,w\n4,40\n")
            Path(f"{name}.hidden").rename(name)
    finally:
        stop.set()
        work.join()


def test_what_was_right_before_an_error_is_published() -> None:
    Path("in/2.csv").write_text(f"ts,w\n4,{2**63 - 1}\n")
    catalog = compile_script(
        SCRIPT + "CREATE QUERY more AS SELECT CAST(w AS INT) AS m FROM s;"
    ).catalog
    with pytest.raises(DataError, match="query more, CAST"):
        run_embedded(catalog, once=True, quarantine=None, on_progress=ignored)
    assert written()[:3] == [10, 20, 30]


def test_what_was_read_before_an_error_is_answered_first(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("in/2.csv").write_text("ts,w\n4,40\n")
    accept = InputMonitor.accept

    def fail_at_the_second(self: InputMonitor, *arguments: Any) -> Accepted:
        if self.accepted:
            raise OSError("no more")
        return accept(self, *arguments)

    monkeypatch.setattr(InputMonitor, "accept", fail_at_the_second)
    with pytest.raises(OSError, match="no more"):
        run_embedded(compile_script(SCRIPT).catalog)
    assert written() == [10, 20]


def test_a_query_that_fails_leaves_the_answers_of_the_others_whole() -> None:
    Path("in/1.csv").write_text("ts,w\n1,1\n2,x\n3,3\n")
    catalog = compile_script("""
        CREATE STREAM s (ts BIGINT, w STRING) FROM 'in' FORMAT csv;
        CREATE QUERY bad AS SELECT CAST(w AS INT) AS w FROM s INTO 'bad' FORMAT csv;
        CREATE QUERY good AS SELECT ts AS w FROM s INTO 'out' FORMAT csv;
    """).catalog
    heard: list[str] = []
    with pytest.raises(DataError, match="query bad"):
        run(catalog, Embedded(keep=False), once=True, on_progress=ignored, on_failure=heard.append)
    assert written() == [1, 2, 3]
    assert len(heard) == 1
    assert heard[0].endswith("; the other queries go on")


def test_of_queries_that_fail_at_one_row_each_is_named() -> None:
    Path("in/1.csv").write_text("ts,w\n1,1\n2,x\n3,3\n")
    catalog = compile_script("""
        CREATE STREAM s (ts BIGINT, w STRING) FROM 'in' FORMAT csv;
        CREATE QUERY bad AS SELECT CAST(w AS INT) AS w FROM s INTO 'bad' FORMAT csv;
        CREATE QUERY worse AS SELECT CAST(w AS BIGINT) AS w FROM s INTO 'worse' FORMAT csv;
        CREATE QUERY good AS SELECT ts AS w FROM s INTO 'out' FORMAT csv;
    """).catalog
    heard: list[str] = []
    with pytest.raises(DataError, match="query bad") as raised:
        run(catalog, Embedded(keep=False), once=True, on_progress=ignored, on_failure=heard.append)
    assert written() == [1, 2, 3]
    assert [words.split(",")[0] for words in heard] == ["query bad", "query worse"]
    assert [note.split(",")[0] for note in raised.value.__notes__] == ["query worse"]
