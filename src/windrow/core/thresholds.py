"""Sizes at which code begins to behave differently: a buffer is compacted, a log written anew.

Such a size is declared where it matters, as a ``Threshold`` with the value that pays and the least
one that makes sense. What is right below a size may be wrong beyond it, and tests are small; so the
tests also run with all of them ``lowered_thresholds``, where hardly anything is small.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar


class Threshold:
    """A size, to be read where it is needed: ``value``. Tests lower it to ``least``."""

    declared: ClassVar[list[Threshold]] = []
    are_lowered = False

    def __init__(self, usual: int, least: int = 0) -> None:
        self.usual, self.least = usual, least
        self.value = least if Threshold.are_lowered else usual
        Threshold.declared.append(self)


@contextmanager
def lowered_thresholds() -> Iterator[None]:
    """All thresholds at their least, also those of modules that are imported inside; for tests.

    >>> size = Threshold(4096, least=1)
    >>> with lowered_thresholds():
    ...     size.value
    1
    >>> size.value
    4096
    """
    before = [(threshold, threshold.value) for threshold in Threshold.declared]
    Threshold.are_lowered = True
    for threshold in Threshold.declared:
        threshold.value = threshold.least
    try:
        yield
    finally:
        Threshold.are_lowered = False
        for threshold in Threshold.declared:
            threshold.value = threshold.usual
        for threshold, value in before:
            threshold.value = value
