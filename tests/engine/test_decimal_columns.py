"""Decimals from files to results and back: every format, every door, to the last digit."""

from __future__ import annotations

import json
import warnings
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import windrow
from windrow.archive import Archive

LONG = Decimal("12345678901234567890.5")
ROWS = [(1, Decimal("0.10"), LONG), (2, Decimal("0.20"), None), (4, None, -LONG)]
COLUMNS = "ts BIGINT, x DECIMAL(10, 2), y DECIMAL(30, 1)"


def written(directory: Path, format_: str) -> Path:
    """The rows and one that does not fit, as a file."""
    path = directory / f"rows.{format_}"
    rows = [*ROWS, (5, Decimal("1.205"), None)]
    if format_ == "csv":
        texts = (",".join("" if v is None else str(v) for v in row) for row in rows)
        path.write_text("\n".join(["ts,x,y", *texts, ""]))
    elif format_ == "json":
        lines = (
            f'{{"ts": {ts}, "x": {"null" if x is None else x}, "y": {"null" if y is None else y}}}'
            for ts, x, y in rows
        )
        path.write_text("\n".join([*lines, ""]))
    else:
        columns = [list(c) for c in zip(*rows, strict=True)]
        kinds = (pa.int64(), pa.decimal128(12, 3), pa.decimal128(38, 1))
        arrays = [pa.array(c, k) for c, k in zip(columns, kinds, strict=True)]
        pa.parquet.write_table(pa.table(arrays, names=["ts", "x", "y"]), path)
    return path


@pytest.mark.parametrize("into", ["csv", "json", "parquet"])
@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_files_are_read_and_results_written_to_the_last_digit(
    tmp_path: Path, format_: str, into: str
) -> None:
    path, results = written(tmp_path, format_), tmp_path / "results"
    with windrow.connect() as db, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        db.execute(f"CREATE STREAM s ({COLUMNS}) FROM '{path}';")
        db.execute(
            "CREATE QUERY q AS SELECT x, y, x + 1 AS z FROM s [UNBOUNDED] "
            f"INTO '{results}' FORMAT {into};"
        )
        db.advance(10)
        assert db.queries["q"].answer().to_pylist() == [
            {"x": x, "y": y, "z": None if x is None else x + 1} for _, x, y in ROWS
        ]
        (refused,) = db.quarantined_rows("s").to_pylist()
        assert "expected DECIMAL(10, 2), found" in refused["reason"]
    with windrow.connect() as db:
        kinds = "x DECIMAL(10, 2), y DECIMAL(30, 1), z DECIMAL(13, 2)"
        db.execute(f"CREATE RELATION r ({kinds}) FROM '{results}' FORMAT {into};")
        (again,) = db.execute("CREATE QUERY again AS SELECT SUM(y) AS y, SUM(z) AS z FROM r;")
        db.advance(10)
        assert again.answer().to_pylist() == [{"y": Decimal("0.0"), "z": Decimal("2.30")}]


def test_python_values_are_taken_as_they_are_and_one_time_sql_sees_decimals() -> None:
    with windrow.connect() as db:
        db.execute(f"CREATE STREAM s ({COLUMNS});")
        db.execute("CREATE QUERY q AS SELECT SUM(x) AS x, MAX(y) AS y FROM s [RANGE 3 SECONDS];")
        rows = [{"ts": ts, "x": x, "y": y} for ts, x, y in ROWS]
        db.push("s", [*rows, {"ts": 4, "x": 7, "y": 10**25}, {"ts": 4, "x": 0.1, "y": "1.5"}])
        db.advance(4)
        assert db.query("SELECT x, y FROM q").to_pylist() == [
            {"x": Decimal("7.30"), "y": Decimal(10**25)}
        ]
        window = db.query("SELECT SUM(x) AS x FROM s [RANGE 3 SECONDS]").to_pylist()
        assert window == [{"x": Decimal("7.30")}]


def test_a_sum_beyond_38_digits_is_null_until_it_fits_again() -> None:
    most, least = Decimal(10**38 - 1), Decimal(1 - 10**38)
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, x DECIMAL(38, 0));")
        (query,) = db.execute(
            "CREATE QUERY q AS SELECT SUM(x) AS x, AVG(x) AS m, COUNT(x) AS n FROM s [ROWS 2];"
        )
        rows = [{"ts": t, "x": x} for t, x in enumerate([most, most, least, 1])]
        with pytest.warns(windrow.WindrowWarning, match="overflowed BIGINT or DECIMAL"):
            db.push("s", rows)
        db.advance(9)
        came = [row for row in query.changes().to_pylist() if row["change"] == "+"]
        assert [row["x"] for row in came] == [most, None, 0, Decimal(2 - 10**38)]
        assert [row["m"] for row in came] == [None, None, 0, None]


def test_json_that_is_read_line_by_line_has_all_digits_of_decimals(tmp_path: Path) -> None:
    rows = [{"ts": 1, "x": "0.10"}, {"ts": "two", "x": 1}, {"ts": 3, "x": 0.25, "f": 0.1}]
    path = tmp_path / "rows.json"
    path.write_text("\n".join(map(json.dumps, rows)))
    with windrow.connect() as db, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        db.execute(f"CREATE STREAM s (ts BIGINT, x DECIMAL(30, 2), f DOUBLE) FROM '{path}';")
        (query,) = db.execute("CREATE QUERY q AS SELECT x, f FROM s [UNBOUNDED];")
        db.advance(9)
        assert query.answer().to_pylist() == [
            {"x": Decimal("0.10"), "f": None},
            {"x": Decimal("0.25"), "f": 0.1},
        ]


def test_subscriptions_and_archives_take_columns_of_decimals(tmp_path: Path) -> None:
    conditions = 'id,x\nsmall,< 0.20\nlarge,">= 0.20"\nthis,= 0.10\n'
    (tmp_path / "ranges.csv").write_text(conditions)
    with windrow.connect() as db:
        db.execute(f"""
            CREATE STREAM s ({COLUMNS});
            CREATE SUBSCRIPTIONS found ON s (x) FROM '{tmp_path}/ranges.csv';
            CREATE ARCHIVE kept ON s KEY y WINDOW 3 DAYS USING WATA(2) INTO '{tmp_path}/kept';""")
        db.push("s", [{"ts": ts, "x": x, "y": y} for ts, x, y in ROWS])
        db.advance(100_000)
        came = db.queries["found"].changes().to_pylist()
        assert sorted((row["x"], row["subscription"]) for row in came) == [
            (Decimal("0.10"), "small"), (Decimal("0.10"), "this"), (Decimal("0.20"), "large"),
        ]  # fmt: skip
    with Archive.open(tmp_path / "kept").reader() as reader:
        archived = reader.probe(LONG).to_pylist()
    assert [(row["ts"], row["y"]) for row in archived] == [(1, LONG)]


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_a_number_that_needs_more_than_128_bits_goes_to_the_quarantine(
    tmp_path: Path, format_: str
) -> None:
    path, number = tmp_path / f"rows.{format_}", Decimal("-31378432.8")
    if format_ == "parquet":
        table = pa.table([pa.array([1]), pa.array([number])], names=["ts", "x"])
        pa.parquet.write_table(table, path)
    else:
        path.write_text(
            f"ts,x\n1,{number}\n" if format_ == "csv" else f'{{"ts": 1, "x": "{number}"}}\n'
        )
    with windrow.connect() as db, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        db.execute(f"CREATE STREAM s (ts BIGINT, x DECIMAL(38, 33)) FROM '{path}';")
        db.execute("CREATE QUERY q AS SELECT x FROM s [UNBOUNDED];")
        db.advance(10)
        assert db.queries["q"].answer().num_rows == 0
        assert len(db.quarantined_rows("s")) == 1


def test_a_sum_is_rounded_with_the_digits_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("ts,a\n1,1.23456789\n2,1.00000000\n")
    with windrow.connect() as db:
        db.execute(f"CREATE STREAM d (ts BIGINT, a DECIMAL(18, 8)) FROM '{path}';")
        db.execute(
            "CREATE QUERY q AS SELECT ROUND(SUM(a), 2) AS r, ROUND(SUM(a), 8) AS s, "
            "FLOOR(AVG(a)) AS f, CEIL(SUM(a)) AS c FROM d [UNBOUNDED];"
        )
        db.advance(10)
        (found,) = db.queries["q"].answer().to_pylist()
    assert found == {"r": Decimal("2.23"), "s": Decimal("2.23456789"), "f": 1, "c": 3}


@pytest.mark.parametrize(
    "select",
    ["SELECT CAST(b AS DECIMAL(38, 6)) AS r FROM t", "SELECT GREATEST(b, c) AS r FROM t",
     "SELECT COALESCE(b, c) AS r FROM t", "SELECT CASE WHEN ts = 1 THEN b ELSE c END AS r FROM t",
     "SELECT [b, c] AS r FROM t", "SELECT b AS r FROM t UNION ALL SELECT c AS r FROM t"],
)  # fmt: skip
def test_a_value_without_a_place_in_the_common_type_stops_the_query(select: str) -> None:
    with windrow.connect() as db:
        db.execute("CREATE STREAM t (ts BIGINT, b DECIMAL(34, 1), c DECIMAL(17, 11));")
        db.execute(f"CREATE QUERY q AS {select};")
        number = Decimal("347863165156105538215829236752191.2")
        db.push("t", [{"ts": 1, "b": number, "c": Decimal("1.5")}])
        with pytest.raises(windrow.WindrowError, match=r"CAST\(b AS DECIMAL\(38, 6\)\)"):
            db.advance(10)


@pytest.mark.parametrize(
    ("left", "right"), [("[b]", "[c]"), ("{'v': b, 'w': ts}", "{'v': c, 'w': 1}")]
)
def test_decimals_inside_arrays_and_structs_are_compared_exactly_beyond_38_digits(
    left: str, right: str
) -> None:
    """No type has the digits before the point of b and those behind it of c."""
    with windrow.connect() as db:
        db.execute(
            "CREATE STREAM t (ts BIGINT, b DECIMAL(34, 1), c DECIMAL(17, 11)); "
            "CREATE STREAM u (ts BIGINT, b DECIMAL(34, 1), c DECIMAL(17, 11));"
        )
        db.execute(
            f"CREATE QUERY q AS SELECT {left} = {right} AS e, {left} < {right} AS l, "
            f"{left} > {right} AS g FROM t [NOW];"
        )
        db.execute("CREATE QUERY j AS SELECT t.b, u.c FROM t [NOW], u [NOW] WHERE [t.b] = [u.c];")
        long = Decimal("347863165156105538215829236752191.2")
        pairs = [(long, Decimal("1.5")), (Decimal("1.5"), Decimal("1.5")), (-long, Decimal(0)),
                 (Decimal("1.5"), Decimal("1.50000000001")), (None, Decimal(2))]  # fmt: skip
        rows = [{"ts": 1, "b": b, "c": c} for b, c in pairs]
        db.push("t", rows)
        db.push("u", rows)
        db.advance(1)
        found = [tuple(r.values()) for r in db.queries["q"].answer().to_pylist()]
        met = db.queries["j"].answer().to_pylist()
    less, equal, more = (False, True, False), (True, False, False), (False, False, True)
    assert sorted(found) == sorted([more, equal, less, less, more])  # NULL inside is the greatest
    assert met == 4 * [{"b": Decimal("1.5"), "c": Decimal("1.5")}]


def test_a_whole_decimal_of_more_than_64_bits_is_a_parameter() -> None:
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, x DECIMAL(38, 0));")
        [asked] = db.execute("SELECT x - :x AS rest FROM s WHERE x >= :x", {"x": Decimal(10) ** 37})
        db.push("s", {"ts": [1, 2], "x": [Decimal(10**37 + 1), Decimal(10**37 - 1)]})
        db.advance(2)
        assert asked.answer().to_pylist() == [{"rest": 1}]


@pytest.mark.parametrize("parameter", [False, True])
def test_a_constant_beside_a_decimal_has_all_digits_that_are_written(parameter: bool) -> None:
    query = (
        "SELECT y = :y AS same, y - :y AS rest, y IN (:y, -1.5) AS one, -y = - :y AS other, "
        "CAST(:y AS DECIMAL(30, 3)) AS wide, CAST(:y AS DOUBLE) AS near FROM s"
    )
    with windrow.connect() as db:
        db.execute(f"CREATE STREAM s ({COLUMNS});")
        if parameter:
            [asked] = db.execute(query, {"y": LONG})
        else:
            [asked] = db.execute(query.replace(":y", str(LONG)))
        db.push("s", {"ts": [1], "x": [None], "y": [LONG]})
        db.advance(2)
        (row,) = asked.answer().to_pylist()
    assert row == {
        "same": True, "rest": 0, "one": True, "other": True, "wide": LONG, "near": float(LONG),
    }  # fmt: skip
