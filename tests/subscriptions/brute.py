"""The obvious way: every row against every entry, a value at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from windrow.subscriptions.predicates import Condition, OneOf, Subscription


def met(condition: Condition, value: Any) -> bool:
    """Whether a value meets a condition; NULL and NaN never do."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return False
    if isinstance(condition, OneOf):
        return any(value == v for v in condition.values)
    low, high = condition.low, condition.high
    if low is not None and not (value > low if condition.low_open else value >= low):
        return False
    return high is None or (value < high if condition.high_open else value <= high)


@dataclass
class Held:
    """An entry, whose it is, and when it counts."""

    owner: Any
    conditions: dict[str, Condition]
    since: float = -math.inf
    until: float = math.inf


class BruteForce:
    """What ``Subscriptions`` does, entry by entry."""

    def __init__(self) -> None:
        self.entries: list[Held] = []

    def add(self, subscriptions: list[Subscription], at: int | None = None) -> None:
        since = -math.inf if at is None else at
        for subscription in subscriptions:
            for entry in subscription.entries:
                self.entries.append(Held(subscription.id, dict(entry.conditions), since))

    def drop(self, owner: Any, at: int | None = None) -> None:
        end = -math.inf if at is None else at
        for held in self.entries:
            if held.owner == owner:
                held.until = min(held.until, end)

    def match(self, rows: list[dict[str, Any]], ts: list[int]) -> set[tuple[int, Any]]:
        return {
            (number, held.owner)
            for number, (row, at) in enumerate(zip(rows, ts, strict=True))
            for held in self.entries
            if held.since <= at < held.until
            and all(met(c, row[name]) for name, c in held.conditions.items())
        }
