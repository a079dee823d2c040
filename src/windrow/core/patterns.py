"""Update patterns: in which order results are produced and deleted (Golab 2006, 3.2)."""

from __future__ import annotations

from enum import IntEnum


class UpdatePattern(IntEnum):
    """From simple to hard; the maximum of two patterns is the harder one.

    >>> max(UpdatePattern.WEAKEST, UpdatePattern.STRICT).name
    'STRICT'
    """

    MONOTONIC = 0
    """Results never expire."""
    WEAKEST = 1
    """Results expire in the order in which they came: first in, first out."""
    WEAK = 2
    """Each result's expiry is known when it comes, but the order differs."""
    STRICT = 3
    """Some expiries are announced only when they happen, by negative tuples."""
