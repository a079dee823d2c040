"""What went wrong in a streaming query, said by Windrow rather than by three languages at once."""

from __future__ import annotations

import re

from windrow.core import errors
from windrow.core.errors import DataError, WindrowError

OURS = re.compile(r"windrow\.[\w.]*?(\w+Error): (.+)")


class SparkError(WindrowError):
    """Spark gave up on a query for a reason that is not Windrow's own."""


def worker_was_late(failure: BaseException) -> bool:
    """Whether a Python process took longer to start than the ten seconds that Spark waits for it.

    That says how busy the machine is, and nothing about the query: it may be started again.
    """
    return "Python worker failed to connect back" in str(failure)


def translated(query: str, failure: BaseException) -> WindrowError:
    """The error that a task or the driver's side of a source raised, as itself.

    Errors cross from Python through the virtual machine and back as text; the last line of the
    innermost traceback has the class and the message.
    """
    if isinstance(failure, WindrowError):
        return failure
    text = str(failure)
    found = OURS.search(text)
    if found is not None:
        kind = getattr(errors, found[1], WindrowError)
        message = found[2].strip()
        if kind is DataError:
            return DataError(message).inside(query)
        if isinstance(kind, type) and issubclass(kind, WindrowError):
            return kind(message) if kind is not errors.NotExecutableError else WindrowError(message)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    return SparkError(
        "Spark stopped the query",
        where=f"query {query}",
        found=(telling or lines or ["no reason given"])[-1 if telling else 0][:500],
        remedy="run again with -v to see Spark's own log; the checkpoint is as the last "
        "complete micro-batch left it",
    )
