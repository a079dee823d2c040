"""CSV with other separators and quotes, and without a header."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow
from windrow.core.errors import InputError, ScriptError
from windrow.plan.program import compile_script
from windrow.tables.chunks import CsvRowEnds
from windrow.tables.readers import read_file

SWAPPED = bytes.maketrans(b",;\"'", b";,'\"")
TEXTS = st.lists(st.sampled_from([b",", b";", b'"', b"'", b"a", b"1", b"\n", b"\r"])).map(b"".join)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows(path: str, form: str, columns: str = "ts BIGINT, name STRING, v DOUBLE") -> list[tuple]:
    [stream] = compile_script(f"CREATE STREAM s ({columns}) FROM '{path}' {form}").catalog.streams
    found = []
    for parsed in read_file(Path(path), stream):
        found += [tuple(row.values()) for row in parsed.rows.to_pylist()]
        found += [("refused", r.row, r.text) for r in parsed.rejected]
    return found


@given(text=TEXTS, at=st.integers(0, 20))
def test_ends_of_rows_are_those_of_the_text_with_commas_however_it_comes(text, at):
    plain, other = CsvRowEnds(), CsvRowEnds(";", "'")
    for block in (text[:at], text[at:]):
        assert other.find(block.translate(SWAPPED)) == plain.find(block)
        assert other.state == plain.state


def test_semicolons_single_quotes_and_no_header():
    text = "1;'a;b';2.5\n2;'it''s\nlong';\n3;x;nothing\n4;\"y\";1\n"
    Path("a.csv").write_text(text)
    wanted = "FORMAT csv (SEPARATOR ';', QUOTE '''', HEADER false)"
    expected = [
        (1, "a;b", 2.5), (2, "it's\nlong", None), (4, '"y"', 1.0), ("refused", 3, "3;x;nothing"),
    ]  # fmt: skip
    assert rows("a.csv", wanted) == expected
    Path("b.csv").write_text("\ufeffv;name;ts\n" + "".join(f"{n};n{n};{n}\n" for n in range(3)))
    assert rows("b.csv", "FORMAT csv (DELIMITER = ';')") == [
        (n, f"n{n}", float(n)) for n in range(3)
    ]
    Path("c.csv").write_text("\ufeff" + text)
    assert rows("c.csv", wanted) == expected


def test_tabs_without_quotes_and_compressed_files_by_their_names():
    Path("a.csv.gz").write_bytes(gzip.compress(b'ts\tname\tv\n1\t"a\t2\n'))
    assert rows("a.csv.gz", "FORMAT csv (SEPARATOR '\\t', QUOTE '')") == [(1, '"a', 2.0)]
    Path("b.csv.gz").write_bytes(gzip.compress(b"ts,name,v\n1,a,2\n"))
    assert rows("b.csv.gz", "") == [(1, "a", 2.0)]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("ts;name;v\n1;a;2\n", "write FORMAT csv (SEPARATOR ';')"),
        ("ts\tname\tv\n", "write FORMAT csv (SEPARATOR '\\t')"),
        ("1,a,2\n2,b,3\n", "if the files have no header, write FORMAT csv (HEADER false)"),
    ],
)
def test_a_header_that_is_read_wrongly_says_what_to_write(text: str, remedy: str) -> None:
    Path("a.csv").write_text(text)
    with pytest.raises(InputError) as found:
        rows("a.csv", "")
    assert found.value.remedy == remedy


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("form", ["", "FORMAT csv (HEADER false)"])
def test_utf_16_is_named(encoding, form):
    Path("a.csv").write_text("ts,name,v\n1,a,2\n", encoding=encoding)
    with pytest.raises(InputError, match=r"expected UTF-8 text; found UTF-16.*iconv"):
        rows("a.csv", form)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named_in_json_lines_too(encoding):
    Path("a.json").write_text('{"ts": 1, "name": "a", "v": 2}\n', encoding=encoding)
    with pytest.raises(InputError, match=r"expected UTF-8 text; found UTF-16.*iconv"):
        rows("a.json", "")


PACKED = [
    (lzma.compress, "found an xz file.*unpack it, or pack it as .gz"),
    (gzip.compress, "found a gzip file.*give it a name that ends in .gz"),
    (bz2.compress, "found a bzip2 file.*give it a name that ends in .bz2"),
    (lambda text: b"PK\3\4" + text, "found a zip archive.*save it as CSV"),
    (lambda text: b"PAR1\x15" + text, "found a Parquet file.*write FORMAT parquet"),
]


@pytest.mark.parametrize(("pack", "words"), PACKED)
@pytest.mark.parametrize("form", ["FORMAT csv", "FORMAT csv (HEADER false)", "FORMAT json"])
def test_a_file_that_is_packed_is_not_read_as_text(pack, words, form):
    Path("a").write_bytes(pack(b"ts,name,v\n1,a,2\n" * 9))
    with pytest.raises(InputError, match=f"a: expected UTF-8 text; {words}"):
        rows("a", form)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.tsv", r"write FORMAT csv \(SEPARATOR '\\t'\)"),
        ("a.csv.xz", "unpack it, or pack it as .gz"),
        ("a.xlsx", "save the sheet as CSV"),
    ],
)
def test_an_ending_that_tells_no_format_says_what_to_do(name, words):
    with pytest.raises(ScriptError, match=words):
        rows(name, "")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("FORMAT csv (SEPARATOR ';;')", "one ASCII character for SEPARATOR; found ';;'"),
        ("FORMAT csv (SEPERATOR ';')", "did you mean SEPARATOR?"),
        ("FORMAT csv (HEADER 'no')", "HEADER true or false; found no"),
        ("FORMAT csv (QUOTE ',')", "SEPARATOR and QUOTE are the same character"),
        ("FORMAT json (HEADER false)", "FORMAT json has no options"),
        ("FORMAT csv (HEADER 5)", "a text in quotes, TRUE or FALSE after HEADER"),
        ("FORMAT csv ()", "an option such as SEPARATOR"),
    ],
)
def test_options_that_are_none_are_refused(form: str, words: str) -> None:
    with pytest.raises(ScriptError) as found:
        compile_script(f"CREATE STREAM s (ts BIGINT) FROM 'a.csv' {form}")
    assert words in str(found.value)


def test_relations_need_a_header_and_subscriptions_have_no_options():
    with pytest.raises(ScriptError, match="files of a relation need a header"):
        compile_script("CREATE RELATION r (a INT) FROM 'r.csv' FORMAT csv (HEADER false)")
    with pytest.raises(ScriptError, match="files of subscriptions have no options"):
        compile_script(
            "CREATE STREAM s (ts BIGINT); "
            "CREATE SUBSCRIPTIONS t ON s (ts) FROM 't.csv' FORMAT csv (SEPARATOR ';')"
        )


def test_a_relation_may_be_separated_by_something_else():
    Path("r.csv").write_text("k|v\na|1\nb|2\n")
    Path("s.csv").write_text("ts|k\n1|b\n")
    with windrow.connect() as db:
        [found] = db.execute("""
            CREATE STREAM s (ts BIGINT, k STRING) FROM 's.csv' FORMAT csv (SEPARATOR '|');
            CREATE RELATION r (k STRING, v INT) FROM 'r.csv' FORMAT csv (SEPARATOR '|');
            SELECT r.v FROM s [RANGE 5], r WHERE s.k = r.k;
        """)
        db.advance(to=2)
        assert found.answer().to_pylist() == [{"v": 2}]
