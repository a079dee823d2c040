"""Subscriptions of a connection, as their user sees them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from windrow.core.errors import InputError
from windrow.core.time import BEGINNING, Clock
from windrow.engine.instants import Instant, instant
from windrow.engine.query import EmbeddedQuery
from windrow.subscriptions.matching import Matching
from windrow.subscriptions.predicates import Id


class SubscribedQuery:
    """Subscriptions that can be changed while their stream runs.

    A change takes effect at an instant that is still open: rows from then on see it, whatever has
    been pushed already. Without ``at`` it is the first open one.
    """

    def __init__(self, query: EmbeddedQuery) -> None:
        self.query = query
        matching = [o for o in query.pipeline.operators if isinstance(o, Matching)]
        self._subscriptions = matching[0].subscriptions

    def add(self, subscriptions: Any, at: Instant | None = None) -> int:
        """Add entries (see ``windrow.subscriptions.tables``); returns how many."""
        return self._subscriptions.add(subscriptions, self._open(at))

    def drop(self, ids: Id | Iterable[Id], at: Instant | None = None) -> int:
        """End all entries of these subscriptions; returns how many there were."""
        return self._subscriptions.drop(ids, self._open(at))

    def _open(self, at: Instant | None) -> int | None:
        now = self.query.pipeline.now
        if at is None:
            return None if now == BEGINNING else now + 1
        clock = self.query.declaration.clock
        if clock is Clock.INTEGER and not isinstance(at, int | np.integer):
            raise InputError(
                where=f"subscriptions {self.query.name}",
                expected="an integer instant",
                found=repr(at),
            )
        wanted = instant(at)
        if wanted <= now:
            raise InputError(
                where=f"subscriptions {self.query.name}",
                expected=f"an instant after {now}, the last one that is closed",
                found=str(wanted),
                remedy="leave at out for the first open instant",
            )
        return wanted

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._subscriptions)

    def __repr__(self) -> str:
        return f"<subscriptions {self.query.name}: {len(self):,} entries>"
