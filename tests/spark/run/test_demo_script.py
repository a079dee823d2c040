"""The demo's script over the same files on both runners, the one on Spark stopped half-way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.scripts import net_changes, run_embedded, run_on_spark, run_two_files
from windrow.cli.demo import below, script
from windrow.cli.trace import TraceParameters, write_trace
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script
from windrow.result_files.commits import commits

pytestmark = pytest.mark.spark

ROWS, FILES = 20_000, 6


def catalog_in(directory: Path, trace: Path) -> Catalog:
    directory.mkdir()
    (directory / "data").symlink_to(trace)
    return below(compile_script(script()).catalog, directory)


@pytest.mark.usefixtures("shuffled")
def test_the_demo_gives_the_same_changes_on_both_runners_also_when_it_is_stopped_in_the_middle(
    spark, tmp_path
):
    write_trace(tmp_path / "data" / "trace", TraceParameters(rows=ROWS, files=FILES))
    expected, found = (catalog_in(tmp_path / n, tmp_path / "data") for n in ("one", "two"))
    reference = run_embedded(expected)
    first = run_two_files(found, tmp_path / "checkpoint")
    cut_off = [len(commits(query.destination)) for query in first.queries]
    assert 2 <= max(cut_off) < FILES, "it was stopped in the middle"
    second = run_on_spark(found, tmp_path / "checkpoint")
    for one, two, whole in zip(first.queries, second.queries, reference.queries, strict=True):
        assert len(commits(two.destination)) >= FILES, "as many micro-batches as files"
        assert net_changes(found, two.name) == net_changes(expected, whole.name) != {}
        assert one.rows_in + two.rows_in == whole.rows_in
        assert two.now == whole.now
