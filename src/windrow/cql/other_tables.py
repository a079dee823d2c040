"""What people who know other systems write in FROM, and what CQL has in its place."""

from __future__ import annotations

DECLARED = (
    "declare the file as a stream, or a relation, and name that: CREATE STREAM s (column type, "
    "...) FROM 'path'"
)
_LATERAL = (
    "a sub-query in FROM cannot read the table before it; for the values of an array write FROM s "
    "[...], UNNEST(s.a) AS t(x)"
)
_CUMULATED = (
    "write two windows in two queries: s [RANGE 5 MINUTES SLIDE 5 MINUTES], and a shorter SLIDE "
    "for what comes in between"
)
_STREAMED = (
    "a stream of results is a sub-query in FROM, so it stands in parentheses: "
    "(ISTREAM(SELECT ...)) [RANGE 5 SECONDS] AS x"
)
_TABLES = {
    "CUMULATE": _CUMULATED,
    **dict.fromkeys(("ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM"), _STREAMED),
    "LATERAL": _LATERAL,
    **dict.fromkeys(("READ_CSV", "READ_CSV_AUTO", "READ_JSON", "READ_JSON_AUTO", "READ_PARQUET"),
                    DECLARED),
    **dict.fromkeys(("GENERATE_SERIES", "RANGE"),
                    "write the rows: (VALUES (1), (2), (3)) AS t(x), or a relation FROM a file"),
    **dict.fromkeys(("FLATTEN", "EXPLODE"), "write FROM s [...], UNNEST(s.a) AS t(x)"),
}  # fmt: skip


def instead_of_table(name: str) -> str:
    """What to write for a function in FROM that there is not.

    >>> instead_of_table("foo")
    'there is no function foo in FROM: only TUMBLE, HOP, SESSION and UNNEST'
    """
    nothing = f"there is no function {name} in FROM: only TUMBLE, HOP, SESSION and UNNEST"
    return _TABLES.get(name.upper(), nothing)
