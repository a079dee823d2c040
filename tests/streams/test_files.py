"""Which files a source has, and in which order."""

from __future__ import annotations

import pytest

from windrow.core.errors import InputError
from windrow.plan.catalog import FileSource
from windrow.streams.files import find_files


@pytest.fixture
def tree(tmp_path):
    names = ["b.csv", "a.csv", "sub/c.csv", ".hidden.csv", "_log/x.csv", "d.csv.tmp", "_d.csv"]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    return tmp_path


def names(tree, path):
    return [str(p.relative_to(tree)) for p in find_files(FileSource(str(path), "csv"))]


def test_a_directory_is_all_finished_files_below_it_by_relative_path(tree):
    assert names(tree, tree) == ["a.csv", "b.csv", "sub/c.csv"]


def test_a_file_is_itself_even_if_its_name_is_private(tree):
    assert names(tree, tree / "_d.csv") == ["_d.csv"]


def test_a_pattern_is_the_files_that_match(tree):
    assert names(tree, tree / "[ab].csv") == ["a.csv", "b.csv"]
    assert names(tree, tree / "*" / "*.csv") == ["sub/c.csv"]
    assert names(tree, tree / "no*.csv") == []


def test_a_missing_path_suggests_what_is_near(tree):
    with pytest.raises(InputError, match=r"did you mean .*/sub"):
        find_files(FileSource(str(tree / "sib"), "csv"))
    with pytest.raises(InputError, match="does not exist either"):
        find_files(FileSource(str(tree / "no" / "where"), "csv"))
