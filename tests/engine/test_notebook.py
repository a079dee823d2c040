"""What notebooks show: escaped HTML of answers, plans and connections, and lines over time."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import pyarrow as pa
import pytest

import windrow
from windrow.core.errors import InputError, WindrowError
from windrow.engine.answer_plot import lines_of
from windrow.engine.connection import Connection

SCRIPT = """
CREATE STREAM s (ts BIGINT, k STRING, x INT);
CREATE QUERY sums AS SELECT k, SUM(x) AS "x<y" FROM s [RANGE 3 SECONDS] GROUP BY k;
"""


@pytest.fixture
def db() -> Connection:
    connection = windrow.connect()
    connection.execute(SCRIPT)
    connection.push("s", {"ts": [1, 2, 2], "k": ["<b>", "c", "<b>"], "x": [1, 2, 4]})
    connection.advance(to=2)
    return connection


def test_an_answer_is_a_table_and_nothing_in_it_is_markup(db: Connection) -> None:
    html = db.queries["sums"]._repr_html_()
    assert "<caption>query sums: 3 rows in, 4 changes out</caption>" in html
    assert "<th>x&lt;y</th>" in html
    assert '<td>&lt;b&gt;</td><td style="text-align:right">5</td>' in html
    assert "<b>" not in html


def test_a_long_answer_says_how_many_rows_it_leaves_out(db: Connection) -> None:
    [all_rows] = db.execute("SELECT x FROM s [RANGE 1 HOUR]")
    db.push("s", {"ts": [3] * 50, "k": ["a"] * 50, "x": range(50)})
    db.advance(to=3)
    html = all_rows._repr_html_()
    assert html.count("<tr>") == 21
    assert html.endswith("<p>... and 33 more</p>")


def test_a_plan_has_its_patterns_in_colour_and_is_a_text(db: Connection) -> None:
    plan = db.explain("SELECT k FROM s [RANGE 5 SECONDS] WHERE x < 3 AND k <> '<script>'")
    html = plan._repr_html_()
    assert plan.startswith("query1 (k)")
    assert html.count("font-weight:bold") == plan.count("↑ ")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_connection_shows_its_streams_and_queries(db: Connection) -> None:
    html = db._repr_html_()
    assert "<td>s</td>" in html
    assert "<td>sums</td><td>STRICT</td>" in html


def test_what_a_cell_has_declared_and_asked_is_shown_together(db: Connection) -> None:
    done = db.execute(SCRIPT + "SHOW QUERIES; EXPLAIN sums;")
    html = done._repr_html_()
    for part in ("query sums: 3 rows in", "<caption>queries</caption>", "<pre>sums (k"):
        assert part in html
    assert "pattern" in repr(done)
    assert repr(db.execute("SHOW VIEWS")).startswith("Empty DataFrame")


def test_a_query_that_stopped_shows_why() -> None:
    db = windrow.connect()
    db.execute(SCRIPT)
    [cast] = db.execute("SELECT CAST(k AS INT) AS n FROM s [RANGE 9 SECONDS]")
    db.push("s", {"ts": [3], "k": ["no"], "x": [1]})
    with pytest.raises(WindrowError):
        db.advance(to=3)
    assert "it has no answer, because it stopped" in cast._repr_html_()


def test_lines_over_time_are_steps_with_gaps(db: Connection) -> None:
    db.advance(to=9)
    lines = lines_of(db.queries["sums"].changes(), "sums", "x<y", "k")
    instants, values = lines["<b>"]
    assert instants == [1, 2, 4, 5]
    assert values[:3] == [1.0, 5.0, 4.0]
    assert math.isnan(values[3])
    assert lines["c"][0] == [2, 5]


def test_a_nan_is_a_gap_that_ends_and_an_array_names_a_line() -> None:
    nan = math.nan
    of_nan = {"instant": [1, 4, 4], "change": ["+", "-", "+"], "v": [nan, float("nan"), 2.0]}
    instants, values = lines_of(pa.table(of_nan), "q", "v", None)[None]
    assert instants == [1, 4]
    assert math.isnan(values[0])
    assert values[1] == 2
    lines = lines_of(pa.table({**of_nan, "by": [[1], [1], [2]]}), "q", "v", "by")
    assert list(lines) == ["[1]", "[2]"]
    assert len(lines_of(pa.table(of_nan | {"w": [1, 1, 2]}), "q", "w", "v")) == 2


def test_a_plot_has_a_line_for_each_group_and_refuses_rows_it_cannot_tell_apart(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpl.use("Agg")
    axes = db.queries["sums"].plot(by="k")
    assert len(axes.get_lines()) == 2
    with pytest.raises(InputError, match="plot\\(y, by=column\\)"):
        db.queries["sums"].plot("x<y")
    with pytest.raises(InputError, match="expected one of k, x<y"):
        db.queries["sums"].plot("z")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match="pip install 'windrow\\[plot\\]'"):
        db.queries["sums"].plot(by="k")


class Formatter:
    """As much of IPython's formatter of HTML as we use."""

    def __init__(self) -> None:
        self.known: dict[type, Callable[[Any], str]] = {}

    def lookup_by_type(self, kind: type) -> Callable[[Any], str]:
        return self.known[kind]

    def for_type(self, kind: type, show: Callable[[Any], str]) -> None:
        self.known[kind] = show


def notebook(monkeypatch: pytest.MonkeyPatch) -> Formatter:
    formatter = Formatter()
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    return formatter


def test_answers_are_shown_as_html_and_stay_arrow_tables(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    formatter = notebook(monkeypatch)
    windrow.connect().close()
    query = db.queries["sums"]
    for table in (query.answer(), query.changes(), db.query("SELECT * FROM sums")):
        assert type(table) is pa.Table
        html = formatter.known[type(table)](table)
        assert f"<caption>{table.num_rows} rows</caption>" in html
        assert "&lt;b&gt;" in html


def test_a_formatter_of_tables_that_there_is_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    formatter = notebook(monkeypatch)
    formatter.for_type(pa.Table, repr)
    windrow.connect().close()
    assert formatter.known[pa.Table] is repr


def test_a_column_that_is_no_number_is_not_plotted(db: Connection) -> None:
    words = "plot of sums: expected a column of numbers; found k, which is STRING"
    with pytest.raises(InputError, match=words):
        db.queries["sums"].plot("k")
    (texts,) = db.execute("CREATE QUERY texts AS SELECT ts, k FROM s [NOW]")
    with pytest.raises(InputError, match="name one: ts"):
        texts.plot()
