"""Which session Spark takes for the current one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession


@contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Make the session the active one of this thread for a while.

    Spark looks up sinks, and whether a format is known, in the active session, not in the one that
    the query or the format belongs to. After a streaming query that may be one of Spark's own.
    """
    sessions: Any = SparkSession._get_j_spark_session_class(session._jvm)  # noqa: SLF001
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)  # noqa: SLF001
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()
