"""Linear Road recomputed from all reports, without windows: what was true in which seconds.

``reports`` and ``questions`` are tables; the views say for each fact from when until when it holds.
"""

from __future__ import annotations

NEVER = 1 << 40

VIEWS = f"""
CREATE VIEW placed AS SELECT *,
    lead(time, 1, {NEVER}) OVER each AS until,
    count(*) OVER last_four AS reported,
    count(DISTINCT (xway, dir, lane, pos)) OVER last_four AS places
  FROM reports
  WINDOW each AS (PARTITION BY vid ORDER BY time),
    last_four AS (PARTITION BY vid ORDER BY time ROWS BETWEEN 3 PRECEDING AND CURRENT ROW);
CREATE VIEW standing AS SELECT * FROM placed
  WHERE reported = 4 AND places = 1 AND lane IN (1, 2, 3);
CREATE TABLE accidents AS SELECT DISTINCT a.xway, a.dir, a.lane, a.seg, a.pos,
    greatest(a.time, b.time) AS since, least(a.until, b.until) AS until
  FROM standing a JOIN standing b
  ON a.vid < b.vid AND a.xway = b.xway AND a.dir = b.dir AND a.lane = b.lane AND a.pos = b.pos
    AND a.time < b.until AND b.time < a.until;
CREATE TABLE minutes AS
  SELECT minute, xway, dir, seg, count(*) AS cars, avg(mean) AS speed
  FROM (SELECT (ceil(time / 60) * 60)::BIGINT AS minute, xway, dir, seg, vid, avg(speed) AS mean
        FROM reports GROUP BY ALL)
  GROUP BY ALL;
CREATE TABLE segments AS
  SELECT now.minute AS since, now.minute + 60 AS until, now.xway, now.dir, now.seg, now.cars,
    avg(before.speed) AS lav
  FROM minutes now JOIN minutes before
  ON before.xway = now.xway AND before.dir = now.dir AND before.seg = now.seg
    AND before.minute > now.minute - 300 AND before.minute <= now.minute
  GROUP BY ALL;
CREATE TABLE entries AS SELECT time, vid, xway, dir, seg,
    lead(time, 1, {NEVER}) OVER (PARTITION BY vid ORDER BY time) AS until
  FROM (SELECT * FROM reports WHERE lane <> 4
        QUALIFY (xway, dir, seg) IS DISTINCT FROM
          lag((xway, dir, seg)) OVER (PARTITION BY vid ORDER BY time));
CREATE TABLE alerts AS SELECT DISTINCT e.time, e.vid, e.seg, a.seg AS accident, a.pos, a.lane
  FROM entries e JOIN accidents a
  ON a.xway = e.xway AND a.dir = e.dir AND e.time >= a.since AND e.time < a.until
    AND (CASE WHEN e.dir = 0 THEN a.seg - e.seg ELSE e.seg - a.seg END) BETWEEN 0 AND 4;
CREATE TABLE notices AS SELECT e.*,
    CASE WHEN s.cars > 50 AND s.lav < 40 AND (e.time, e.vid) NOT IN (SELECT (time, vid) FROM alerts)
      THEN 2 * (s.cars - 50) ** 2 ELSE 0 END::BIGINT AS toll
  FROM entries e LEFT JOIN segments s
  ON s.xway = e.xway AND s.dir = e.dir AND s.seg = e.seg AND e.time >= s.since AND e.time < s.until;
"""

ANSWERS = {
    "accident_alerts": "SELECT time, vid, seg, accident FROM alerts",
    "toll_notices": "SELECT time, vid, seg, toll FROM notices",
    "balance_answers": """
        SELECT q.time, q.qid, q.vid, sum(n.toll)::BIGINT FROM questions q JOIN notices n
        ON q.vid = n.vid AND n.until <= q.time GROUP BY ALL""",
}
"""Streams: each row with its instant."""

FACTS = {
    "accidents_now": "SELECT DISTINCT xway, dir, seg, pos FROM accidents",
    "segments": "SELECT xway, dir, seg, cars, lav FROM segments",
}
"""Relations: the rows for which an instant lies between ``since`` and ``until``."""
