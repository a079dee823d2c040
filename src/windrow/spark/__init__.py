"""Queries on Spark Structured Streaming; the only room that imports pyspark.

In the order in which data walks through it: ``source`` (or any streaming DataFrame) -> ``packing``
-> ``stage`` -> ``sinks`` -> ``results``; ``runner`` and ``connection`` put them together.

Importing this package imports no pyspark, so that ``java`` can look for Java first.
"""

from typing import Any

__all__ = ["match"]


def __getattr__(name: str) -> Any:
    """``match``, imported when it is first asked for."""
    if name != "match":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from windrow.spark.java import ensure_java  # noqa: PLC0415

    ensure_java()
    from windrow.spark.matching import match  # noqa: PLC0415

    return match
