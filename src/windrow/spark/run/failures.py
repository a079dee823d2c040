"""What went wrong in a streaming query, said by Windrow rather than by three languages at once."""

from __future__ import annotations

import re
from typing import Any

from windrow.core import errors
from windrow.core.errors import DataError, WindrowError

OURS = re.compile(r"windrow\.[\w.]*?(\w+Error): (.+)")
OUT_OF_MEMORY = re.compile(
    r"java\.lang\.OutOfMemoryError[^\n]*|^[\w.]*MemoryError\b[^\n]*", re.MULTILINE
)
"""The virtual machine's own words, and Python's and Arrow's."""


DEEPEST = 20
"""Causes of causes that are looked at."""


class SparkError(WindrowError):
    """Spark gave up on a query for a reason that is not Windrow's own."""


def translate_failure(query: str, failure: BaseException) -> WindrowError:
    """The error that a task or the driver's side of a source raised, as itself.

    Errors cross from Python through the virtual machine and back as text; the last line of the
    innermost traceback has the class and the message.
    """
    if isinstance(failure, WindrowError):
        return failure
    text = str(failure)
    if "no cause message" in text:  # Spark says nothing of a cause that has a class only
        text = whole_text(failure)
    found = OURS.search(text)
    if found is not None and (error := own_error(query, found[1], found[2].strip())):
        return error
    if found := OUT_OF_MEMORY.search(text):
        return _out_of_memory(query, found)
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
        return DataError(message).inside(query)
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


def _out_of_memory(query: str, found: re.Match[str]) -> SparkError:
    java = found[0].startswith("java.")
    who = "the Java virtual machine that Spark runs in" if java else "a Python worker"
    more = "give it more with PYSPARK_SUBMIT_ARGS='--driver-memory 4g pyspark-shell', or "
    return SparkError(
        f"{who} ran out of memory",
        where=f"query {query}",
        found=found[0][:300],
        remedy=f"{more if java else ''}run fewer queries at once, over smaller windows; the "
        "checkpoint holds the last complete micro-batch",
    )
