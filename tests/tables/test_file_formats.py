"""The one list of formats agrees with all who read, write or offer them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from windrow.cli.match import ResultFormat
from windrow.core.file_formats import (
    COMPRESSED_SUFFIXES,
    FORMATS,
    RESULT_ENDINGS,
    WORDS,
    format_of_name,
    is_compressed,
)
from windrow.tables.readers import read_file
from windrow.tables.typed_files import infer_declaration
from windrow.tables.writers import WRITERS, write_table

TABLE = pa.table({"a": [1, 2], "b": ["x", "y,z"]})


@pytest.mark.parametrize("format_", FORMATS)
def test_what_is_written_in_a_format_is_read_by_the_ending_of_its_name(format_, tmp_path):
    path = tmp_path / f"part.{RESULT_ENDINGS[format_]}"
    write_table(TABLE, path, format_)
    assert format_of_name(path) == format_
    (parsed,) = [p for p in read_file(path, infer_declaration(path)) if len(p)]
    assert parsed.rows.to_pylist() == TABLE.to_pylist()
    assert parsed.numbers.tolist() == [1, 2]


def test_every_ending_means_the_format_that_scripts_call_by_it():
    assert {form.value for form in ResultFormat} == set(FORMATS) == set(RESULT_ENDINGS)
    for word, format_ in WORDS.items():
        assert format_of_name(Path(f"rows.{word}")) == format_
        for suffix in COMPRESSED_SUFFIXES:
            packed = Path(f"rows.{word}{suffix}")
            assert is_compressed(packed)
            assert format_of_name(packed) == format_
    assert set(WRITERS) - {".arrow"} == {f".{form}" for form in FORMATS}
