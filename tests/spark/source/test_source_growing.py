"""The source, called as Spark calls it, over files that grow, break and go."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.source.test_source import Source, read, spec, triggers
from windrow.core.errors import InputError
from windrow.core.time import wall_clock
from windrow.spark.source.file_log import Entry, FileLog, Refusals
from windrow.spark.source.file_source import SourceSpec
from windrow.streams.growing_files import LEFT_ALONE, SETTLING
from windrow.streams.quarantine import Quarantine


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


class Run:
    """One run: its reader, and where it has come to."""

    def __init__(self, source: SourceSpec, start: int = 0) -> None:
        self.reader, self.at = Source(source), {"s": start}

    def trigger(self) -> tuple[list[int], dict]:
        """The timestamps and counts of the next micro-batch; nothing if there is none."""
        end = self.reader.latestOffset(self.at, self.reader.getDefaultReadLimit())
        batch = list(self.reader.partitions(self.at, end)) if end != self.at else []
        self.at = end
        if not batch:
            return [], {}
        ts, _, counts = read(self.reader, batch)
        return ts, counts


def csv_spec(tmp_path: Path, **options) -> SourceSpec:
    return spec(tmp_path, format_="csv", quarantine=Quarantine(tmp_path / "q"), **options)


def quarantined(tmp_path: Path) -> list[dict]:
    pages = sorted((tmp_path / "q").rglob("*.jsonl"))
    return [json.loads(line) for page in pages for line in page.read_text().splitlines()]


AS_NOBODY = """
import os, sys
from pathlib import Path
from tests.spark.source.test_source import Source, spec, triggers
from windrow.spark.source.file_log import FileLog
for place in ("as-myself", "as-nobody"):
    source = spec(Path(sys.argv[1]) / place, format_="csv", once=True)
    triggers(Source(source))
    for entry in FileLog(Path(source.log)).entries:
        print(Path(entry.path or "the end").name, entry.refused)
    if os.getuid() == 0:  # whom no file is closed to; by now all modules are imported
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
"""


def test_a_file_that_may_not_be_read_is_refused_and_the_others_are_admitted():
    root = Path(tempfile.mkdtemp(prefix="windrow-account-"))  # nobody else gets into pytest's own
    try:
        for place in ("", "as-myself/in", "as-nobody/in", "as-nobody/checkpoint"):
            (root / place).mkdir(exist_ok=True, parents=True)
        for place in (root, *root.rglob("*")):
            place.chmod(0o777)
        for file in ("as-myself/in/a.csv", "as-nobody/in/a.csv", "as-nobody/in/b.csv"):
            (root / file).write_text("ts,k\n1,1\n")
        (root / "as-nobody/in/b.csv").chmod(0)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, root], cwd=Path(__file__).parents[3],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        shutil.rmtree(root)
    assert done.returncode == 0, done.stderr
    *others, refused, last = done.stdout.splitlines()
    assert [*others, last] == ["a.csv ", "the end ", "a.csv ", "the end "]
    assert refused.startswith("b.csv ")
    assert "Permission denied" in refused


def test_a_watched_file_is_read_by_whole_rows_as_it_grows(inbox, tmp_path):
    run, content = Run(csv_spec(tmp_path)), b'ts,k\n10,1\n11,2\n12,"3"\n13,4\n'
    rows: list[int] = []
    for end in range(1, len(content) + 1):
        (inbox / "a.csv").write_bytes(content[:end])
        rows += run.trigger()[0]
        whole = max(0, content[:end].count(b"\n") - 1)
        assert rows == [10, 11, 12, 13][:whole]
    assert quarantined(tmp_path) == []
    entries = FileLog(Path(run.reader.spec.log)).entries
    assert [e.part.start for e in entries] == [5, 10, 15, 22]  # below the header
    assert [e.part.row for e in entries] == [0, 1, 2, 3]


def test_a_later_run_on_the_checkpoint_reads_what_the_file_grew_by(inbox, tmp_path):
    (inbox / "a.csv").write_text("ts,k\n10,1\n11,2")
    first = Run(csv_spec(tmp_path, once=True))
    ts, counts = first.trigger()
    assert (ts, counts["rejected"]) == ([10], 1)
    assert [(r["row"], r["text"]) for r in quarantined(tmp_path)] == [(2, "11,2")]
    with (inbox / "a.csv").open("a") as file:
        file.write("2\n12,3\n13,x\n")
    second = Run(csv_spec(tmp_path, once=True), first.at["s"])
    ts, counts = second.trigger()
    # The half row is read, and another one is put aside: it is one row all the time.
    assert (ts, counts) == ([11, 12], {"rows_in": 2, "late": 0, "rejected": 0})
    assert [(r["row"], r["text"]) for r in quarantined(tmp_path)] == [(4, "13,x")]
    assert Run(csv_spec(tmp_path, once=True), second.at["s"]).trigger() == ([], {})


def test_a_micro_batch_that_is_repeated_reads_the_same_bytes_though_the_file_grew(inbox, tmp_path):
    (inbox / "a.csv").write_text("ts,k\n10,1\n11,2\n12")
    run = Run(csv_spec(tmp_path))
    before = run.trigger()
    with (inbox / "a.csv").open("a") as file:
        file.write(",3\n13,4\n")
    again = Source(csv_spec(tmp_path))
    repeated = list(again.partitions({"s": 0}, run.at))
    ts, _, counts = read(again, repeated)
    assert (ts, counts) == before == ([10, 11], {"rows_in": 2, "late": 0, "rejected": 0})


def test_a_repeated_micro_batch_over_a_file_that_was_rewritten_reads_none_of_it(inbox, tmp_path):
    (inbox / "a.csv").write_text("ts,k\n10,1\n11,2\n")
    run = Run(csv_spec(tmp_path))
    run.trigger()
    shutil.rmtree(tmp_path / "checkpoint" / "s")  # as after a repair that goes further back
    for content in ("ts,k\n90,1\n91,2\n", "", None):
        (inbox / "a.csv").unlink() if content is None else (inbox / "a.csv").write_text(content)
        again = Source(csv_spec(tmp_path))
        ts, _, counts = read(again, list(again.partitions({"s": 0}, run.at)))
        assert (ts, counts["rejected"]) == ([], 1)
        (record,) = quarantined(tmp_path)
        assert "expected the file unchanged since it was added to the log" in record["reason"]


def test_a_file_that_was_rewritten_is_refused_and_others_are_read(inbox, tmp_path):
    (inbox / "a.csv").write_text("ts,k\n10,1\n11,2\n")
    run = Run(csv_spec(tmp_path))
    run.trigger()
    (inbox / "a.csv").write_text("ts,k\n20,1\n")
    (inbox / "b.csv").write_text("ts,k\n12,1\n")
    assert run.trigger() == ([12], {"rows_in": 1, "late": 0, "rejected": 1})
    (record,) = quarantined(tmp_path)
    assert record["reason"].startswith(f"{inbox / 'a.csv'}: expected a file that grows")
    assert run.trigger() == ([], {})


BAD = {
    "csv": b"ts,other\n1,2\n",
    "csv.gz": gzip.compress(b"ts,k\n1,1\n" * 1000)[:50],
    "json.zst": b"not compressed at all",
    "parquet": b"PAR1 not really",
}


@pytest.mark.parametrize("ending", BAD)
@pytest.mark.parametrize("once", [True, False])
def test_a_file_that_cannot_be_read_is_quarantined_and_the_others_are_read(
    ending, once, inbox, tmp_path
):
    form = ending.partition(".")[0]
    later = SETTLING // 1000 + 1
    source = spec(tmp_path, format_=form, quarantine=Quarantine(tmp_path / "q"), once=once)
    source = replace(source, wall=lambda: wall_clock() + later)
    (inbox / f"a.{ending}").write_bytes(BAD[ending])
    log = Path(source.log)
    refusals = Refusals([log])
    with pytest.raises(InputError, match=f"{inbox}.*expected"):
        triggers(Source(source))
    assert FileLog(log).entries == []
    good = inbox / f"b.{form}"
    if form == "parquet":
        pq.write_table(pa.table({"ts": [7], "k": pa.array([1], pa.int32())}), good)
    else:
        good.write_text("ts,k\n7,1\n" if form == "csv" else '{"ts":7,"k":1}\n')
    assert Run(source).trigger() == ([7], {"rows_in": 1, "late": 0, "rejected": 1})
    (record,) = quarantined(tmp_path)
    assert (record["row"], refusals.words()) == (None, (record["reason"],))


def test_a_parquet_file_is_read_when_its_footer_has_come(inbox, tmp_path):
    pq.write_table(pa.table({"ts": [7], "k": pa.array([1], pa.int32())}), inbox / "a.parquet")
    whole = (inbox / "a.parquet").read_bytes()
    run = Run(spec(tmp_path))
    for end in (0, 10, len(whole) - 1):
        (inbox / "a.parquet").write_bytes(whole[:end])
        assert run.trigger() == ([], {})
    (inbox / "a.parquet").write_bytes(whole)
    assert run.trigger()[0] == [7]


def test_a_last_row_without_its_newline_counts_when_the_file_was_left_alone(inbox, tmp_path):
    later = [0]
    source = replace(csv_spec(tmp_path), wall=lambda: wall_clock() + later[0])
    run = Run(source)
    (inbox / "a.csv").write_text("ts,k\n10,1\n11,2")
    assert run.trigger()[0] == [10]
    assert run.trigger() == ([], {})
    later[0] = SETTLING // 1000 + 1
    assert run.trigger()[1]["rejected"] == 1, "it is said to wait"
    later[0] = LEFT_ALONE // 1000 + 1
    assert run.trigger() == ([11], {"rows_in": 1, "late": 0, "rejected": -1})
    assert quarantined(tmp_path) == []
    with (inbox / "a.csv").open("a") as file:
        file.write("\n12,3\n")
    assert Run(source, run.at["s"]).trigger() == (
        [12],
        {"rows_in": 1, "late": 0, "rejected": 0},
    )


def test_entries_of_logs_of_old_are_whole_files(tmp_path):
    path = tmp_path / "s.log"
    path.write_text('{"path":"/in/a.csv","size":10,"top":5,"advance":null,"end":false}\n')
    (entry,) = FileLog(path).entries
    assert entry == Entry("/in/a.csv", 10, 5)
    assert entry.part.final
    assert entry.end_of_part == 10
