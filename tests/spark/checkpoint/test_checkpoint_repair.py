"""A checkpoint that Spark made, damaged, named, repaired and gone on with: every change once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.faults.processes import kill_own_workers
from tests.spark.scripts import compiled, net_changes, run_embedded, run_on_spark, write_streams
from windrow.cli.main import app
from windrow.core.errors import StateError
from windrow.result_files.commits import commits
from windrow.spark.checkpoint.survey import survey

pytestmark = pytest.mark.spark

QUERY = {
    "pairs": "SELECT a.v, COUNT(*) AS n FROM a [RANGE 20], b [RANGE 10] "
    "WHERE a.k = b.k GROUP BY a.v"
}


def windrow(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return f"{result.output}exit {result.exit_code}"


def one_more(directory, number: int) -> None:
    """A file of each stream, later than all before, of which repeated batches must get no row."""
    for name, pace in (("a", 1), ("b", 3)):
        ts = 1_000 * number + np.arange(100) * pace // 4
        columns = {"ts": ts, "k": (ts % 20).astype(np.int32), "v": ts % 50}
        pq.write_table(pa.table(columns), directory / name / f"{number:02d}.parquet")


def cut(path):
    path.write_bytes(path.read_bytes()[:50])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.slow  # six starts of a query; test_checkpoint_survey has every kind of damage
@pytest.mark.timeout(600)
def test_a_damaged_checkpoint_is_refused_repaired_and_gone_on_with(spark, tmp_path):
    write_streams(tmp_path, files=4, rows=100)
    found = compiled(tmp_path, QUERY, "found")
    checkpoint = tmp_path / "checkpoint"
    home = checkpoint / "pipeline-1"
    run_on_spark(found, checkpoint)
    last = survey(home).whole
    assert last >= 3
    assert f"{home} (pairs): complete up to batch {last}" in windrow(
        "checkpoint", "check", checkpoint
    )

    cut(home / "spark" / "offsets" / str(last))
    one_more(tmp_path, 4)
    with pytest.raises(StateError, match=rf"offsets/{last}: .*windrow checkpoint check"):
        run_on_spark(found, checkpoint)
    said = windrow("checkpoint", "check", checkpoint)
    assert f"offsets/{last}: it differs from its checksums" in said
    assert said.endswith("exit 1")
    said = windrow("checkpoint", "repair", checkpoint, "--dry-run")
    assert f"offsets/{last} would be moved away" in said
    assert (home / "spark" / "offsets" / str(last)).exists(), "nothing was done"
    said = windrow("checkpoint", "repair", checkpoint)
    assert f"the next run repeats batch {last};" in said
    run_on_spark(found, checkpoint)
    assert_as_embedded(tmp_path, found, "first")

    for path in (home / "state").glob("*/*.state"):
        if not path.name.startswith("00000000-"):
            flip(path)
    kill_own_workers()  # who have it in memory
    one_more(tmp_path, 5)
    with pytest.raises(StateError, match=r"state/.*: the checkpoint is damaged; found it d"):
        run_on_spark(found, checkpoint)
    begun, published = survey(home).last, len(commits(tmp_path / "found" / "pairs"))
    said = windrow("checkpoint", "repair", checkpoint)
    assert f"the next run repeats batches 1 to {begun};" in said
    run_on_spark(found, checkpoint)
    assert len(commits(tmp_path / "found" / "pairs")) > published >= begun
    assert_as_embedded(tmp_path, found, "second")
    assert windrow("checkpoint", "check", checkpoint).endswith("exit 0")


def assert_as_embedded(directory, found, name: str) -> None:
    expected = compiled(directory, QUERY, name)
    run_embedded(expected)
    assert net_changes(found, "pairs") == net_changes(expected, "pairs") != {}
