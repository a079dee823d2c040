"""Which files a source has, and in which order."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.support.altered import altered
from windrow.core.errors import InputError
from windrow.plan.nodes import FileSource
from windrow.tables import find_files as files_module
from windrow.tables.find_files import find_files


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


def test_a_pattern_may_go_any_number_of_directories_down(tree):
    (tree / "sub" / "deep").mkdir()
    (tree / "sub" / "deep" / "e.csv").write_text("x")
    assert names(tree, tree / "**" / "*.csv") == ["a.csv", "b.csv", "sub/c.csv", "sub/deep/e.csv"]
    assert names(tree, tree / "s*" / "**" / "e.csv") == ["sub/deep/e.csv"]
    assert names(tree, tree / "_l*" / "*.csv") == []


def test_links_to_files_are_files_and_those_to_directories_are_not_followed(tree):
    (tree / "link.csv").symlink_to(tree / "a.csv")
    (tree / "gone.csv").symlink_to(tree / "nothing")
    (tree / "loop").symlink_to(tree)
    assert names(tree, tree) == ["a.csv", "b.csv", "link.csv", "sub/c.csv"]


@pytest.fixture
def others_tree():
    """A directory that other accounts may enter, with one below it that they may not."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    (root / "shut").mkdir()
    (root / "shut" / "a.csv").write_text("x")
    (root / "b.csv").write_text("x")
    yield root
    (root / "shut").chmod(0o700)
    shutil.rmtree(root)


def error_as_nobody(path: Path) -> str:
    """What listing the path says when it is done by an account without rights."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            found = str([str(p) for p in find_files(FileSource(str(path), "csv"))])
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        os.write(writer, found.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as said:
        return said.read()


@pytest.mark.parametrize("mode", [0o000, 0o600, 0o100])
@pytest.mark.parametrize("path", ["", "shut", "*/*.csv", "shut/*.csv", "**/a.csv"])
def test_a_directory_that_may_not_be_listed_or_entered_is_an_error(path, mode, others_tree):
    if os.getuid() == 0:
        mode >>= 6  # of another account's
    (others_tree / "shut").chmod(mode)
    said = error_as_nobody(others_tree / path)
    assert said.startswith(f"InputError: {others_tree / 'shut'}")
    assert "expected a directory that may be listed and entered; found Permission denied" in said


def test_a_directory_that_is_passed_over_need_not_be_listed(others_tree):
    (others_tree / "shut").chmod(0)
    (others_tree / "shut").rename(others_tree / "_shut")
    try:
        assert error_as_nobody(others_tree) == str([str(others_tree / "b.csv")])
    finally:
        (others_tree / "_shut").rename(others_tree / "shut")


def test_a_directory_that_vanishes_while_it_is_listed_is_not_there(tree, monkeypatch):
    scan = os.scandir

    def vanish(path):
        if Path(path).name == "sub":
            raise FileNotFoundError(path)
        return scan(path)

    monkeypatch.setattr(files_module, "os", altered(os, scandir=vanish))
    assert names(tree, tree) == ["a.csv", "b.csv"]
