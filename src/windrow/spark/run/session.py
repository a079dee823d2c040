"""Spark sessions with the settings that stages need."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windrow.spark.run.java import ensure_java

ensure_java()  # before pyspark looks for one
from py4j.protocol import Py4JError  # noqa: E402
from pyspark import SparkConf, SparkContext  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

from windrow.core.errors import InputError  # noqa: E402
from windrow.core.paths import is_object_url  # noqa: E402
from windrow.spark.archive.source import register  # noqa: E402
from windrow.spark.java_classes import provide_class  # noqa: E402
from windrow.spark.run.machine import start_machine  # noqa: E402
from windrow.spark.run.spark_settings import (  # noqa: E402  # noqa: E402
    check_modules,
    check_settings,
    is_cluster,
    is_submitted,
    memory_for_python,
    private_checkpoint,
    refuse_silent_master,
)
from windrow.spark.run.worker_check import SharedPaths, check_workers  # noqa: E402
from windrow.spark.run.worker_environment import (  # noqa: E402  # noqa: E402
    PYTHON,
    WorkerEnvironment,
    environment_on_cluster,
    is_installed,
    worker_launcher,
)
from windrow.spark.stage.state_files import RETAINED  # noqa: E402

# Between the first and the second message to a worker's TCP socket 40 ms pass: the second waits
# for an acknowledgement that is itself delayed.
SOCKETS = {"spark.python.unix.domain.socket.enabled": "true"}
STREAMING = {
    # As far as files of state are kept (``windrow.spark.stage.state_files``).
    "spark.sql.streaming.minBatchesToRetain": str(RETAINED),
    # Which bucket is in which partition is fixed; there is nothing to adapt.
    "spark.sql.adaptive.enabled": "false",
    # Between looks at what a connection delivers, or a DataFrame has, when nothing new comes.
    "spark.sql.streaming.pollingDelay": "50ms",
    # The plan of every micro-batch is written down for whoever looks, in as few words as there are.
    "spark.sql.ui.explainMode": "simple",
}
NOTES_SETTING = "spark.sql.streaming.checkpointFileManagerClass"
NOTES_CLASS = "windrow.CheckpointFiles"
"""Who writes what a streaming query notes of micro-batches."""
LOCAL = {
    # A rename is atomic on a local disk; this manager does without a detour, at every trigger.
    NOTES_SETTING: (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Blobs of several streams pass through this one process, whole.
    "spark.driver.memory": "2g",
    # The virtual machine passes blobs on; it needs to start soon more than to run fast. On two
    # cores this halves its processor time over a run of a minute. For files that Hadoop writes it
    # starts a process, chmod; VFORK does so without a helper process.
    "spark.driver.defaultJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djdk.lang.Process.launchMechanism=VFORK"
    ),
}
INDEX_MEMORY = "spark.windrow.index.memory"
"""How much of an index of subscriptions one Python worker may hold; a larger one is cut."""
DEFAULT_MEMORY = "512m"
UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
UNCHOSEN = "python3"
"""The interpreter of workers if neither PYSPARK_PYTHON nor anybody names one."""
LOCALHOST = "local"
DEFAULT_PARTITIONS = "200"
"""What Spark has if no one says anything."""


def spark_session(
    master: str = "local[*]",
    app: str = "windrow",
    *,
    verbose: bool = False,
    conf: Mapping[str, object] | None = None,
    py_files: Sequence[str | Path] = (),
) -> SparkSession:
    """A session of our own: quiet, on the loopback interface if local, without files in the cwd.

    ``conf`` are settings of Spark's, ``py_files`` modules for the workers. On a cluster the workers
    get this process's environment, unless PYSPARK_PYTHON names an interpreter that they have.
    """
    checked = SessionOptions(check_settings(conf or {}), check_modules(py_files, "py_files"))
    return open_session(master, app, checked, verbose=verbose)


@dataclass(frozen=True)
class SessionOptions:
    """Settings and modules that have been checked, and what a run on a cluster shares with it.

    ``on_work`` is told what takes long before the session is there.
    """

    conf: Mapping[str, str] = field(default_factory=dict)
    modules: Sequence[str] = ()
    paths: SharedPaths = field(default_factory=SharedPaths)
    on_work: Callable[[str], None] = lambda _: None


PLAIN = SessionOptions()


def open_session(
    master: str, app: str = "windrow", options: SessionOptions = PLAIN, *, verbose: bool = False
) -> SparkSession:
    """As above. On a cluster the workers are asked whether they see what the run shares.

    In a process that spark-submit has started the master is its master.
    """
    given = options.conf
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    settings = {**_quiet_settings(verbose=verbose), **SOCKETS, **STREAMING}
    if not is_cluster(master) and not is_submitted():
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= LOCAL
    ours = SparkContext._active_spark_context is None  # noqa: SLF001
    workers = _workers(master, options, ours=ours)
    settings |= {**memory_for_python(master, given), **given, **workers.settings}
    spark_conf = SparkConf().setAppName(app).setAll(list(settings.items()))
    if not is_submitted():
        spark_conf.setMaster(master)
        refuse_silent_master(master)
    start_machine(spark_conf, quiet=not verbose, directory=workers.directory)
    session = SparkSession.builder.config(conf=spark_conf).getOrCreate()
    context = session.sparkContext
    if ours:
        context.pythonExec = workers.python
    for module in options.modules:
        context.addPyFile(module)
    if is_cluster(context.master or LOCALHOST):
        check_workers(context, options.paths, options.on_work)
    elif ours:
        _start_workers_fast(context)
    if not verbose:
        _hush(context)
    return configure(session)


def _write_notes_plainly(session: SparkSession) -> None:
    """Have the notes of streaming queries on a local disk written without a process for each file
    (CheckpointFiles.java), where they are written by a manager that we have chosen."""
    if session.conf.get(NOTES_SETTING, "") != LOCAL[NOTES_SETTING]:
        return
    with suppress(InputError, Py4JError):
        provide_class(session, NOTES_CLASS, __package__)
        session.conf.set(NOTES_SETTING, NOTES_CLASS)


def _quiet_settings(*, verbose: bool) -> dict[str, str]:
    warehouse = tempfile.mkdtemp(prefix="windrow-warehouse-")
    atexit.register(shutil.rmtree, warehouse, ignore_errors=True)
    return {
        "spark.ui.enabled": str(verbose).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "INFO" if verbose else "ERROR",
        "spark.sql.warehouse.dir": warehouse,
    }


def _workers(master: str, options: SessionOptions, *, ours: bool) -> WorkerEnvironment:
    """What Python workers run in: on this machine as we do, if nobody says otherwise."""
    if ours and is_cluster(master) and not is_submitted():
        return environment_on_cluster(options.conf, options.on_work)
    named = options.conf.get(PYTHON) or os.environ.get("PYSPARK_PYTHON")
    return WorkerEnvironment(named or sys.executable)


def name_interpreter(session: SparkSession) -> bool:
    """Have Python workers run this interpreter, on one machine and if nobody has named another."""
    chosen = on_one_machine(session) and session.sparkContext.pythonExec == UNCHOSEN
    if chosen:
        session.sparkContext.pythonExec = sys.executable
    return chosen


def configure(session: SparkSession) -> SparkSession:
    """A session beside the given one, on the same cluster, with the settings that stages need.

    It knows the format ``windrow``, in which archives are read.

    The given session's own settings stay as they are, but for the interpreter of Python workers: on
    one machine it is this one, if nobody has named another. Its number of shuffle partitions is
    kept if someone chose it; otherwise there are as many as cores.
    """
    logging.getLogger("py4j.clientserver").addFilter(TOLD)
    if name_interpreter(session):
        _start_workers_fast(session.sparkContext)
    ours = session.newSession()
    for name, value in STREAMING.items():
        ours.conf.set(name, value)
    partitions = session.conf.get("spark.sql.shuffle.partitions", DEFAULT_PARTITIONS)
    if partitions == DEFAULT_PARTITIONS:
        partitions = str(session.sparkContext.defaultParallelism)
    ours.conf.set("spark.sql.shuffle.partitions", str(partitions))
    ours.conf.set(INDEX_MEMORY, session.conf.get(INDEX_MEMORY, DEFAULT_MEMORY) or DEFAULT_MEMORY)
    with suppress(InputError):  # queries do without the format; to register it again says why
        register(ours)
    _write_notes_plainly(ours)
    return ours


def index_memory(session: SparkSession) -> int:
    """The bytes of an index of subscriptions that one worker may hold."""
    text = str(session.conf.get(INDEX_MEMORY, DEFAULT_MEMORY))
    found = re.fullmatch(r"(\d+)\s*([bkmgt]?)b?", text.strip().lower())
    if found is None or int(found[1]) == 0:
        raise InputError(
            where=INDEX_MEMORY,
            expected="a size such as 512m or 2g",
            found=repr(text),
            remedy="set it where Spark's other settings are",
        )
    return int(found[1]) * UNITS[found[2]]


def on_one_machine(session: SparkSession) -> bool:
    """Whether all tasks run where the driver does, and see its disk."""
    return re.fullmatch(r"local(\[.*\])?", session.sparkContext.master or "") is not None


def check_session(spark: SparkSession, *places: str | Path | None) -> None:
    """InputError if somebody's session is on a cluster whose workers cannot do our tasks."""
    if is_cluster(spark.sparkContext.master or LOCALHOST):
        here = [p for p in places if p is not None and not is_object_url(p)]
        written = {str(place): Path(place) for place in here}
        check_workers(spark.sparkContext, SharedPaths(write=written))


def refuse_private_checkpoint(session: SparkSession) -> None:
    """On a cluster workers keep state in the checkpoint; one of the driver's own is of no use."""
    master = session.sparkContext.master or LOCALHOST
    if is_cluster(master):
        raise private_checkpoint(master)


def shuffle_partitions(session: SparkSession) -> int:
    return int(session.conf.get("spark.sql.shuffle.partitions", DEFAULT_PARTITIONS) or 1)


def _start_workers_fast(context: SparkContext) -> None:
    """Unless somebody has chosen another interpreter for them."""
    if context.pythonExec == sys.executable and is_installed():
        context.pythonExec = worker_launcher()


def _hush(context: SparkContext) -> None:
    """No traceback when the virtual machine ends before PySpark's server for its accumulators.

    That happens whenever a session is stopped by a signal; what matters then is said elsewhere.
    """
    server: Any = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None


class _Told(logging.Filter):
    """Leaves out what py4j logs of errors in functions that Java calls: Java tells them too."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "executing the Python Proxy" not in record.getMessage()


TOLD = _Told()
"""One, since a logger takes each filter once."""
