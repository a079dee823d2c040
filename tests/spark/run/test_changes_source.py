"""The source of a stream of changes, as Spark calls it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from tests.result_files.written import filled, identity, place
from windrow.core.errors import StateError
from windrow.result_files.compaction import compact
from windrow.result_files.ownership import prepare
from windrow.spark.run.changes_source import ChangesReader


def latest(directory: Path, start: dict[str, Any] | None = None, run: str = "r") -> dict[str, Any]:
    """The offset that a job which is started gets, after another."""
    reader = ChangesReader(str(directory), run, StructType())
    begun = reader.initialOffset() if start is None else start
    return reader.latestOffset(begun, reader.getDefaultReadLimit())


def test_a_job_goes_on_after_what_it_has_read(tmp_path: Path) -> None:
    where = filled(place(tmp_path), 3)
    first = latest(tmp_path)
    assert latest(tmp_path, first) == first
    filled(where, 6, first=3)
    compact(tmp_path)
    second = latest(tmp_path, first)
    assert second["batch"] == 5
    assert latest(tmp_path, {"batch": 2}) == second, "as earlier versions wrote it"


def test_a_job_that_is_started_again_does_not_go_on_in_the_results_of_another_run(
    tmp_path: Path,
) -> None:
    filled(place(tmp_path), 3)
    first = latest(tmp_path)
    prepare(tmp_path, identity(run="other"), overwrite=True)
    filled(place(tmp_path, run="other"), 6)
    with pytest.raises(StateError, match="results that the stream began with; found those of anot"):
        latest(tmp_path, first, run="other")
    reader = ChangesReader(str(tmp_path), "other", StructType())
    with pytest.raises(StateError, match="with a new checkpoint"):
        reader.partitions({"batch": 0, "run": "r"}, first)


def test_nor_in_those_of_a_run_that_was_rewound(tmp_path: Path) -> None:
    filled(place(tmp_path / "before"), 6)
    first = latest(tmp_path / "before")
    filled(place(tmp_path / "after"), 3)
    with pytest.raises(StateError, match="or of one that was rewound"):
        latest(tmp_path / "after", first)
