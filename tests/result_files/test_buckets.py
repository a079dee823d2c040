"""Results in an object store: the same log of micro-batches, published by conditional puts."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import windrow
from tests.result_files.test_compaction import expected, seen
from tests.result_files.written import NEVER, SCHEMA, filled, identity, micro_batch, place, publish
from tests.support.bucket_fixtures import running_server, server, url
from windrow.cli.main import app
from windrow.core.errors import StateError
from windrow.core.file_formats import RESULT_ENDINGS
from windrow.object_store.bucket import Bucket
from windrow.object_store.bucket_leases import BucketLeases
from windrow.object_store.errors import StoreError
from windrow.object_store.object_path import ObjectPath, path_of
from windrow.result_files import bucket_lock, sinks
from windrow.result_files.atomic_files import ReplacedError, move_away
from windrow.result_files.commits import Commit, Compacted
from windrow.result_files.compaction import compact
from windrow.result_files.directory_lock import lock_directory
from windrow.result_files.ownership import prepare
from windrow.result_files.publication import Place, Publication
from windrow.result_files.reader import published_results
from windrow.result_files.sinks import open_sinks

__all__ = ["running_server", "server", "url"]


def rows_of(directory) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in windrow.results(directory).changes().to_pylist()]


def names(url: str) -> set[str]:
    return set(Bucket(url).list_folder(""))


def only_what_is_named(directory) -> bool:
    """Whether nothing else is left after a compaction."""
    known = published_results(directory).names() | {"_results.json", "_compacted.json"}
    return names(str(directory)) == known


@pytest.mark.parametrize("format_", RESULT_ENDINGS)
def test_results_are_read_as_they_were_written_and_compaction_changes_nothing(format_, url):
    where = filled(place(path_of(url), format_), 13)
    before = seen(where.directory)
    assert rows_of(url) == expected(13)
    done = compact(where.directory)
    assert done is not None
    assert done.after == 1
    assert seen(where.directory) == before
    filled(where, 20, first=13)
    compact(where.directory)
    assert rows_of(url) == expected(20)
    assert only_what_is_named(where.directory)


def test_the_number_of_objects_stays_small_by_itself(url):
    filled(place(path_of(url), compact_at=4), 30)
    assert rows_of(url) == expected(30)
    assert len(names(url)) < 20


class Crash(BaseException):
    """The process ends here."""


def stop_at(monkeypatch, at: int, *, after: bool) -> list[str]:
    """Requests that change something are counted; at the ``at``-th the process ends."""
    log: list[str] = []

    def counted(name: str, whole):
        def count(self, key, *more):
            if at and len(log) >= at:
                raise Crash
            log.append(f"{name} {key}")
            if len(log) == at:
                if after:
                    whole(self, key, *more)
                raise Crash
            return whole(self, key, *more)

        return count

    for name in ("put", "put_new", "replace", "copy", "delete"):
        monkeypatch.setattr(Bucket, name, counted(name, getattr(Bucket, name)))
    return log


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("work", "step"),
    [("publish", 1), ("compact", 13), pytest.param("compact", 1, marks=pytest.mark.slow)],
)
def test_stopped_at_any_request_results_are_those_of_before_or_of_after(work, step, after, url):
    def do(where) -> None:
        if work == "publish":
            publish(where, 6, micro_batch(6))
        else:
            compact(where.directory)

    with pytest.MonkeyPatch.context() as patch:
        where = filled(place(path_of(f"{url}/count")), 6)
        log = stop_at(patch, 0, after=after)
        do(where)
        total = len(log)
    assert total >= 2
    counts = set()
    for at in range(1, total + 1, step):
        where = filled(place(path_of(f"{url}/{at}")), 6)
        with pytest.MonkeyPatch.context() as patch:
            stop_at(patch, at, after=after)
            with pytest.raises(Crash):
                do(where)
        found = published_results(where.directory).last + 1
        counts.add(found)
        assert rows_of(where.directory) == expected(found)
        prepare(where.directory, identity())  # the next run with the same checkpoint
        if work == "publish":
            do(where)
        compact(where.directory)
        filled(where, 9, first=published_results(where.directory).last + 1)
        assert rows_of(where.directory) == expected(9)
        compact(where.directory)
        assert only_what_is_named(where.directory)
    assert counts == ({6, 7} if work == "publish" and after else {6})


def test_a_repeated_micro_batch_adds_nothing(url):
    where = filled(place(path_of(url)), 3)
    before = names(url)
    publish(where, 2, micro_batch(2))
    assert rows_of(url) == expected(3)
    assert names(url) == before


def elsewhere(work) -> None:
    """In a thread of its own, which has read nothing that others have: as in another process."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def late_commit(where: Place, number: int) -> None:
    """Publish as one does that has looked whose the results are, and was suspended then."""
    late = pa.table([[1], ["+"], ["late"]], schema=SCHEMA)
    commit = Commit(number, where.run, (), 9, 1, 1, 0, 0)
    publication = Publication(where, [where.hide(late)], commit)
    publication.write_anew()
    publication.name_commit()


def test_one_that_has_lost_the_place_replaces_nothing_of_the_other(url):
    first = filled(place(path_of(url), run="a"), 3)
    assert not first.is_committed(3)

    def take_over() -> None:
        prepare(path_of(url), identity(run="b"), overwrite=True)
        filled(Place(path_of(url), "parquet", "b", NEVER), 5)

    elsewhere(take_over)
    with pytest.raises(ReplacedError, match="another process has put there since"):
        late_commit(first, 3)  # the other has a micro-batch of that number
    late_commit(first, 5)  # the other has none yet
    assert rows_of(url) == expected(5)
    elsewhere(lambda: filled(Place(path_of(url), "parquet", "b", NEVER), 8, first=5))
    assert rows_of(url) == expected(8)
    with pytest.raises(StateError, match="those of another run"):
        publish(first, 8, micro_batch(8))


def test_of_two_compactions_one_replaces_the_record_and_the_other_leaves_nothing(url):
    where = filled(place(path_of(url)), 6)
    whole = Compacted.publish

    def meanwhile(self, directory, over=None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Compacted, "publish", whole)
            elsewhere(lambda: (compact(directory), filled(where, 9, first=6)))
        return whole(self, directory, over)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compacted, "publish", meanwhile)
        assert compact(where.directory) is None
    assert rows_of(url) == expected(9)
    compact(where.directory)
    assert only_what_is_named(where.directory)


def test_a_second_run_is_refused_and_names_the_first(url, monkeypatch):
    monkeypatch.setattr(bucket_lock, "BucketLeases", partial(BucketLeases, period=2.0))
    with windrow.connect() as db:
        db.execute(SCRIPT.format(url=url))
        with (
            pytest.raises(StateError, match="another run or connection of this process"),
            windrow.connect() as other,
        ):
            other.execute(SCRIPT.format(url=url))
        monkeypatch.setattr(bucket_lock, "_taken", set())  # as in another process
        with pytest.raises(StateError, match=f"found process {os.getpid()} on .*stop that run"):
            lock_directory(path_of(url), "INTO")
    lock_directory(path_of(url), "INTO").release()
    assert not {".windrow.lock"} & names(url)


HOLDS = """
import sys, time
from windrow.object_store.object_path import path_of
from windrow.result_files.directory_lock import lock_directory
lock = lock_directory(path_of(sys.argv[1]), "INTO")
print("held", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("same_machine", [True, False])
def test_a_lock_of_a_process_that_was_killed_is_taken_over(same_machine, url, monkeypatch):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, url], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    process.kill()
    process.wait()
    process.stdout.close()
    monkeypatch.setattr(bucket_lock, "BucketLeases", partial(BucketLeases, period=1.0))
    if not same_machine:
        monkeypatch.setattr(bucket_lock, "_machine", lambda: "another")
    start = time.monotonic()
    lock_directory(path_of(url), "INTO").release()
    assert (time.monotonic() - start > 1.0) == (not same_machine)


SCRIPT = """
CREATE STREAM s (ts BIGINT, k INT);
CREATE QUERY q AS SELECT k, COUNT(*) AS n FROM s [RANGE 5] GROUP BY k INTO '{url}';
"""


def test_a_connection_writes_there_and_results_are_read_while_it_does(url, monkeypatch):
    monkeypatch.setattr(sinks.COMPACT_AT, "value", 4)
    with windrow.connect() as db:
        [q] = db.execute(SCRIPT.format(url=url))
        for ts in range(12):
            db.push("s", {"ts": [ts], "k": [ts % 3]})
        found = windrow.results(url)
        assert found.changes().num_rows == q.rows_out
        assert found.dataset().to_table().num_rows == q.rows_out
        answer = sorted(map(str, found.answer().to_pylist()))
        assert answer == sorted(map(str, q.answer().to_pylist()))
        assert str(found.files()[0]).startswith(f"{url}/batch-")
    with pytest.raises(StateError, match="--overwrite"), windrow.connect() as db:
        db.execute(SCRIPT.format(url=url))
    with windrow.connect(overwrite=True) as db:
        db.execute(SCRIPT.format(url=url))
        db.push("s", {"ts": [1], "k": [1]})
        db.advance(to=1)
    assert windrow.results(url).changes().num_rows == 1


def test_commands_write_show_and_compact_them(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("ts,k\n1,a\n2,b\n3,a\n")
    Path("q.cql").write_text(
        "CREATE STREAM s (ts BIGINT, k STRING) FROM 's.csv' FORMAT csv TIMESTAMP BY ts;"
        f"CREATE QUERY q AS SELECT k, COUNT(*) AS n FROM s [RANGE 5] GROUP BY k INTO '{url}';"
    )
    run("run", "q.cql", "--runner", "embedded", "--once")
    shown = run("results", url, "--answer", "--format", "csv")
    assert '"a",2' in shown
    assert "1 now" in run("compact", url)
    assert run("results", url, "--answer", "--format", "csv") == shown
    assert not Path("s3:").exists()


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_commit_whose_answer_is_lost_is_looked_for_and_nothing_is_published_twice(url):
    [sink] = open_sinks([(path_of(url), identity())])
    sink.prepare()
    sent: list[bytes] = []
    whole = Bucket.put_new

    def put_new(self, key, data):
        if "_commit-" in key and not sent:
            sent.append(data)
            assert whole(self, key, data)
            error = StoreError(where=key, found="no answer")
            error.uncertain = True
            raise error
        return whole(self, key, data)

    rows = pa.record_batch([[1], ["+"], ["a"]], schema=SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bucket, "put_new", put_new)
        sink.write(rows, 1, 1)
        sink.flush(1, 1)
    sink.write(pa.record_batch([[2], ["+"], ["b"]], schema=SCHEMA), 2, 2)
    sink.flush(2, 2)
    assert rows_of(url) == [(1, "+", "a"), (2, "+", "b")]
    sink.close()


def test_a_network_that_is_gone_stops_a_sink_that_cannot_know(url, monkeypatch):
    """More rows must not go under the number of a commit that may be there."""
    [sink] = open_sinks([(path_of(url), identity())])
    sink.prepare()

    def gone(self, key, data):
        error = StoreError(where=key, found="no answer")
        error.uncertain = True
        raise error

    sink.write(pa.record_batch([[1], ["+"], ["a"]], schema=SCHEMA), 1, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bucket, "put_new", gone)
        with pytest.raises(StoreError):
            sink.flush(1, 1)
    with pytest.raises(StoreError, match="no answer"):
        sink.flush(1, 1)
    sink.close()


def test_files_are_moved_away_from_there(url, tmp_path):
    where = filled(place(path_of(url)), 2)
    before = {path.name: path.read_bytes() for path in where.directory.iterdir()}
    for path in list(where.directory.iterdir()):
        move_away(path, tmp_path / path.name)
    assert names(url) == set()
    moved = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert moved == before
    assert rows_of(tmp_path) == expected(2)


def test_a_place_is_no_path_of_this_machine():
    place = path_of("s3://bucket/a/b")
    assert isinstance(place, ObjectPath)
    assert (str(place / "c"), place.name, str(place.parent)) == (
        "s3://bucket/a/b/c", "b", "s3://bucket/a",
    )  # fmt: skip
    assert pickle.loads(pickle.dumps(place)) == place == path_of(place)
    for use in (open, os.stat, os.listdir, os.mkdir):
        with pytest.raises(TypeError, match="no path of this machine"):
            use(place)
