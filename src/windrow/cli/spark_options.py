"""What the command line says to Spark: checked before anything is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.core.errors import InputError
from windrow.core.paths import is_object_url
from windrow.plan.catalog import Catalog
from windrow.spark.run.masters import is_cluster, is_submitted, private_checkpoint
from windrow.spark.run.spark_settings import check_modules, parse_settings

if TYPE_CHECKING:
    from windrow.cli.execution import Settings
    from windrow.spark.run.session import SessionOptions


def check_spark_options(settings: Settings) -> None:
    """InputError for what Spark could not do; nothing of Spark is loaded."""
    parse_settings(settings.conf)
    check_modules(settings.py_files)
    master = settings.master
    if master and is_submitted():
        raise InputError(
            where="--master",
            expected="none: spark-submit has started this process",
            found=master,
            remedy="give --master to spark-submit",
        )
    if master and is_cluster(master) and settings.checkpoint is None:
        raise private_checkpoint(master)


def refuse_spark_options(settings: Settings) -> None:
    """InputError if there are any: the embedded runner has no Spark."""
    given = {
        "--master": settings.master,
        "--conf": settings.conf,
        "--py-files": settings.py_files,
    }
    for name in (name for name, value in given.items() if value):
        raise InputError(
            where=name,
            expected="--runner spark",
            found=f"--runner {settings.runner}",
            remedy=f"leave {name} out, or run on Spark",
        )


def session_options(
    settings: Settings, catalog: Catalog, on_work: Callable[[str], None]
) -> SessionOptions:
    """For the session that the run opens."""
    from windrow.spark.run.session import SessionOptions  # noqa: PLC0415 - starts pyspark
    from windrow.spark.run.worker_check import SharedPaths  # noqa: PLC0415

    return SessionOptions(
        parse_settings(settings.conf),
        check_modules(settings.py_files),
        SharedPaths(_sources(catalog), {**_destinations(catalog), **_own_places(settings)}),
        on_work,
    )


def _own_places(settings: Settings) -> dict[str, Path]:
    given = {"--checkpoint": settings.checkpoint, "--quarantine": settings.quarantine}
    return {name: path for name, path in given.items() if path is not None}


def _sources(catalog: Catalog) -> dict[str, Path]:
    sources = {name: getattr(d, "source", None) for name, d in catalog.declarations.items()}
    return {name: Path(s.path) for name, s in sources.items() if s is not None}


def _destinations(catalog: Catalog) -> dict[str, Path]:
    places = {name: getattr(d, "into", None) for name, d in catalog.declarations.items()}
    paths = {name: i.path for name, i in places.items() if i is not None and i.path}
    return {name: Path(path) for name, path in paths.items() if not is_object_url(path)}
