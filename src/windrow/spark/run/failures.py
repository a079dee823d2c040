"""What went wrong in a pipeline, said by Windrow rather than by three languages at once.

Python processes of Spark's that died, or were late to start, are told from errors of a query.
Spark starts *daemons*, and *workers* that they fork, for everything that runs in tasks; for a
streaming query also a *source* process for each source, which lists files at the driver. One that
is killed shows as a closed connection, often without a message; where in Spark it was noticed says
what it was. None of it says anything about the query: it goes on from its checkpoint.
"""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from windrow.core import errors
from windrow.core.errors import DataError, StateError, WindrowError
from windrow.spark.source.file_log import LogMovedError

OURS = re.compile(r"windrow\.[\w.]*?(\w+Error): (.+)")
OUT_OF_MEMORY = re.compile(
    r"java\.lang\.OutOfMemoryError[^\n]*|^[\w.]*MemoryError\b[^\n]*", re.MULTILINE
)
"""The virtual machine's own words, and Python's and Arrow's."""


DEEPEST = 20
"""Causes of causes that are looked at."""
WORKER = "a Python worker"
SOURCE = "the Python process of a source"
EXECUTOR = "an executor"
LEFT_BEHIND = "a process that an earlier run had left behind, which wrote to the file log and"
LATE = "a Python worker that did not start within the ten seconds that Spark waits for it"

LATE_SIGNS = re.compile(
    r"Python worker failed to connect back|while waiting for the Python worker to connect back"
)
WORKER_SIGNS = re.compile(
    r"Python worker exited unexpectedly|before the Python worker connected|"
    r"Python daemon failed to launch worker"
)
EXECUTOR_SIGNS = re.compile(
    r"ExecutorLostFailure|Lost executor|exited caused by one of the running"
)
CUT_OFF = re.compile(
    r"EOFException|SocketException|ClosedChannelException|AsynchronousCloseException|"
    r"ConnectException|Broken pipe|Connection reset|Connection refused|Stream closed"
)
"""A connection that ended in the middle of a conversation."""
SOURCE_FRAMES = re.compile(r"PythonStreamingSourceRunner|PythonMicroBatchStream")
PYTHON_FRAMES = re.compile(
    r"org\.apache\.spark\.(sql\.execution\.(datasources\.v2\.)?python|api\.python)\."
)
EXIT_CODE = re.compile(r"exit(?:ed)?(?: with)?(?: status|code| code)?:? (\d+)", re.IGNORECASE)


class SparkError(WindrowError):
    """Spark gave up on a query for a reason that is not Windrow's own."""


def translate_failure(query: str, failure: BaseException) -> WindrowError:
    """The error that a task or the driver's side of a source raised, as itself.

    Errors cross from Python through the virtual machine and back as text; the last line of the
    innermost traceback has the class and the message.
    """
    if isinstance(failure, WindrowError):
        return failure
    if isinstance(failure, OSError) and not isinstance(failure, ConnectionError):
        return _disk_error(query, failure)
    text = str(failure)
    if not isinstance(failure, PySparkException | Py4JError):  # of the driver itself
        text = "".join(traceback.format_exception_only(failure))
    if "no cause message" in text:  # Spark says nothing of a cause that has a class only
        text = whole_text(failure)
    found = OURS.search(text)
    if found is not None and (error := own_error(query, found[1], found[2].strip())):
        return error
    if found := OUT_OF_MEMORY.search(text):
        return _out_of_memory(query, found, driver=isinstance(failure, MemoryError))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"[\w.]+(Error|Exception)(: |$)", line)]
    return SparkError(
        "Spark stopped the query",
        where=f"query {query}",
        found=(telling or lines or ["no reason given"])[-1 if telling else 0][:500],
        remedy="run again with -v to see Spark's own log; the checkpoint holds the last "
        "complete micro-batch",
    )


def own_error(query: str, kind: str, message: str) -> WindrowError | None:
    """One of our errors, by the name of its class; None if it is another's."""
    found = getattr(errors, kind, WindrowError)
    if found is DataError:
        named = message.startswith("query ")  # it crossed once before, and says whose it is
        return DataError(message) if named else DataError(message).inside(query)
    if isinstance(found, type) and issubclass(found, WindrowError):
        return found(message) if found is not errors.NotExecutableError else WindrowError(message)
    return None


def whole_text(failure: BaseException) -> str:
    """Message and stack of an error, and of what it says was the cause of it."""
    parts: list[str] = []
    seen: Any = failure
    while seen is not None and len(parts) < DEEPEST:
        parts.append(f"{getattr(seen, '_desc', None) or seen}\n{getattr(seen, '_stackTrace', '')}")
        seen = getattr(seen, "_cause", None) or seen.__cause__
    return "\n".join(parts)


def _disk_error(query: str, failure: OSError) -> StateError:
    """What the driver could not read or write: checkpoint, results, or what comes in."""
    return StateError(
        "a file cannot be read or written",
        where=str(failure.filename) if failure.filename else f"query {query}",
        expected="files that can be read, and directories that can be written with space in them",
        found=failure.strerror or str(failure),
        remedy="fix that, and run the same command again: with --checkpoint it resumes after the "
        "last complete micro-batch",
    )


def is_left_behind(failure: BaseException) -> bool:
    """Whether somebody else has written to a file log of a run."""
    return isinstance(failure, LogMovedError) or "LogMovedError" in str(failure)


def _out_of_memory(query: str, found: re.Match[str], *, driver: bool) -> SparkError:
    java = found[0].startswith("java.")
    python = "the driver" if driver else "a Python worker"
    who = "the Java virtual machine that Spark runs in" if java else python
    more = "give it more with PYSPARK_SUBMIT_ARGS='--driver-memory 4g pyspark-shell', or "
    return SparkError(
        f"{who} ran out of memory",
        where=f"query {query}",
        found=found[0][:300],
        remedy=f"{more if java else ''}run fewer queries at once, over smaller windows; the "
        "checkpoint holds the last complete micro-batch",
    )


@dataclass(frozen=True)
class Death:
    """``what`` died, or was ``late``; ``code`` is its exit code, if Spark knows it."""

    what: str
    late: bool = False
    code: int | None = None


def death_in(failure: BaseException) -> Death | None:
    """What died, if that is why a query failed; None if it failed by itself."""
    text = whole_text(failure)
    if is_left_behind(failure) or "LogMovedError" in text:
        return Death(LEFT_BEHIND)
    if LATE_SIGNS.search(text):
        return Death(LATE, late=True)
    if EXECUTOR_SIGNS.search(text):
        code = EXIT_CODE.search(text)
        return Death(EXECUTOR, code=int(code[1]) if code else None)
    if WORKER_SIGNS.search(text):
        return Death(WORKER)
    if CUT_OFF.search(text) and PYTHON_FRAMES.search(text):
        return Death(SOURCE if SOURCE_FRAMES.search(text) else WORKER)
    return None
