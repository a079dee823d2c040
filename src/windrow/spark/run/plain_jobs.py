"""Small jobs of Spark's, without what Spark does each time for functions that it does not know.

``SparkContext.runJob`` of PySpark has the virtual machine search the code of two closures of its
own, whose classes are large, and send the outcome through a socket that is opened for it. On one
machine a class of ours does without (PlainJobs.java): its function is not a closure, and the little
that our tasks report comes back with the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from windrow.core.errors import InputError
from windrow.spark.java_classes import provide_class
from windrow.spark.run.session import on_one_machine

CLASS = "windrow.PlainJobs"
Work = Callable[[Iterable[int]], Iterator[bytes]]


class PlainJobs:
    """See the module; elsewhere than on one machine jobs are run as PySpark does."""

    def __init__(self, session: SparkSession) -> None:
        self._context: Any = session.sparkContext
        self._runner: Any = None
        if on_one_machine(session):  # an executor elsewhere does not know the class
            with suppress(InputError, Py4JError):
                self._runner = _runner(session)

    def run(self, numbers: Any, work: Work) -> list[bytes]:
        """What ``work`` gives for the partitions of an RDD, in their order."""
        if self._runner is None:
            found: list[bytes] = self._context.runJob(numbers, work)
            return found
        mapped: Any = numbers.mapPartitions(work)
        java = mapped._jrdd  # noqa: SLF001 - makes it, and says how values are written
        told = self._runner.run(java)
        return list(mapped._jrdd_deserializer.load_stream(BytesIO(told)))  # noqa: SLF001


def _runner(session: SparkSession) -> Any:
    provide_class(session, CLASS, __package__)
    machine: Any = session._jvm  # noqa: SLF001 - there is no other way to it
    found = machine.org.apache.spark.util.Utils.classForName(CLASS, True, False)
    runner = found.newInstance()
    runner.useContext(session.sparkContext._jsc.sc())  # noqa: SLF001
    return runner
