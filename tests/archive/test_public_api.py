"""What ``windrow.archive`` exports is there, light to import, and has an example that runs."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import windrow.archive
from windrow.core.errors import WindrowError

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", windrow.archive.__all__)
def test_every_public_name_has_a_docstring_with_an_example(name):
    found = getattr(windrow.archive, name)
    text = (found if callable(found) else type(found)).__doc__ or ""
    assert doctest.DocTestParser().get_examples(text)


def test_all_errors_are_archive_errors():
    errors = [
        getattr(windrow.archive, name) for name in windrow.archive.__all__ if name.endswith("Error")
    ]
    assert len(errors) == 9
    assert all(issubclass(error, windrow.archive.ArchiveError) for error in errors)
    assert issubclass(windrow.archive.ArchiveError, WindrowError)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Archives'"):
        _ = windrow.archive.Archives
    assert set(windrow.archive.__all__) <= set(dir(windrow.archive))


def test_importing_the_room_imports_no_arrow():
    code = "import sys, windrow.archive; print(sorted({'numpy', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_documentation_imports_nothing_deeper_than_the_room():
    deeper = [
        f"{page.name}: {line}"
        for page in DOCS.rglob("*.md")
        for line in page.read_text().splitlines()
        if re.match(r"\s*(from|import) windrow\.archive\.", line)
    ]
    assert deeper == []
