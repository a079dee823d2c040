"""Archives of every format version that was ever released must open, read and go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.archive.golden.make import HERE, digest, records
from windrow.archive.archive import Archive
from windrow.archive.runs.encoding import decode
from windrow.archive.wave.wave import DRAINING

MARKS = ((1, ""), (1, "-summed"), (2, "-sums"))
GOLDEN = sorted(path for path in HERE.glob("*-*") if path.is_dir())


def test_there_is_a_golden_archive_of_each_format_of_runs_and_each_kind_of_layout():
    forms = {"arrow", "parquet"}
    names = {f"{n}-{f}{mark}" for f in forms for n, mark in MARKS}
    assert {path.name for path in GOLDEN} >= names
    assert all(list(path.glob("runs/*.sums")) for path in GOLDEN if path.name.endswith("-sums"))
    found = [(path, Archive.open(path).stat()) for path in GOLDEN]
    techniques = {stat.settings.technique for _, stat in found}
    assert techniques == {"in-place", "packed shadow", "packed at rest"}
    draining = {
        path.name for path, stat in found if any(i.name.startswith(DRAINING) for i in stat.indexes)
    }
    assert draining == {"1-arrow-draining-summed", "2-arrow-draining-sums"}


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_it_opens_answers_as_it_did_and_goes_on(golden, tmp_path):
    path = Path(shutil.copytree(golden, tmp_path / "archive"))
    archive = Archive.open(path)
    expected = json.loads((golden / "expected.json").read_text())
    earlier = golden.name.startswith("1-")  # a list in the key is its values, a row each
    assert archive.layout.each_value == earlier
    assert archive.verify() == []
    assert digest(archive) == expected["hard"]
    assert digest(archive, soft=True) == expected["soft"]
    with archive.reader() as reader:
        found = decode(reader.probe(("w3",), columns=["doc", "_day"])).to_pylist()
    wanted = [
        {"doc": row["doc"], "_day": day}
        for day in range(3, 7)
        for row in records(day, 520 if day == 5 else 12).to_pylist()
        for word in (row["words"] or () if earlier else set(row["words"] or ()))
        if word == "w3"
    ]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    for day in range(7, 12):
        archive.append(day, records(day, 5), now=day)
        assert archive.verify() == []
    assert not any(index.name.startswith(DRAINING) for index in archive.stat().indexes)
    with archive.reader() as reader:
        docs = decode(reader.scan(9, 9, columns=["doc"])).column("doc").to_pylist()
    assert sorted(set(docs)) == [0, 1, 2, 3, 4]
    archive.vacuum()
    assert archive.verify() == []
