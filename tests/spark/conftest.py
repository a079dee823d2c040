"""One Spark for all modules; a module that stops it costs the next one a start."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def spark():
    from windrow.spark.run.session import spark_session  # noqa: PLC0415 - starts Java

    session = spark_session("local[2]", app="windrow-tests")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    return session
