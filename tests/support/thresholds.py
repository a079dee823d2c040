"""Thresholds at their least, and how often what they keep rare then happens.

What small inputs never reach with the usual values (compaction, new numbers for groups, a calendar
filed anew, a log written anew, room that is too small) then happens all the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from windrow.columns.growable import Growable
from windrow.core.thresholds import lowered_thresholds


@contextmanager
def at_their_least() -> Iterator[None]:
    """All thresholds are at their least, and positions are checked that are otherwise trusted."""
    with lowered_thresholds(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Growable, "take", _take)
        yield


def _take(self: Growable, positions: np.ndarray) -> np.ndarray:
    """As ``Growable.take``, which trusts its caller, with a check."""
    at = positions - self.base
    assert not len(at) or (at.min() >= 0 and at.max() < len(self)), "a position that is not here"
    return self.view[at]


@contextmanager
def reached(*methods: tuple[type, str]) -> Iterator[Counter[str]]:
    """How often methods are called inside, by class and name."""
    calls: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in methods:
            patch.setattr(owner, name, _counted(owner, name, calls))
        yield calls


def _counted(owner: type, name: str, calls: Counter[str]) -> Callable[..., Any]:
    original = getattr(owner, name)

    def method(*arguments: Any, **options: Any) -> Any:
        calls[f"{owner.__name__}.{name}"] += 1
        return original(*arguments, **options)

    return method
