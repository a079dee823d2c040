"""What is pushed on Spark is delivered once, wherever the disk fails."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from windrow.core.errors import StateError
from windrow.plan.program import compile_script
from windrow.spark.source.inbox import deliveries
from windrow.spark.source.inbox_inputs import InboxInputs


@pytest.mark.parametrize("of", ["s", "r"])
def test_rows_that_could_not_be_written_are_delivered_with_the_next(
    of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "CREATE STREAM s (ts BIGINT, k STRING); CREATE RELATION r (k STRING);"
    inputs = InboxInputs(tmp_path)
    inputs.declare(compile_script(script).catalog)
    first, second = {"k": ["a", "b"]}, {"k": ["c"]}
    if of == "s":
        first, second = {"ts": [1, 2], **first}, {"ts": [3], **second}
    inputs.accept(of, first)
    with monkeypatch.context() as patch:
        patch.setattr(pq, "write_table", full)
        with pytest.raises(StateError, match="do not push them again"):
            inputs.deliver()
    inputs.accept(of, second)
    inputs.deliver()
    inputs.deliver()
    written = [pq.read_table(e.path) for e in deliveries(inputs.inbox(of).directory, -1)]
    assert [table.columns[-1].to_pylist() for table in written] == [["a", "b"], ["c"]]


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")
