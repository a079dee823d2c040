"""Nexmark on PyFlink SQL: ``python flink_nexmark.py PLAN.json``.

PLAN says which ``queries`` to run over which ``directory`` (query -> directory), a directory
``tiny`` with next to no rows, how many ``passes`` warm a query up, and where ``results`` go.

``flink_jobs`` says how they are run. If ``results`` are asked for, the final answer of each query
is written there instead, as JSON, and nothing is measured. Times in the files are milliseconds,
which are read faster than text.
"""

import json
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

from flink_jobs import environment, measure
from pyflink.common import RowKind
from pyflink.table import TableEnvironment

PLAN = json.loads(Path(sys.argv[1]).read_text())
STREAMS = {
    "person": """id BIGINT, name STRING, email STRING, credit_card STRING, city STRING,
        state STRING, millis BIGINT, extra STRING""",
    "auction": """id BIGINT, item_name STRING, description STRING, initial_bid BIGINT,
        reserve BIGINT, millis BIGINT, expires BIGINT, seller BIGINT, category BIGINT,
        extra STRING""",
    "bid": """auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
        millis BIGINT, extra STRING""",
}
HOPS = "TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))"


def tumbling(stream: str) -> str:
    return f"TABLE(TUMBLE(TABLE {stream}, DESCRIPTOR(ts), INTERVAL '10' SECOND))"


RANKS = """count(*) FILTER (WHERE price < 10000) AS r1,
    count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS r2,
    count(*) FILTER (WHERE price >= 1000000) AS r3"""
DAY = "FLOOR(millis / 86400000) * 86400000"
MINUTE = "FLOOR(millis / 60000) * 60000"


def different(column: str, name: str) -> str:
    return f"""count(DISTINCT {column}) AS {name}0,
        count(DISTINCT {column}) FILTER (WHERE price < 10000) AS {name}1,
        count(DISTINCT {column}) FILTER (WHERE price >= 10000 AND price < 1000000) AS {name}2,
        count(DISTINCT {column}) FILTER (WHERE price >= 1000000) AS {name}3"""


ANSWERS = {
    "q0": "SELECT auction, bidder, price, millis, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908E0 * price AS price, millis, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
    "q3": """SELECT p.name, p.city, p.state, a.id FROM auction AS a JOIN person AS p
        ON a.seller = p.id WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": """SELECT category, AVG(CAST(final AS DOUBLE)) AS final FROM (
        SELECT a.id, a.category, MAX(b.price) AS final FROM auction a, bid b
        WHERE a.id = b.auction AND b.millis BETWEEN a.millis AND a.expires
        GROUP BY a.id, a.category) GROUP BY category""",
    "q5": f"""SELECT c.e, c.auction, c.num FROM (
        SELECT auction, count(*) AS num, window_start AS s, window_end AS e FROM {HOPS}
        GROUP BY auction, window_start, window_end) c
        JOIN (SELECT max(num) AS most, s, e FROM (
            SELECT count(*) AS num, window_start AS s, window_end AS e FROM {HOPS}
            GROUP BY auction, window_start, window_end) GROUP BY s, e) m
        ON c.s = m.s AND c.e = m.e AND c.num >= m.most""",
    "q7": f"""SELECT m.e, b.auction, b.bidder, b.price, b.millis, b.extra FROM bid b JOIN (
        SELECT max(price) AS most, window_end AS e FROM {tumbling("bid")}
        GROUP BY window_start, window_end) m
        ON b.price = m.most WHERE b.ts BETWEEN m.e - INTERVAL '10' SECOND AND m.e""",
    "q8": f"""SELECT p.e, p.id, p.name FROM (
        SELECT id, name, window_start AS s, window_end AS e FROM {tumbling("person")}
        GROUP BY id, name, window_start, window_end) p
        JOIN (SELECT seller, window_start AS s, window_end AS e FROM {tumbling("auction")}
        GROUP BY seller, window_start, window_end) a
        ON p.id = a.seller AND p.s = a.s AND p.e = a.e""",
    "q9": """SELECT id, item_name, description, initial_bid, reserve, millis, expires, seller,
        category, extra, bidder, price, bid_millis, bid_extra FROM (
        SELECT a.*, b.bidder, b.price, b.millis AS bid_millis, b.extra AS bid_extra,
            ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.millis ASC) AS n
        FROM auction AS a JOIN bid AS b ON a.id = b.auction
        WHERE b.millis BETWEEN a.millis AND a.expires) WHERE n <= 1""",
    "q10": f"""SELECT auction, bidder, price, millis, extra, {DAY} AS d, {MINUTE} AS m FROM bid""",
    "q14": """SELECT auction, bidder, 0.908E0 * price AS price,
        CASE WHEN HOUR(ts) >= 8 AND HOUR(ts) <= 18 THEN 'dayTime'
            WHEN HOUR(ts) <= 6 OR HOUR(ts) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS kind,
        millis, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_counts
        FROM bid WHERE 0.908E0 * price > 1000000 AND 0.908E0 * price < 50000000""",
    "q15": f"""SELECT {DAY} AS d, count(*) AS n, {RANKS}, {different("bidder", "b")},
        {different("auction", "a")} FROM bid GROUP BY {DAY}""",
    "q16": f"""SELECT channel, {DAY} AS d, max({MINUTE}) AS m, count(*) AS n, {RANKS},
        {different("bidder", "b")}, {different("auction", "a")} FROM bid
        GROUP BY channel, {DAY}""",
    "q17": f"""SELECT auction, {DAY} AS d, count(*) AS n, {RANKS}, min(price) AS low,
        max(price) AS high, avg(CAST(price AS DOUBLE)) AS mean, sum(price) AS total FROM bid
        GROUP BY auction, {DAY}""",
    "q18": """SELECT auction, bidder, price, channel, url, millis, extra FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY ts DESC) AS n FROM bid)
        WHERE n <= 1""",
    "q19": """SELECT auction, bidder, price, channel, url, millis, extra FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, millis ASC) AS n
        FROM bid) WHERE n <= 10""",
    "q20": """SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.millis, b.extra,
        a.item_name, a.description, a.initial_bid, a.reserve, a.millis AS auction_millis,
        a.expires, a.seller, a.category, a.extra AS auction_extra
        FROM bid AS b JOIN auction AS a ON b.auction = a.id WHERE a.category = 10""",
    "q21": """SELECT auction, bidder, price, channel,
        CASE LOWER(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2'
            WHEN 'baidu' THEN '3'
            ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
        FROM bid WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL
            OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    "q22": """SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1,
        SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3 FROM bid""",
}


def declare(place: Path) -> TableEnvironment:
    tables = environment()
    for name, columns in STREAMS.items():
        tables.execute_sql(f"""CREATE TABLE {name} ({columns}, ts AS TO_TIMESTAMP_LTZ(millis, 3),
            WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND)
            WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = 'file://{place / name}')
        """)
    return tables


def final_answer(tables: TableEnvironment, name: str) -> list[list[object]]:
    """The rows that are there when all changes have been made."""
    bag: Counter[str] = Counter()
    for row in tables.execute_sql(ANSWERS[name]).collect():
        gone = row.get_row_kind() in (RowKind.DELETE, RowKind.UPDATE_BEFORE)
        bag[json.dumps([plain(value) for value in row])] += -1 if gone else 1
    return [json.loads(row) for row in bag.elements()]


def plain(value: object) -> object:
    """A time as milliseconds."""
    if isinstance(value, datetime):
        return round((value - datetime(1970, 1, 1)).total_seconds() * 1000)
    return value


def place_of(directory: str) -> TableEnvironment:
    return places.get(directory) or places.setdefault(directory, declare(Path(directory)))


places: dict[str, TableEnvironment] = {}
if PLAN["results"]:
    found = {n: final_answer(declare(Path(p)), n) for n, p in PLAN["queries"].items()}
    Path(PLAN["results"]).write_text(json.dumps(found))
    print(json.dumps({}))
else:
    nothing = declare(Path(PLAN["tiny"]))
    measured = {
        n: measure(ANSWERS[n], place_of(p), nothing, PLAN["passes"])
        for n, p in PLAN["queries"].items()
    }
    print(json.dumps(measured))
