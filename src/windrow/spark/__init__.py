"""Queries in Spark's tasks; the only room that imports pyspark.

In the order in which data walks through it: ``source/`` (or any streaming DataFrame) -> ``stage/``
-> ``sink/``; ``run/`` puts them together, ``checkpoint/`` is what they leave on disk. Archives as
DataFrames are in ``archive/``, and the changes of a query as one in ``run/changes_frame``.

Importing this package imports no pyspark, so that ``windrow.spark.run.java`` can look for Java
first.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.spark import archive
    from windrow.spark.match_frame import match
    from windrow.spark.run.changes_frame import changes_stream
    from windrow.spark.run.session import spark_session

__all__ = ["archive", "changes_stream", "match", "spark_session"]


def __getattr__(name: str) -> Any:
    """What is public here, imported when it is first asked for."""
    if name not in __all__ or name == "archive":  # Python finds the room ``archive`` by itself
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from windrow.spark.run import session  # noqa: PLC0415 - it looks for Java first

    if name == "spark_session":
        return session.spark_session
    from windrow.spark import match_frame  # noqa: PLC0415

    if name == "match":
        return match_frame.match
    from windrow.spark.run.changes_frame import changes_stream  # noqa: PLC0415

    return changes_stream
