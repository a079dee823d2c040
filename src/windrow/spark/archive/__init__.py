"""The archive on Spark: read as a DataFrame, filled by tasks, fed by a stream.

``options`` -> ``pins`` (which version, which runs) -> ``pushdown`` (which rows) -> ``source`` ->
``frames`` read; ``writing`` -> ``sink`` write a DataFrame; ``filling`` fills the archives of a
script. Probes need no Spark.
"""

from windrow.spark.archive.frames import read, reading
from windrow.spark.archive.sink import archive_sink, write_stream
from windrow.spark.archive.source import register
from windrow.spark.archive.writing import append

__all__ = ["append", "archive_sink", "read", "reading", "register", "write_stream"]
