"""Queries on Spark Structured Streaming; the only room that imports pyspark.

In the order in which data walks through it: ``source/`` (or any streaming DataFrame) -> ``stage/``
-> ``sink/``; ``run/`` puts them together, ``checkpoint/`` is what they leave on disk. Archives as
DataFrames are in ``archive/``.

Importing this package imports no pyspark, so that ``windrow.spark.run.java`` can look for Java
first.
"""

from typing import Any

__all__ = ["match"]


def __getattr__(name: str) -> Any:
    """``match``, imported when it is first asked for."""
    if name != "match":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from windrow.spark.run.java import ensure_java  # noqa: PLC0415

    ensure_java()
    from windrow.spark.match_frame import match  # noqa: PLC0415

    return match
