"""Relations read from files: judged once, remembered across runs."""

from __future__ import annotations

import json
from pathlib import Path

from windrow.columns.types import arrow_schema
from windrow.core.time import BEGINNING, Clock
from windrow.plan.catalog import RelationDeclaration
from windrow.plan.program import compile_script
from windrow.spark.filelog import Entry, FileLog
from windrow.spark.relations import Register, read_updates


def declared(kind: str = "NRR") -> RelationDeclaration:
    compiled = compile_script(f"CREATE {kind} r (k INT, name STRING, PRIMARY KEY (k));")
    (relation,) = compiled.catalog.relations
    return relation


def opened(tmp_path: Path, log: FileLog, files: list[Path]) -> Register:
    return Register(declared(), Clock.INTEGER, log, files, str(tmp_path / "q"))


def write(tmp_path: Path, name: str, *lines: str) -> Path:
    path = tmp_path / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def admit(register: Register, log: FileLog, path: Path) -> Entry:
    entry = register.admitted(Entry(str(path), 9), len(log.entries))
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
