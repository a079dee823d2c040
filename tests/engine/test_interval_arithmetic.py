"""INTERVALs multiplied, added up and compared with differences of times."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

import windrow
from windrow.core.errors import BindError

NOON = datetime(2026, 3, 1, 12)
COLUMNS = "at TIMESTAMP, early TIMESTAMP, day DATE, n INT, x DOUBLE"


def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
    return NOON.replace(hour=hour, minute=minute, second=second)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("at + 2 * INTERVAL '1' HOUR", at(14)), ("at - INTERVAL '1' HOUR * 2", at(10)),
        ("at + n * INTERVAL '1' SECOND", at(12, 0, 3)), ("at + INTERVAL n MINUTES", at(12, 3)),
        ("at + 1.5 * INTERVAL '1' HOUR", at(13, 30)), ("at + -2 * INTERVAL '1' HOUR", at(10)),
        ("at + INTERVAL '1 hour 30 minutes'", at(13, 30)),
        ("at + INTERVAL '90 minutes'", at(13, 30)),
        ("at + INTERVAL '1h 30m 5s'", at(13, 30, 5)), ("day + n * INTERVAL 1 HOUR", at(3)),
        ("at + INTERVAL '1' HOUR + 2 * INTERVAL '1' MINUTE", at(13, 2)),
        ("at - early > INTERVAL '1' HOUR", True), ("(at - early) < n * INTERVAL '1' HOUR", True),
        ("at - early BETWEEN INTERVAL 1 HOUR AND INTERVAL 2 HOURS", True),
        ("ABS(early - at) = 2 * INTERVAL '1' HOUR", True),
        ("at - early - INTERVAL '1' HOUR >= INTERVAL '61 minutes'", False),
        ("at - early IN (INTERVAL 1 HOUR, INTERVAL 2 HOURS)", True),
        ("MAX(at) - MIN(early) > INTERVAL '1' HOUR", True),
        ("at + n * INTERVAL '50000000' DAYS", None),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::windrow.WindrowWarning")
def test_an_expression_with_intervals_has_this_value(expression: str, value: Any) -> None:
    with windrow.connect() as db:
        db.execute(f"CREATE STREAM s ({COLUMNS}) TIMESTAMP BY at;")
        (query,) = db.execute(f"SELECT {expression} AS v FROM s [NOW];")
        row = {"at": at(12), "early": at(10), "day": NOON.date(), "n": 3, "x": 0.5}
        db.push("s", [row])
        db.advance(to=NOON)
        assert query.answer()["v"].to_pylist() == [value]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("n + INTERVAL '5' MINUTES", "write 300 for the INTERVAL"),
        ("n > n * INTERVAL '5' MINUTES", "it counts seconds: write their number"),
        ("n > INTERVAL '5' SECONDS", "is in microseconds: 5000000"),
        ("at + x * INTERVAL '1' HOUR", r"write CAST\(x AS BIGINT\)"),
        ("at + INTERVAL '1' HOUR / 2", "write a fraction of it: 0.5"),
        ("(at - early) / INTERVAL '1' HOUR", "divide by a number"),
        ("at + INTERVAL '1 day 02:03:04'", "INTERVAL '1 hour 30 minutes'; found 1 day 02:03:04"),
        ("at + INTERVAL '1 day 2 months'", "a month has no fixed length"),
        ("at + 9000000000000 * INTERVAL '1' HOUR", "less than 64 bits"),
    ],
)
def test_what_has_no_unit_is_refused_with_what_to_write(expression: str, words: str) -> None:
    with windrow.connect() as db:
        db.execute(f"CREATE STREAM s ({COLUMNS}) TIMESTAMP BY at;")
        with pytest.raises(BindError, match=words):
            db.execute(f"SELECT {expression} AS v FROM s [NOW];")
