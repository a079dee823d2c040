from __future__ import annotations

import io
import time
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from tests.support.altered import altered
from windrow.cli import display
from windrow.cli.answers import print_report
from windrow.cli.console import instant
from windrow.cli.display import Display, line
from windrow.core.time import Clock
from windrow.engine.progress import Lateness, Progress, QueryReport, Report

NOON = 748_872_000_000_000  # 1993-09-24 12:00:00


def progress(query="busy", rows_in=0, **more):
    known = {"rows_out": 0, "now": NOON, "quarantined": 0, "late": 0, "batches": 1}
    return Progress(query=query, rows_in=rows_in, clock=Clock.TIMESTAMP, **{**known, **more})


def plain():
    return Console(file=io.StringIO(), force_terminal=False, width=200, markup=False)


def report(answer, **more):
    known = {
        "name": "busy", "rows_in": 1_000, "rows_out": 20, "quarantined": 0, "late": 0,
        "now": NOON, "clock": Clock.TIMESTAMP, "destination": Path("out/busy"),
    }  # fmt: skip
    return Report(queries=(QueryReport(**{**known, **more}, answer=answer),))


def printed(report):
    console = plain()
    print_report(report, console, Path("bad"))
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("now", "clock", "words"),
    [
        (NOON, Clock.TIMESTAMP, "1993-09-24 12:00:00"),
        (-1, Clock.TIMESTAMP, "1969-12-31 23:59:59.999"),
        (2**63 - 1, Clock.TIMESTAMP, str(2**63 - 1)),
        (7, Clock.INTEGER, "7"),
        (None, Clock.INTEGER, "-"),
    ],
)
def test_an_instant_reads_as_its_clock_shows_it(now, clock, words):
    assert instant(now, clock) == words


def test_late_answers_are_named_the_latest_first():
    late = {f"q{n}": Lateness(NOON, float(n), 9, n, 1.0, 3.0) for n in range(6)}
    assert line(progress(lateness=late)).endswith(
        ", answers late: q5 by 5.0 s, q4 by 4.0 s, q3 by 3.0 s, 2 more"
    )
    assert "answers late" not in line(progress(lateness={"q0": late["q0"]}))
    shown = printed(report(pa.table({"n": [1]}), lateness=late["q2"]))
    assert "busy: 2 of 9 answers late, by 1.0 s on average and 3.0 s at most" in shown
    assert "busy: the next answer is 2.0 s late, as the run ends" in shown


def test_plain_output_has_a_line_per_query_with_all_that_matters():
    console = plain()
    with Display(console, "running") as shown:
        shown.show(progress(rows_in=200_000, rows_out=14_321, quarantined=5, late=3))
    assert console.file.getvalue().splitlines() == [
        "running",
        (
            "busy: 200,000 rows in, 14,321 out, watermark 1993-09-24 12:00:00, "
            "5 quarantined (3 late)"
        ),
    ]


def test_plain_output_is_not_flooded_and_still_ends_with_the_last_state(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(display, "time", altered(time, monotonic=lambda: now[0]))
    console = plain()
    with Display(console, "running") as shown:
        for number in range(100):
            now[0] += 0.1
            shown.show(progress(rows_in=number))
    lines = console.file.getvalue().splitlines()
    assert 5 <= len(lines) <= 8
    assert lines[-1].startswith("busy: 99 rows in")


def test_a_terminal_gets_a_table_of_the_latest_state_of_each_query():
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with Display(console, "running") as shown:
        shown.show(progress("busy", 10))
        shown.show(progress("busy", 1_234_567, quarantined=89))
        shown.show(progress("pairs", 33, now=None))
    last = console.file.getvalue()
    assert "watermark" in last
    assert "1,234,567" in last
    assert "89" in last
    assert "pairs" in last


def test_an_answer_shows_ten_rows_in_order_and_says_how_many_more_there_are():
    answer = pa.table({"src": [f"h{n:02}" for n in range(25)][::-1], "n": list(range(25))})
    text = printed(report(answer))
    assert "busy at 1993-09-24 12:00:00: 25 rows" in text
    assert "h00" in text
    assert "h09" in text
    assert "h10" not in text
    assert "... and 15 more" in text
    assert "busy: 1,000 rows in, 20 changes in out/busy" in text


def test_values_are_printed_as_values_and_never_as_markup():
    answer = pa.table({"[bold]s": ["[red]x[/red]", None], "d": [0.1 + 0.2, 1e-9]})
    text = printed(report(answer, destination=None))
    assert "[bold]s" in text
    assert "[red]x[/red]" in text
    assert "NULL" in text
    assert "0.300" in text
    assert "1e-09" in text


def test_an_answer_without_rows_is_an_empty_table():
    text = printed(report(pa.table({"src": pa.array([], pa.string())})))
    assert "0 rows" in text
    assert "src" in text


def test_quarantined_rows_are_pointed_at():
    text = printed(report(pa.table({"k": [1]}), quarantined=4, late=3))
    assert "busy: 4 rows quarantined in bad, 3 late" in text
    assert "quarantined" not in printed(report(pa.table({"k": [1]})))


def test_results_below_the_current_directory_are_named_from_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = pa.table({"k": [1]})
    assert "20 changes in out/busy\n" in printed(report(answer, destination=tmp_path / "out/busy"))
    assert "20 changes in /elsewhere\n" in printed(report(answer, destination=Path("/elsewhere")))


def test_streams_that_are_idle_are_named_in_lines_and_in_the_table():
    assert display.line(progress(idle=("a", "b"))).endswith("(0 late), idle: a, b")
    console = plain()
    console.print(display.progress_table([progress(), progress("other", idle=("b",))]))
    heading, busy, other = console.file.getvalue().splitlines()
    assert heading.split()[-1] == "idle"
    assert [busy.split()[-1], other.split()[-1]] == ["1", "b"]
    console = plain()
    console.print(display.progress_table([progress()]))
    assert "idle" not in console.file.getvalue()


def test_with_batches_each_has_one_line_with_its_number():
    console = plain()
    with Display(console, "running", batches=True) as shown:
        shown.show(progress(rows_in=1))
        for batch in (4, 4, 5):
            shown.show(progress(rows_in=batch, batch=batch))
    assert [line.split(" rows")[0] for line in console.file.getvalue().splitlines()] == [
        "running",
        "batch 4: busy: 4",
        "batch 5: busy: 5",
    ]
