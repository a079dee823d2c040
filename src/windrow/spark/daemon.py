"""The process from which Spark forks its Python workers, with Windrow's rooms in it already.

A worker of its own needs a second of work to import them, and a query has a dozen workers; a fork
has them for nothing. Only sessions that Windrow starts can have it (``windrow.spark.session``).
"""

from __future__ import annotations

from pyspark.daemon import manager

import windrow.spark.frames
import windrow.spark.source
import windrow.spark.stage  # noqa: F401

if __name__ == "__main__":
    manager()
