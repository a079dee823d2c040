"""Windrow: persistent CQL queries over sliding windows, embedded and on Spark.

``connect()`` is the door for Python; the ``windrow`` command runs whole scripts.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.engine.connection import Connection

__version__ = version("windrow")


def connect(spark: Any = None, **options: Any) -> Connection:
    """An engine in this process, or on the given SparkSession, with the same methods.

    ``quarantine`` names a directory for rows that cannot be used; on Spark ``checkpoint`` names
    one from which a later connection can go on.
    """
    if spark is not None:
        from windrow.spark.connection import SparkConnection  # noqa: PLC0415

        connection: Connection = SparkConnection(spark, **options)
        return connection
    from windrow.engine.connection import Connection  # noqa: PLC0415 - compiled kernels load here

    return Connection(**options)


__all__ = ["__version__", "connect"]
