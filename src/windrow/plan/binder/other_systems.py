"""What people write who know Flink, Spark, DuckDB or PostgreSQL, and what CQL has in its place."""

from __future__ import annotations

from difflib import get_close_matches

CLOSE = 0.75
"""How alike names of functions are, of at most 1, if one may be meant by the other."""
_POPULATION = "VAR(x) is of a sample; of all values it is VAR(x) * (COUNT(x) - 1) / COUNT(x)"
_BOUNDS = (
    "write FROM s [RANGE 10 MINUTES SLIDE 10 MINUTES], or TUMBLE(s, ts, 10 MINUTES), and "
    "window_start() or window_end() in the select list"
)
_IN_FROM = (
    "a window stands in FROM: s [RANGE 1 MINUTE SLIDE 1 MINUTE], or TUMBLE(s, ts, 1 MINUTE); a HOP "
    "has another SLIDE, and s [SESSION 1 MINUTE] is a session; window_start() and window_end() are "
    "its bounds"
)
_IN_PYTHON = "declare one in Python: CREATE FUNCTION {0} (...) RETURNS ... AS 'module:{0}'"
_FORMATTED = "write strftime(t, '%Y-%m-%d %H:%M:%S')"
_CASE = "write CASE WHEN c THEN a ELSE b END, or IF(c, a, b)"
_LAG = "write LAG(x, 1) OVER (PARTITION BY k ORDER BY ts)"

FUNCTIONS = {
    "var_pop": _POPULATION, "stddev_pop": f"{_POPULATION}; SQRT of it",
    **dict.fromkeys(("iif", "iff", "decode"), _CASE),
    **dict.fromkeys(("to_char", "date_format"), _FORMATTED),
    **dict.fromkeys(("tumble_start", "tumble_end", "hop_start", "hop_end", "session_start",
                     "session_end", "time_bucket", "date_bin", "window"), _BOUNDS),
    **dict.fromkeys(("from_unixtime", "epoch_ms", "timestamp_millis", "to_timestamp_ltz"),
                    "write to_timestamp(seconds); of milliseconds to_timestamp(x / 1000.0)"),
    **dict.fromkeys(("tumble", "hop", "session", "cumulate"), _IN_FROM),
    "safe_cast": "write TRY_CAST(x AS INT)", "convert": "write CAST(x AS INT)",
    "date": "write CAST(x AS DATE)", "timestamp": "write CAST(x AS TIMESTAMP)",
    "mode": "write SELECT x, COUNT(*) AS n ... GROUP BY x ORDER BY n DESC LIMIT 1",
    **dict.fromkeys(("timestampadd", "dateadd", "date_add"), "write t + INTERVAL 5 MINUTES"),
    **dict.fromkeys(("datesub", "date_sub"), "write t - INTERVAL 5 MINUTES"),
    **dict.fromkeys(("json_valid", "is_json"), "write json_extract(x, '$') IS NOT NULL"),
    "timestampdiff": "write date_diff('second', t, u)",
    "repeat": "write lpad('', n * length(x), x)", "space": "write lpad('', n)",
    **dict.fromkeys(("to_date", "strptime", "parse_datetime", "parse_timestamp", "str_to_date"),
                    "write CAST(x AS TIMESTAMP) or CAST(x AS DATE), of text such as "
                    "'2026-03-01 12:00:00'; regexp_replace makes such text of another"),
    **dict.fromkeys(("sha1", "sha512", "hash", "crc32"), "write sha256(x) or md5(x)"),
    **dict.fromkeys(("json_extract_path", "json_extract_path_text", "jsonb_extract_path_text"),
                    "write json_extract_string(x, '$.a.b'), or x -> 'a' ->> 'b'"),
    **dict.fromkeys(("regexp_substr", "regexp_match"), "write regexp_extract(x, '...')"),
    **dict.fromkeys(("char", "chr"), "write the character itself, in quotes"),
    "grouping": "write a SELECT for each set of columns, with UNION ALL between them",
    "log2": "write ln(x) / ln(2)", "trunc": "write floor(x), of what is negative "
    "ceil(x), of a time date_trunc('hour', t)",
    "percentile_cont": "write QUANTILE(x, 0.5)", **dict.fromkeys(
        ("percentile_approx", "approx_quantile", "approx_percentile", "approx_median"),
        "write QUANTILE(x, 0.5), or APPROXIMATE QUANTILE(x, 0.5) over a window with SLIDE"),
    **dict.fromkeys(("count_if", "countif"), "it takes one condition: COUNT_IF(x > 5)"),
    **dict.fromkeys(("bool_and", "every", "bool_or"), "it takes one condition: BOOL_OR(x > 5)"),
    "lag": _LAG, "lead": _LAG,
    "latest_by_offset": "write LAST(x)", "earliest_by_offset": "write FIRST(x)",
    "collect_list": "write ARRAY_AGG(x)", "collect_set": "write ARRAY_AGG(DISTINCT x)",
    **dict.fromkeys(("topk", "topkdistinct"), "write ORDER BY x DESC LIMIT 3, of each group "
                    "QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC) <= 3"),
    "json_exists": "write json_extract(x, '$.a') IS NOT NULL",
    "json_query": "write json_extract(x, '$.a')",
    "extractjsonfield": "write json_extract_string(x, '$.a')",
    **dict.fromkeys(("proctime", "rowtime"), "use the time column of the stream"),
    **dict.fromkeys(("convert_tz", "convert_timezone", "from_utc_timestamp", "to_utc_timestamp",
                     "timezone"), "a TIMESTAMP has no zone; add or subtract an INTERVAL"),
    "unix_timestamp": "write EXTRACT(epoch FROM t), the seconds since 1970",
    "pi": "write 3.141592653589793", "typeof": "DESCRIBE says the types of columns",
    **dict.fromkeys(("array_to_string", "list_sum", "list_avg", "list_aggregate"),
                    "take the values out: FROM s [...], UNNEST(s.a) AS t(x), and aggregate them"),
    **dict.fromkeys(("list_transform", "list_filter", "transform", "filter"),
                    "take the values out: FROM s [...], UNNEST(s.a) AS t(x)"),
}  # fmt: skip
"""By names in lower case."""
FORMS = {
    "WITHINGROUP": "write QUANTILE(x, 0.5); for a descending order the fraction from the other end",
    **dict.fromkeys(("ROLLUP", "CUBE", "GROUPINGSETS"),
                    "write a SELECT for each set of columns, with UNION ALL between them"),
    "ATTIMEZONE": "a TIMESTAMP has no zone, and text with an offset is read as UTC; add or "
    "subtract an INTERVAL",
    "EXCEPT after *": "name the columns that are wanted",
    "REPLACE after *": "name the columns that are wanted",
    "RENAME after *": "name the columns that are wanted, with AS",
    **dict.fromkeys(("BITWISEAND", "BITWISEOR", "BITWISELEFTSHIFT", "BITWISERIGHTSHIFT"),
                    "multiply, divide (/) and take the rest (%) of powers of 2"),
    "BITWISEXOR": "for a power write power(x, 2)",
    **dict.fromkeys(("IGNORENULLS", "RESPECTNULLS"),
                    "aggregates leave NULLs out, and LAG does not"),
    "COLLATE": "texts are compared by their characters; write lower(x) to ignore case",
    "SYMMETRIC": "write BETWEEN least(a, b) AND greatest(a, b)",
    "IN without parentheses": "of an ARRAY write x = ANY(a)",
    "ANY": "write x IN (...)", "ALL": "compare with the greatest or least of them",
    **dict.fromkeys(("JSONBEXTRACT", "JSONBEXTRACTSCALAR"), "write a path after -> or ->>: "
                    "x ->> '$.a.b'"),
    "SLICE": "an array has single values, a[1], and UNNEST for all of them",
    "CONCAT": "write || between texts",
    "this form of IS": "write IS NULL, IS TRUE, IS FALSE or =",
}  # fmt: skip
"""By the names of SQLGlot's nodes."""
WORDS = {
    "WITHINGROUP": "WITHIN GROUP", "GROUPINGSETS": "GROUPING SETS", "ATTIMEZONE": "AT TIME ZONE",
    "CONCAT": "a text after a text", "IGNORENULLS": "IGNORE NULLS", "BITWISEXOR": "^",
    "RESPECTNULLS": "RESPECT NULLS", "BITWISEAND": "&", "BITWISEOR": "|",
    "SLICE": "a slice [1:2]", "JSONBEXTRACT": "#>", "JSONBEXTRACTSCALAR": "#>>",
    "BITWISELEFTSHIFT": "<<", "BITWISERIGHTSHIFT": ">>",
}  # fmt: skip


_FINER = "write date_diff('{0}', date_trunc('second', t), t)"
PARTS = {
    **dict.fromkeys(("millisecond", "milliseconds", "ms"), _FINER.format("millisecond")),
    **dict.fromkeys(("microsecond", "microseconds", "us"), _FINER.format("microsecond")),
}
"""Parts of a time that EXTRACT does not have."""


def instead_of_function(name: str, known: list[str]) -> str:
    """What to write for a function that there is not.

    >>> instead_of_function("uper", ["upper"]), instead_of_function("soundex", ["round"])[:26]
    ('did you mean upper?', 'SHOW FUNCTIONS lists those')
    """
    if name.lower() in FUNCTIONS:
        return FUNCTIONS[name.lower()]
    near = get_close_matches(name.lower(), known, 1, CLOSE)
    if near:
        return f"did you mean {near[0]}?"
    return "SHOW FUNCTIONS lists those that there are; " + _IN_PYTHON.format(name.lower())
