"""Python processes of Spark's that died, or were late to start, told from errors of a query.

Spark starts many: a *source* process for each source of each query, which lists files at the
driver; *daemons*, and *workers* that they fork, for everything that runs in tasks. One that is
killed shows as a closed connection, often without a message; where in Spark it was noticed says
what it was. None of it says anything about the query: it goes on from its checkpoint.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from windrow.spark.run.failures import whole_text

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


@dataclass(frozen=True)
class Death:
    """``what`` died, or was ``late``; ``code`` is its exit code, if Spark knows it."""

    what: str
    late: bool = False
    code: int | None = None


def death_in(failure: BaseException) -> Death | None:
    """What died, if that is why a query failed; None if it failed by itself."""
    text = whole_text(failure)
    if "LogMovedError" in text:
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
