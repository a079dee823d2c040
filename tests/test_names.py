"""The check of names refuses what it says it refuses, and the rooms that it covers pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.check_names import ALLOWED_MODULES, ROOMS, SOURCE, is_participle, problems


def tree(root: Path, *names: str, text: str = "") -> Path:
    """Modules of these names below ``root``."""
    for name in names:
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_the_rooms_that_are_done_stay_so() -> None:
    assert list(problems(SOURCE, ROOMS)) == []
    assert all((SOURCE / room).is_dir() for room in ROOMS)


@pytest.mark.parametrize("name", ["told", "settled", "kept", "found", "moved", "written", "met"])
def test_a_function_that_is_a_bare_participle_is_refused(tmp_path: Path, name: str) -> None:
    source = tree(tmp_path, "room/one", text=f"class C:\n    def {name}(self): ...")
    (found,) = problems(source, ["room"])
    assert found.startswith(f"room/one.py:2: {name} is a bare participle")


@pytest.mark.parametrize("name", ["feed", "cut", "read", "found_rows", "is_sorted", "_kept", "id"])
def test_verbs_nouns_and_private_functions_pass(tmp_path: Path, name: str) -> None:
    assert not is_participle(name)
    source = tree(tmp_path, "room/one", text=f"def {name}(): ...")
    assert list(problems(source, ["room"])) == []


def test_a_module_name_in_two_folders_is_refused_and_what_is_in_all_of_them_passes(
    tmp_path: Path,
) -> None:
    source = tree(tmp_path, "one/files", "two/inner/files", "three/files")
    (found,) = problems(source, ["one", "two"])
    assert found.startswith("files.py is the name of several modules: one/files.py, two/inner/fi")
    for name in ALLOWED_MODULES:
        tree(tmp_path / "more", f"a/{name}", f"b/{name}")
    assert list(problems(tmp_path / "more", ["a", "b"])) == []


def test_modules_of_a_room_that_differ_by_a_suffix_are_refused(tmp_path: Path) -> None:
    source = tree(tmp_path, "one/reader", "one/deep/reading", "two/read", "one/tree")
    (found,) = problems(source, ["one", "two"])
    assert found.startswith("one/deep/reading.py and one/reader.py differ by a suffix only")
