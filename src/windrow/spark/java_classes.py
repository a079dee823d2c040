"""The few classes of ours in Java: how the virtual machine of a session comes to know them.

They are compiled by the compiler that Spark generates code with, against the Spark that is there,
so nothing has to be built or shipped but their text.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from py4j.java_gateway import is_instance_of
from pyspark.sql import SparkSession

from windrow.core.errors import InputError

SHARED = "org.apache.spark.util.MutableURLClassLoader"
"""The loader that Spark starts a driver with; threads and sessions have it in common."""
_providing = threading.Lock()


def provide_class(
    spark: SparkSession,
    name: str,
    package: str,
    services: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Have the virtual machine of a session know a class, whose text lies in a package of ours;
    once is enough for all sessions. ``services`` are files beside it, by their names."""
    machine: Any = spark._jvm  # noqa: SLF001 - there is no other way to it
    with _providing:
        loader = _loader(spark, machine)
        if loader.findResource(f"{name.replace('.', '/')}.class") is None:
            folder = _compiled(machine, name, package)
            for place, text in services.items():
                (folder / place).parent.mkdir(parents=True)
                (folder / place).write_text(text)
            loader.addURL(machine.java.io.File(str(folder)).toURI().toURL())


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
            where="classes of windrow in Java",
            expected="a driver that was started by Spark's own launcher",
            found="one whose classes are loaded by something else",
            remedy="start it with spark-submit or from Python",
        )
    return found


def _compiled(machine: Any, name: str, package: str) -> Path:
    """A folder with the class, which goes when the virtual machine ends."""
    temporary = machine.org.apache.spark.util.Utils.createTempDir(tempfile.gettempdir(), "windrow")
    folder = Path(temporary.getAbsolutePath())
    compiler = machine.org.codehaus.janino.SimpleCompiler()
    text = files(package).joinpath(f"{name.rpartition('.')[2]}.java")
    compiler.cook(text.read_text(encoding="utf-8"))
    codes = compiler.getBytecodes()
    for made in codes:
        path = folder / f"{made.replace('.', '/')}.class"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(codes[made])
    return folder
