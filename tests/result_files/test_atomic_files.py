"""Small files of state that are there whole or not at all."""

from __future__ import annotations

import pytest

from windrow.core.errors import StateError
from windrow.result_files.atomic_files import publish, read_record
from windrow.result_files.commits import Commit
from windrow.spark.archive.filling import WAITING, load_waiting


def test_what_was_published_is_read_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "record.json"
    publish(path, '{"a": 1}')
    publish(path, '{"a": 2}')
    assert read_record(path, "it", lambda found: found["a"], remedy="") == 2
    assert [p.name for p in tmp_path.iterdir()] == ["record.json"]


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", '{"batch": 1, "other": 2}'])
@pytest.mark.parametrize("kind", ["commit", "waiting"])
def test_a_damaged_record_is_an_error_that_names_the_file_and_the_way_out(kind, text, tmp_path):
    path = tmp_path / ("_commit-00000001.json" if kind == "commit" else WAITING)
    path.write_text(text)
    with pytest.raises(StateError, match=r"is damaged.*(start over|from the beginning)") as caught:
        Commit.read(path) if kind == "commit" else load_waiting(tmp_path)
    assert str(path) in str(caught.value)
