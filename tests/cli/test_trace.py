from __future__ import annotations

from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.cli.trace import LINKS, SCHEMA, TraceParameters, generate, write_trace

SMALL = TraceParameters(rows=20_000, files=8)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    directory = tmp_path_factory.mktemp("demo") / "trace"
    assert write_trace(directory, SMALL)
    return directory


def read(directory, link):
    paths = sorted((directory / link).iterdir())
    return pa.concat_tables([pq.read_table(path) for path in paths])


def test_the_links_share_the_rows_and_come_in_order_of_time(trace):
    links = [read(trace, link) for link in LINKS]
    assert sum(link.num_rows for link in links) == SMALL.rows
    for link in links:
        assert link.schema.equals(SCHEMA)
        assert (np.diff(link["ts"].cast(pa.int64()).to_numpy()) >= 0).all()
        assert link.num_rows > SMALL.rows * 0.4


def test_a_destination_is_reached_over_one_link_only(trace):
    one, two = (set(read(trace, link)["dst"].to_pylist()) for link in LINKS)
    assert one
    assert two
    assert not one & two


def test_a_link_has_as_many_files_as_asked_for_and_each_begins_after_the_last(trace):
    paths = sorted((trace / "link1").iterdir())
    assert len(paths) == SMALL.files
    times = [pq.read_table(path)["ts"] for path in paths]
    ends = [(t[0].as_py(), t[-1].as_py()) for t in times]
    assert all(before[1] <= after[0] for before, after in pairwise(ends))


def test_the_same_parameters_give_the_same_trace_and_another_seed_another():
    first, link = generate(SMALL)
    again, link_again = generate(SMALL)
    other, _ = generate(TraceParameters(rows=20_000, files=8, seed=8))
    assert first.equals(again)
    assert (link == link_again).all()
    assert not first.equals(other)


def test_a_trace_that_is_there_is_left_alone_and_another_replaces_it(tmp_path):
    directory = tmp_path / "trace"
    assert write_trace(directory, TraceParameters(rows=1_000, files=2))
    before = (directory / "link1" / "part-000.parquet").stat().st_mtime_ns
    assert not write_trace(directory, TraceParameters(rows=1_000, files=2))
    assert (directory / "link1" / "part-000.parquet").stat().st_mtime_ns == before
    assert write_trace(directory, TraceParameters(rows=1_000, files=3))
    assert len(list((directory / "link1").iterdir())) == 3
    assert [p.name for p in tmp_path.iterdir()] == ["trace"]


def test_a_trace_that_could_not_be_finished_leaves_nothing_behind(tmp_path):
    def fail(done, total):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_trace(tmp_path / "trace", TraceParameters(rows=1_000, files=2), fail)
    assert list(tmp_path.iterdir()) == []


def test_few_hosts_do_most_of_the_talking_and_some_connections_never_end(trace):
    table = pa.concat_tables([read(trace, link) for link in LINKS])
    counts = np.sort([c["counts"] for c in table["src"].value_counts().to_pylist()])[::-1]
    assert counts[:20].sum() > 0.25 * SMALL.rows
    assert 0 < table["bytes"].null_count < 0.1 * SMALL.rows
    assert table["bytes"].null_count == table["duration"].null_count


@pytest.mark.slow
def test_telnet_joins_give_ten_times_the_results_of_ftp(tmp_path):
    """Golab 2006, 3.6.1: FTP gives about as many results as it has inputs."""
    write_trace(tmp_path / "trace")
    count = """
        SELECT count(*) FROM '{0}/link1/*.parquet' a JOIN '{0}/link2/*.parquet' b USING (src)
        WHERE a.protocol = '{1}' AND b.protocol = '{1}'
          AND abs(epoch_us(a.ts) - epoch_us(b.ts)) < 20::BIGINT * 60000000"""
    inputs = "SELECT count(*) FROM '{0}/*/*.parquet' WHERE protocol = '{1}'"

    def ask(sql, protocol):
        return duckdb.sql(sql.format(tmp_path / "trace", protocol)).fetchall()[0][0]

    ftp, telnet = ask(count, "ftp"), ask(count, "telnet")
    assert ask(inputs, "ftp") == pytest.approx(ftp, rel=0.15)
    assert telnet / ftp == pytest.approx(10, rel=0.2)
