"""Spark's notes of micro-batches are written by a class of ours, with their checksums."""

from __future__ import annotations

import zlib

import pytest

from windrow.core.errors import InputError
from windrow.spark.run import session as sessions
from windrow.spark.run.session import LOCAL, NOTES_CLASS, NOTES_SETTING, configure

pytestmark = pytest.mark.spark
CHECKSUMS = b"crc\x00\x00\x00\x02\x00"
"""How a file of checksums begins: its kind, and that each is of 512 bytes."""


def test_notes_of_micro_batches_are_whole_and_have_checksums(spark, tmp_path):
    session = configure(spark)
    assert session.conf.get(NOTES_SETTING) == NOTES_CLASS
    machine = session._jvm
    path = machine.org.apache.hadoop.fs.Path(f"file://{tmp_path}")
    settings = session._jsc.hadoopConfiguration()
    manager = machine.windrow.CheckpointFiles(path, settings)
    target = machine.org.apache.hadoop.fs.Path(path, "7")
    stream = manager.createAtomic(target, False)
    stream.write(bytearray(b"v1\n{}"))
    stream.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == [".7.crc", "7"]
    assert (tmp_path / "7").read_bytes() == b"v1\n{}"
    assert (tmp_path / "7").stat().st_mode & 0o777 == 0o644  # Hadoop's umask is its own
    sums = (tmp_path / ".7.crc").read_bytes()
    assert sums == CHECKSUMS + zlib.crc32(b"v1\n{}").to_bytes(4, "big")
    assert manager.open(target).read() == ord("v")


def test_where_the_class_cannot_be_had_spark_writes_them_itself(spark, monkeypatch):
    def refuse(*_: object) -> None:
        raise InputError(where="classes in Java", expected="a loader", found="another")

    monkeypatch.setattr(sessions, "provide_class", refuse)
    session = configure(spark)
    assert session.conf.get(NOTES_SETTING) == LOCAL[NOTES_SETTING]
    stream = session.readStream.format("rate").load().writeStream.format("memory")
    query = stream.queryName("by_spark").start()
    query.processAllAvailable()
    query.stop()
    assert query.exception() is None
