"""A day that comes in very many goes is not kept in as many runs."""

from __future__ import annotations

import pytest

from tests.archive.support.plain import SCHEMA, bag, table
from windrow.archive.archive import Archive
from windrow.archive.versions.versions import Versions
from windrow.archive.wave.writer import ALIKE, MANY


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_day_in_many_goes_is_whole_and_waits_in_few_runs(tmp_path, form):
    archive = Archive.create(
        tmp_path / "a", SCHEMA, "key", window=3, scheme="DEL", n=1, format=form
    )
    goes = 3 * MANY
    rows = [("abc"[n % 3], n) for n in range(goes)]
    for number, row in enumerate(rows):
        archive.append(7, table([row]))
        versions = Versions(archive.disk)
        names = versions.read(versions.numbers()[-1]).runs
        assert len(names) <= MANY + ALIKE
        assert sum(run.rows for run in names) == number + 1
    assert len(names) < goes / 2
    with archive.reader(7) as reader:
        assert bag(reader.scan()) == bag(table(rows))
        assert len(reader.probe("b")) == goes / 3
    archive.advance(7)
    assert archive.verify() == []
    archive.vacuum()
    with archive.reader() as reader:
        assert bag(reader.scan()) == bag(table(rows))
