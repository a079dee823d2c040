"""Instants as users give them, in ticks."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from windrow.core.errors import InputError


def instant(to: int | datetime | np.datetime64 | str) -> int:
    """An instant in ticks: integers as they are, times as microseconds since 1970 (UTC).

    >>> instant("1970-01-01 00:00:01"), instant(7)
    (1000000, 7)
    """
    if isinstance(to, int | np.integer):
        return int(to)
    if isinstance(to, str):
        try:
            to = datetime.fromisoformat(to)
        except ValueError as error:
            raise InputError(
                where="advance", expected="an ISO 8601 time", found=repr(to)
            ) from error
    if isinstance(to, datetime):
        if to.tzinfo is not None:
            to = to.astimezone(UTC).replace(tzinfo=None)
        to = np.datetime64(to, "us")
    return int(to.astype("datetime64[us]").astype(np.int64))
