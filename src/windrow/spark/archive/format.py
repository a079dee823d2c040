"""The part of the format ``windrow`` that is in Spark's virtual machine.

Spark tells a source in Python nothing of the columns that a query needs, and keeps what came of
its filters with the table: a second query over the same DataFrame, with another filter or with
none, would be given the rows of the first. ``Format.java`` wraps Spark's classes so that each scan
has a source of its own, which is told both, and has Spark's own reader scan whole Parquet runs. It
is compiled by the compiler that Spark generates code with, when the format is registered, against
the Spark that is there. Only the driver needs it: the scans that it makes are Spark's.
"""

from __future__ import annotations

import tempfile
import threading
from importlib.resources import files
from pathlib import Path
from typing import Any

from py4j.java_gateway import is_instance_of
from pyspark.sql import SparkSession

from windrow.core.errors import InputError

FORMAT, SOURCE, CLASS = "windrow", "windrow-archive", "windrow.Format"
"""The format's name, that of its part in Python, and of its part in the virtual machine."""
SERVICE = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
"""Where Java looks for the classes that are formats."""
SHARED = "org.apache.spark.util.MutableURLClassLoader"
"""The loader that Spark starts a driver with; threads and sessions have it in common."""
_registering = threading.Lock()


def provide(spark: SparkSession) -> None:
    """Have the virtual machine of a session know the class; once is enough for all of them."""
    machine: Any = spark._jvm  # noqa: SLF001 - there is no other way to it
    with _registering:
        loader = _loader(spark, machine)
        if loader.findResource(f"{CLASS.replace('.', '/')}.class") is None:
            loader.addURL(machine.java.io.File(str(_compiled(machine))).toURI().toURL())


def _loader(spark: SparkSession, machine: Any) -> Any:
    """The farthest loader that classes can be added to."""
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001
    found, loader = None, machine.java.lang.Thread.currentThread().getContextClassLoader()
    while loader is not None:
        if is_instance_of(gateway, loader, SHARED):
            found = loader
        loader = loader.getParent()
    if found is None:
        raise InputError(
            where="the format windrow",
            expected="a driver that was started by Spark's own launcher",
            found="one whose classes are loaded by something else",
            remedy="start it with spark-submit or from Python",
        )
    return found


def _compiled(machine: Any) -> Path:
    """A folder with the class, which goes when the virtual machine ends."""
    temporary = machine.org.apache.spark.util.Utils.createTempDir(tempfile.gettempdir(), "windrow")
    folder = Path(temporary.getAbsolutePath())
    compiler = machine.org.codehaus.janino.SimpleCompiler()
    compiler.cook(files(__package__).joinpath("Format.java").read_text(encoding="utf-8"))
    codes = compiler.getBytecodes()
    for name in codes:
        path = folder / f"{name.replace('.', '/')}.class"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(codes[name])
    service = folder / SERVICE
    service.parent.mkdir(parents=True)
    service.write_text(f"{CLASS}\n")
    return folder
