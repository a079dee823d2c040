"""Which session Spark takes for the current one, and what is set in it for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


@contextmanager
def with_settings(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Have a session's settings other values for a while. A streaming query goes on with those that
    it was started with."""
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in before.items():
            if known is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, known)
