"""Relations read from files: judged once, remembered across runs."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.bucket_fixtures import running_server, server, url
from windrow.columns.types import arrow_schema
from windrow.core.time import BEGINNING, FOREVER, Clock
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import RelationDeclaration
from windrow.plan.program import compile_script
from windrow.spark.source.file_log import Entry, FileLog
from windrow.spark.source.relation_updates import Register, read_updates
from windrow.streams.growing_files import Arrival
from windrow.streams.quarantine import Quarantine
from windrow.tables.file_part import WHOLE

__all__ = ["running_server", "server", "url"]


def declared(kind: str = "NRR") -> RelationDeclaration:
    compiled = compile_script(f"CREATE {kind} r (k INT, name STRING, PRIMARY KEY (k));")
    (relation,) = compiled.catalog.relations
    return relation


def opened(
    tmp_path: Path, log: FileLog, files: list[Path], clock: Clock = Clock.INTEGER
) -> Register:
    return Register(declared(), clock, log, files, Quarantine(tmp_path / "q"))


def write(tmp_path: Path, name: str, *lines: str) -> Path:
    path = tmp_path / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def admit(register: Register, log: FileLog, path: Path, wall: int = FOREVER) -> Entry:
    entry = register.admit(Arrival(path, WHOLE, 9, 0), len(log.entries), wall)
    log.append([entry])
    return entry


def test_updates_are_judged_after_all_that_came_before_also_in_an_earlier_run(tmp_path):
    first = write(tmp_path, "1", "instant,change,k,name", "1,+,1,ann", "2,-,1,ann", "2,-,9,no")
    second = write(tmp_path, "2", "instant,change,k,name", "1,+,5,late", "3,+,1,amy", "4,+,2,bob")
    log = FileLog(tmp_path / "ck" / "r.log")
    one = admit(opened(tmp_path, log, [first]), log, first)
    assert (one.top, one.late, one.rejected) == (2, 0, 1)
    again = FileLog(tmp_path / "ck" / "r.log")
    assert again.paths == {str(first)}
    two = admit(opened(tmp_path, again, [first, second]), again, second)
    assert (two.top, two.late, two.rejected) == (4, 1, 1), "1 was deleted by the earlier run"
    kept = read_updates(Path(two.path or ""), arrow_schema(declared().schema))
    assert (kept.ts.tolist(), kept.sign.tolist()) == ([4], [1])
    reasons = [json.loads(x)["reason"] for p in (tmp_path / "q").rglob("*.jsonl")
               for x in p.read_text().splitlines()]  # fmt: skip
    assert len(reasons) == 3


def test_files_without_instants_are_the_contents_from_the_beginning(tmp_path):
    file = write(tmp_path, "1", "k,name", "1,ann", "x,bob")
    log = FileLog(tmp_path / "ck" / "r.log")
    register = opened(tmp_path, log, [file])
    assert register.contents
    entry = admit(register, log, file)
    kept = read_updates(Path(entry.path or ""), arrow_schema(declared().schema))
    assert kept.ts.tolist() == [BEGINNING + 1]
    assert entry.rejected == 1


def test_an_update_of_the_year_9999_is_put_aside_and_later_ones_are_not_late(tmp_path):
    head, day = "instant,change,k,name", 86_400_000_000
    first = write(tmp_path, "1", head, "1970-01-02,+,1,ann", "9999-12-31,-,1,ann")
    second = write(tmp_path, "2", head, "1970-01-03,-,1,ann")
    log = FileLog(tmp_path / "ck" / "r.log")
    register = opened(tmp_path, log, [first, second], Clock.TIMESTAMP)
    one, two = (admit(register, log, path, wall=2 * day) for path in (first, second))
    assert (one.top, one.late, one.rejected) == (day, 0, 1)
    assert (two.top, two.late, two.rejected) == (2 * day, 0, 0)
    assert [t.top for t in log.times[1:]] == [day, 2 * day]


def test_instants_finer_than_microseconds_are_counted_in_the_entry(tmp_path):
    head, day = "instant,change,k,name", "1970-01-02 00:00:00.000000"
    file = write(tmp_path, "1", head, f"{day}001,+,1,ann", f"{day}000,+,2,bob")
    log = FileLog(tmp_path / "ck" / "r.log")
    register = opened(tmp_path, log, [file], Clock.TIMESTAMP)
    assert admit(register, log, file).cut == 1
    assert [e.cut for e in FileLog(tmp_path / "ck" / "r.log").entries] == [1]


def test_accepted_updates_may_be_in_an_object_store(tmp_path, url):
    first = write(tmp_path, "1", "instant,change,k,name", "1,+,1,ann", "2,-,1,ann")
    second = write(tmp_path, "2", "instant,change,k,name", "3,+,1,amy", "4,+,2,bob")
    entries = []
    for file in (first, second):
        log = FileLog(tmp_path / "ck" / "r.log")
        place = path_of(f"{url}/streams/r")
        register = Register(declared(), Clock.INTEGER, log, [first, second], None, place)
        entries.append(admit(register, log, file))
    assert [entry.rejected for entry in entries] == [0, 1], "1 was deleted by the earlier run"
    assert entries[1].path == f"{url}/streams/r/00000001.parquet"
    kept = read_updates(entries[1].path, arrow_schema(declared().schema))
    assert kept.ts.tolist() == [4]
