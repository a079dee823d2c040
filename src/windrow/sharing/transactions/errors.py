"""The errors of this room."""

from __future__ import annotations

from windrow.core.errors import WindrowError


class TransactionError(WindrowError):
    """A history, a window or a query that the transactions of a sliding window cannot have."""
