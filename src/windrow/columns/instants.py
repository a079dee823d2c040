"""Instants as users give them, in ticks."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import numpy as np

from windrow.core.errors import InputError
from windrow.core.time import BEGINNING, FOREVER

Instant = int | date | datetime | np.datetime64 | str


def instant(to: Instant, where: str = "advance") -> int:
    """An instant in ticks: integers as they are, times as microseconds since 1970 (UTC).

    >>> instant("1970-01-01 00:00:01"), instant(date(1970, 1, 2)), instant(7)
    (1000000, 86400000000, 7)
    """
    if isinstance(to, int | np.integer) and BEGINNING < to < FOREVER:
        return int(to)
    moment: object = to
    if isinstance(to, str):
        try:
            moment = datetime.fromisoformat(to)
        except ValueError:
            raise _not_an_instant(to, where) from None
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    # pandas' NaT is a datetime too, and is not equal to itself.
    if isinstance(moment, datetime) and moment == moment:  # noqa: PLR0124
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        moment = np.datetime64(moment, "us")
    if not isinstance(moment, np.datetime64) or np.isnat(moment):
        raise _not_an_instant(to, where)
    return int(moment.astype("datetime64[us]").astype(np.int64))


def _not_an_instant(found: object, where: str) -> InputError:
    return InputError(
        where=where,
        expected="an integer of less than 64 bits, a datetime, a date, or ISO 8601 text",
        found=repr(found),
    )
