"""An archive as a DataFrame, on a lease that the driver holds.

Parquet runs that are read whole (``pins``) become a DataFrame of files here, so that Spark knows
the least and greatest values in them; everything else goes through the format ``windrow``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from windrow.core.paths import is_object_url, object_url
from windrow.spark.archive.options import Moment, Wish, chosen_columns, instant, options_of
from windrow.spark.archive.pins import CHECKED, Pin, pin, whole_runs, whole_schema
from windrow.spark.archive.source import FORMAT, register

_held: dict[tuple[str, int], Pin] = {}
"""Leases that ``read`` has taken, one for each version."""


def read(
    spark: SparkSession,
    path: str | Path,
    *,
    key: Any = None,
    now: Moment | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    columns: Sequence[str] | None = None,
    version: int | None = None,
) -> DataFrame:
    """The entries of days ``since`` to ``until`` that are in the window at ``now``.

    With a ``key`` (or a list of keys, or a ``Range``) it is a probe, otherwise a scan. Columns are
    the record's and the stamps ``_day`` and, with lifetimes, ``_exp``. Nobody can say when the last
    DataFrame made from this one is done with, so the version is held until the process ends; a
    driver that lives long uses ``reading``.
    """
    held = pin(_root(path), version, now)
    known = _held.setdefault((_root(path), held.manifest.version), held)
    try:
        return _frame(spark, _root(path), held, _wish(held, since, until, columns), key)
    finally:
        if known is not held:
            held.close()


@contextmanager
def reading(
    spark: SparkSession,
    path: str | Path,
    *,
    key: Any = None,
    now: Moment | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    columns: Sequence[str] | None = None,
    version: int | None = None,
) -> Iterator[DataFrame]:
    """``read``, holding the version until the block ends: what is computed is computed in it."""
    held = pin(_root(path), version, now)
    try:
        yield _frame(spark, _root(path), held, _wish(held, since, until, columns), key)
    finally:
        held.close()


def _root(path: str | Path) -> str:
    return object_url(path) if is_object_url(path) else str(Path(path).absolute())


def _wish(
    held: Pin, since: Moment | None, until: Moment | None, columns: Sequence[str] | None
) -> Wish:
    return Wish(
        held.now,
        instant(since, held.manifest, "since"),
        instant(until, held.manifest, "until"),
        None if columns is None else tuple(columns),
        held.manifest.version,
    )


def _frame(spark: SparkSession, root: str, held: Pin, wish: Wish, key: Any) -> DataFrame:
    names = chosen_columns(held.manifest, wish.columns)
    runs = whole_runs(root, held, wish) if key is None else []
    if runs:
        reader = spark.read.option(CHECKED, True).schema(whole_schema(held, wish))
        parts = [reader.parquet(*run.files).where(run.where) for run in runs]
        quoted = ("`" + name.replace("`", "``") + "`" for name in names)
        return reduce(DataFrame.union, parts).select(*quoted)
    register(spark)
    options = {
        "version": wish.version,
        "now": wish.now,
        "since": wish.since,
        "until": wish.until,
        "columns": ",".join(names),
    }
    given = {name: str(value) for name, value in options.items() if value is not None}
    return spark.read.format(FORMAT).options(**given, **options_of(key)).load(root)
