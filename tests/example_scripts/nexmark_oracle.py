"""The queries of ``examples/nexmark.cql`` in DuckDB's words.

``ANSWERS`` are those of queries that have an answer at each instant: over the rows up to it.
``WINDOWS`` are those that report window by window: with the end of the window before the rows.
"""

from __future__ import annotations

PRICES = """
    count(*) FILTER (price < 10000), count(*) FILTER (price >= 10000 AND price < 1000000),
    count(*) FILTER (price >= 1000000)"""


def distinct(column: str) -> str:
    return f"""count(DISTINCT {column}), count(DISTINCT {column}) FILTER (price < 10000),
        count(DISTINCT {column}) FILTER (price >= 10000 AND price < 1000000),
        count(DISTINCT {column}) FILTER (price >= 1000000)"""


ANSWERS = {
    "q0": "SELECT auction, bidder, price, date_time, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908::DOUBLE * price, date_time, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """
        SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id
        WHERE a.category = 10 AND (p.state = 'OR' OR p.state = 'ID' OR p.state = 'CA')""",
    "q4": """
        SELECT category, avg(price) FROM (
            SELECT a.category, b.price FROM auction a JOIN bid b ON a.id = b.auction
            WHERE b.date_time >= a.date_time AND b.date_time <= a.expires
            QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC) = 1)
        GROUP BY category""",
    "q6": """
        SELECT seller, avg(price) FROM (
            SELECT a.seller, a.id, a.expires, max(b.price) AS price
            FROM auction a JOIN bid b ON a.id = b.auction
            WHERE b.date_time >= a.date_time AND b.date_time <= a.expires
                AND a.expires <= (FROM instant)
            GROUP BY a.seller, a.id, a.expires
            QUALIFY row_number() OVER (PARTITION BY a.seller ORDER BY a.expires DESC, a.id DESC)
                <= 10)
        GROUP BY seller""",
    "q9": """
        SELECT a.* EXCLUDE (arrival), b.bidder, b.price, b.date_time, b.extra
        FROM auction a JOIN bid b ON a.id = b.auction
        WHERE b.date_time >= a.date_time AND b.date_time <= a.expires
        AND NOT EXISTS (FROM bid c WHERE c.auction = a.id AND c.date_time >= a.date_time
            AND c.date_time <= a.expires AND (c.price > b.price
                OR c.price = b.price AND c.date_time < b.date_time))""",
    "q10": """
        SELECT auction, bidder, price, date_time, extra,
            date_trunc('day', date_time)::TIMESTAMP, date_trunc('minute', date_time) FROM bid""",
    "q11": """
        SELECT bidder, count(*), min(date_time), max(date_time) + INTERVAL 10 SECONDS
        FROM (SELECT *, sum(new) OVER (PARTITION BY bidder ORDER BY date_time) AS session
              FROM (SELECT *, (date_time - lag(date_time, 1, TIMESTAMP '1970-01-01')
                      OVER (PARTITION BY bidder ORDER BY date_time) >= INTERVAL 10 SECONDS)::INT
                      AS new
                    FROM bid))
        GROUP BY bidder, session HAVING max(date_time) + INTERVAL 10 SECONDS > (FROM instant)""",
    "q13": """
        SELECT b.auction, b.bidder, b.price, b.date_time, s.value
        FROM bid b JOIN side_input s ON b.auction % 10000 = s.id""",
    "q14": """
        SELECT auction, bidder, 0.908::DOUBLE * price,
            CASE WHEN hour(date_time) >= 8 AND hour(date_time) <= 18 THEN 'dayTime'
                WHEN hour(date_time) <= 6 OR hour(date_time) >= 20 THEN 'nightTime'
                ELSE 'otherTime' END,
            date_time, extra, len(regexp_extract_all(extra, 'c'))
        FROM bid WHERE 0.908::DOUBLE * price > 1000000 AND 0.908::DOUBLE * price < 50000000""",
    "q15": f"""
        SELECT date_trunc('day', date_time)::TIMESTAMP, count(*), {PRICES},
            {distinct("bidder")}, {distinct("auction")} FROM bid GROUP BY ALL""",
    "q16": f"""
        SELECT channel, date_trunc('day', date_time)::TIMESTAMP,
            max(date_trunc('minute', date_time)), count(*), {PRICES},
            {distinct("bidder")}, {distinct("auction")} FROM bid GROUP BY ALL""",
    "q17": f"""
        SELECT auction, date_trunc('day', date_time)::TIMESTAMP, count(*), {PRICES},
            min(price), max(price), avg(price), sum(price)::BIGINT FROM bid GROUP BY ALL""",
    "q18": """
        SELECT auction, bidder, price, channel, url, date_time, extra FROM bid
        QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY arrival DESC) = 1""",
    "q19": """
        SELECT auction, bidder, price, channel, url, date_time, extra FROM bid b
        WHERE (SELECT count(*) FROM bid c WHERE c.auction = b.auction AND (c.price > b.price
            OR c.price = b.price AND c.date_time < b.date_time)) < 10""",
    "q20": """
        SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.date_time, b.extra,
            a.item_name, a.description, a.initial_bid, a.reserve, a.date_time,
            a.expires, a.seller, a.category, a.extra
        FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10""",
    "q21": """
        SELECT * FROM (SELECT auction, bidder, price, channel,
            CASE channel WHEN 'Apple' THEN '0' WHEN 'Google' THEN '1' WHEN 'Facebook' THEN '2'
                WHEN 'Baidu' THEN '3' ELSE split_part(url, 'channel_id=', 2) END AS channel_id
            FROM bid) WHERE channel_id <> ''""",
    "q22": """
        SELECT auction, bidder, price, channel, split_part(url, '/', 4), split_part(url, '/', 5),
            split_part(url, '/', 6) FROM bid""",
}


def windows(stream: str, length: int, slide: int) -> str:
    """The rows of a stream beside the end of each window that they are in."""
    return f"""
        (SELECT to_timestamp(ending)::TIMESTAMP AS ending, {stream}.* FROM {stream},
            range(ceil(epoch(date_time) / {slide})::BIGINT * {slide},
                ceil(epoch(date_time) / {slide})::BIGINT * {slide} + {length}, {slide}) AS w(ending)
         WHERE ending <= (SELECT epoch(max(date_time)) FROM bid))"""


WINDOWS = {
    "q5": f"""
        SELECT ending, auction, count(*) FROM {windows("bid", 10, 2)}
        GROUP BY ending, auction
        QUALIFY rank() OVER (PARTITION BY ending ORDER BY count(*) DESC) = 1""",
    "q7": f"""
        SELECT ending, auction, bidder, price, date_time, extra FROM {windows("bid", 10, 10)}
        QUALIFY rank() OVER (PARTITION BY ending ORDER BY price DESC) = 1""",
    "q8": f"""
        SELECT DISTINCT p.ending, p.id, p.name FROM {windows("person", 10, 10)} p
        JOIN {windows("auction", 10, 10)} a ON p.id = a.seller AND p.ending = a.ending""",
}
