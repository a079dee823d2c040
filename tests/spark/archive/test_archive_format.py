"""The format is known to whoever registers it, whatever else there is."""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow as pa
import pytest
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    InputPartition,
)

from tests.spark.archive.wheres import (
    hosts,
    loaded,
    made,
    pushed,
    setting,
)
from windrow.core.errors import InputError
from windrow.spark.active_session import active
from windrow.spark.archive import register
from windrow.spark.run.session import configure


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return hosts(tmp_path_factory.mktemp("archive") / "a")


def test_a_session_of_somebody_else_knows_it_after_registering(spark, archive):
    theirs = spark.newSession()
    with pytest.raises(Exception, match="windrow-archive"):
        loaded(theirs, archive).count()
    register(theirs)
    frame = loaded(theirs, archive).where("src = 'host7'")
    assert (frame.count(), len(pushed(frame))) == (24, 1)


def test_a_driver_that_was_started_otherwise_is_told_what_it_lacks(spark, monkeypatch):
    monkeypatch.setattr("windrow.spark.java_classes.SHARED", "java.lang.Thread")
    with pytest.raises(InputError, match="started by Spark's own launcher"):
        register(spark)
    assert configure(spark).range(3).count() == 3


def test_a_version_is_that_of_load_even_with_a_schema(spark, tmp_path):
    archive = made(tmp_path / "a", pa.schema([("k", pa.int32())]), "k", [{"k": 1}])
    frame = spark.read.format("windrow").schema("k int").load(str(archive.disk.root))
    archive.append(4, pa.table({"k": pa.array([1, 1], pa.int32())}), now=4)
    assert (frame.count(), loaded(spark, archive).count()) == (3, 4)


BESIDE_OTHERS = """
import sys, zipfile
from pyspark.sql import SparkSession
from windrow.spark.archive import register
jar, path = sys.argv[1:]
noop = "org.apache.spark.sql.execution.datasources.noop.NoopDataSource"
with zipfile.ZipFile(jar, "w") as file:
    file.writestr("META-INF/services/org.apache.spark.sql.sources.DataSourceRegister", noop)
spark = SparkSession.builder.master("local[1]").config("spark.jars", jar).getOrCreate()
register(spark)
found = spark.read.format("windrow").load(path).where("src = 'host7'").count()
spark.stop()
again = SparkSession.builder.master("local[1]").getOrCreate()
register(again)
print(found, again.read.format("windrow").load(path).where("src = 'host7'").count())
"""


@pytest.mark.slow
def test_formats_of_others_and_a_second_start_are_no_hindrance(archive, tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", BESIDE_OTHERS, tmp_path / "other.jar", archive.disk.root],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert told.stdout.split() == ["24", "24"], told.stderr


def test_spark_keeps_pushed_filters_with_the_table(spark):
    """Fails when a new Spark keeps them with the scan: then there is less for Format.java to do."""

    class Pushed(DataSourceReader):
        wanted = range(10)

        def pushFilters(self, filters):  # noqa: N802 - Spark's name
            self.wanted = [f.value for f in filters if isinstance(f, EqualTo)]
            yield from filters

        def partitions(self):
            return [InputPartition(0)]

        def read(self, partition):
            yield from ((value,) for value in self.wanted)

    class Numbers(DataSource):
        @classmethod
        def name(cls):
            return "numbers"

        def schema(self):
            return "k int"

        def reader(self, schema):
            return Pushed()

    with active(spark):
        spark.dataSource.register(Numbers)
    with setting(spark, "spark.sql.python.filterPushdown.enabled", "true"):
        frame = spark.read.format("numbers").load()
        assert [frame.count(), frame.where("k = 3").count(), frame.count()] == [10, 1, 1]
