"""What a driver notes is in the store when it has to be, and is found again elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.bucket_fixtures import running_server, server, url
from windrow.core.errors import StateError
from windrow.object_store.errors import StoreError
from windrow.object_store.object_path import address_of, path_of, shared_directory, shared_place
from windrow.spark.checkpoint import working_copy
from windrow.spark.checkpoint.pipeline_directory import PipelineHome, new_pipeline, read_pipeline
from windrow.spark.checkpoint.working_copy import WorkingCopy, notes_of
from windrow.spark.source.file_log import Entry, FileLog
from windrow.spark.source.inbox import INBOX, Inbox, deliveries
from windrow.spark.stage.state_files import StateCommits, Version

__all__ = ["running_server", "server", "url"]


class Run:
    """What a run of one pipeline does with its checkpoint, without Spark."""

    def __init__(self, url: str) -> None:
        self.copy = WorkingCopy(url)
        self.copy.pull()
        known = self.copy.directory / "pipeline-1"
        if known.exists():
            self.home: PipelineHome = read_pipeline(known)
        else:
            self.home = new_pipeline(self.copy.directory, ["q"])
            self.copy.push()
        self.log = FileLog(self.home.log("s"))

    def begin(self, batch: int, path: str = "x") -> None:
        """As the source and then Spark do."""
        self.log.append([Entry(f"{path}{batch}", batch=batch)])
        self.home.offsets.mkdir(parents=True, exist_ok=True)
        (self.home.offsets / str(batch)).write_text(f'v1\n{{}}\n{{"s":{len(self.log.entries)}}}')

    def push(self) -> None:
        self.copy.push("pipeline-1")

    def commit(self, batch: int) -> None:
        StateCommits(self.home.state).publish(batch, Version())

    @property
    def found(self) -> tuple[int, int, list[str | None]]:
        """The last micro-batch that was begun, that is over, and the entries of the log."""
        entries = [entry.path for entry in self.log.entries]
        return self.home.last_begun, self.home.last_batch, entries


def test_a_run_elsewhere_finds_what_was_noted(url, monkeypatch, tmp_path):
    run = Run(url)
    for batch in range(3):
        run.begin(batch)
        run.push()
        if batch < 2:
            run.commit(batch)
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path / "elsewhere"))
    other = Run(url)
    assert other.found == (2, 1, ["x0", "x1", "x2"]), "the third is begun, and to be repeated"
    assert other.home.members == ("q",)
    other.commit(2)
    other.begin(3)
    other.push()
    assert Run(url).found == (3, 2, ["x0", "x1", "x2", "x3"])


def test_whatever_a_push_is_cut_short_at_offsets_count_what_the_log_has(url, server):
    run = Run(url)
    for batch in range(6):
        run.begin(batch)
        left = [batch]

        def refuse(method: str, path: str, left=left):
            left[0] -= method == "PUT"
            return ("403 Forbidden", "AccessDenied") if method == "PUT" and left[0] < 0 else None

        server.refuse = refuse
        try:
            run.push()
        except StoreError:
            pass
        finally:
            server.refuse = lambda method, path: None
        found = Run(url)
        last, _, entries = found.found
        assert len(entries) >= last + 1
        assert found.home.members == ("q",)
    run.push()
    assert Run(url).found == run.found


def test_of_two_runs_one_is_told(url):
    first, second = Run(url), Run(url)
    first.begin(0)
    first.push()
    second.begin(0, "another ")
    with pytest.raises(StateError, match="another run has written to the checkpoint"):
        second.push()
    assert Run(url).found == (0, -1, ["x0"])


def test_offsets_go_when_spark_removes_them_and_nothing_else_does(url, monkeypatch):
    monkeypatch.setattr(working_copy, "RETAINED", 1)
    run = Run(url)
    for batch in range(3):
        run.begin(batch)
        run.push()
    (run.home.offsets / "0").unlink()
    (run.home.offsets / "1").unlink()
    run.push()
    assert sorted(p.name for p in Run(url).home.offsets.glob("[0-9]*")) == ["1", "2"]
    shutil.rmtree(run.copy.directory)
    run.push()
    run.copy.push()
    assert Run(url).found == (2, -1, ["x0", "x1", "x2"])


def test_who_looks_again_sees_what_has_come_and_gone(url, monkeypatch):
    monkeypatch.setattr(working_copy, "RETAINED", 1)
    run, look = Run(url), WorkingCopy(url)
    for batch in range(4):
        run.begin(batch)
        run.push()
        if batch == 2:
            (run.home.offsets / "0").unlink()
        look.look()
        home = read_pipeline(look.directory / "pipeline-1")
        assert home.last_begun == batch
        assert len(FileLog.entries_in(home.log("s"))) == batch + 1
    assert not (home.offsets / "0").exists()


def test_notes_are_put_back_by_who_may_change_them(url):
    run = Run(url)
    run.begin(0)
    run.push()
    for keep in (False, True):
        with notes_of(path_of(url), keep=keep) as directory:
            (directory / "pipeline-1" / "spark" / "offsets" / "0").unlink()
            (directory / "pipeline-1" / "streams" / "s.log").rename(directory / "moved")
    assert Run(url).found == (-1, -1, [])
    assert (Run(url).copy.directory / "moved").read_text() == run.home.log("s").read_text()


def test_copies_of_dead_processes_go(url):
    run = Run(url)
    dead = Run(url).copy
    dead.close()
    dead.directory.mkdir()
    (dead.directory / ".windrow.store").write_text(url)
    again = Run(url)
    assert not dead.directory.exists()
    assert run.copy.directory.exists()
    assert again.copy.directory.exists()


def test_what_others_find_is_in_the_store(url, tmp_path):
    run = Run(url)
    directory = run.home.directory
    assert shared_directory(directory) == path_of(url) / "pipeline-1"
    assert run.home.state == path_of(url) / "pipeline-1" / "state"
    assert address_of(directory / "pipeline.json") == f"{url}/notes/pipeline-1/pipeline.json"
    assert address_of(directory.parent) == url
    for path in (tmp_path, Path("somewhere/else")):
        assert shared_place(path) == path
        assert address_of(path) == str(path)


def inbox(copy: WorkingCopy) -> Inbox:
    copy.pull_inboxes()
    return Inbox(copy.directory / INBOX / "s")


def test_what_a_connection_delivers_is_in_the_store_before_anybody_hears_of_it(url, server):
    rows = pa.record_batch({"ts": [1, 5]})
    first = inbox(WorkingCopy(url))
    first.push(rows, 5)
    first.advance(7)
    server.refuse = lambda method, path: ("403 Forbidden", "AccessDenied")
    with pytest.raises(StoreError):
        first.push(rows, 9)
    server.refuse = lambda method, path: None
    second = inbox(WorkingCopy(url))
    assert (second.next, second.top, second.advanced) == (2, 5, 7)
    delivered, advanced = deliveries(second.directory, after=-1)
    assert (delivered.path, advanced.advance) == (f"{url}/inbox/s/00000000.parquet", 7)
    assert pq.read_table(path_of(delivered.path).local_copy()).to_batches() == [rows]
    second.push(rows, 9)
    with pytest.raises(StateError, match="another connection has delivered rows"):
        first.push(rows, 8)


def test_a_pipeline_does_not_begin_where_a_start_that_was_cut_short_left_state(url):
    run = Run(url)
    left = path_of(url) / "pipeline-7" / "state" / "commits" / "0.json"
    left.bucket.put(left.key, b"{}")
    assert new_pipeline(run.copy.directory, ["r"]).directory.name == "pipeline-8"
