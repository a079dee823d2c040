"""The checkpoint of a runtime: what fails leaves neither locks nor names behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.core.errors import StateError
from windrow.result_files.directory_lock import Lock
from windrow.spark.checkpoint.pipeline_directory import PIPELINE, new_pipeline
from windrow.spark.checkpoint.query_directory import open_home
from windrow.spark.run.open_checkpoint import OpenCheckpoint
from windrow.spark.stage.job_layout import Layout


def fail_with_new_queries(checkpoint: OpenCheckpoint, out: Path) -> None:
    """What locks a directory of results and makes two queries, of which one is placed."""
    with checkpoint.all_or_nothing():
        checkpoint.lock(out, "INTO")
        for name in ("placed", "loose"):
            open_home(checkpoint.directory / name, name, {}, lambda: Layout((0,)))
        new_pipeline(checkpoint.directory, ["placed"])
        raise StateError("the start failed")


def test_new_queries_that_came_into_no_pipeline_are_none(tmp_path: Path) -> None:
    checkpoint = OpenCheckpoint(tmp_path / "state", live=False)
    with pytest.raises(StateError, match="the start failed"):
        fail_with_new_queries(checkpoint, tmp_path / "out")
    assert (checkpoint.directory / "placed").exists()
    assert not (checkpoint.directory / "loose").exists()
    Lock(tmp_path / "out", "INTO").release()


def test_what_was_locked_is_given_back_also_where_a_pipeline_cannot_be_read(tmp_path: Path) -> None:
    checkpoint = OpenCheckpoint(tmp_path / "state", live=False)
    (new_pipeline(checkpoint.directory, ["q"]).directory / PIPELINE).write_text("{")
    with pytest.raises(StateError, match="the start failed"):
        fail_with_new_queries(checkpoint, tmp_path / "out")
    assert (checkpoint.directory / "loose").exists(), "it may be in that pipeline"
    Lock(tmp_path / "out", "INTO").release()
