"""Functions that are called with every micro-batch of a query, between its results and Spark's word
that it is over.

A micro-batch whose function fails, or whose driver dies meanwhile, is therefore repeated under the
same number. Up to which number a function was called is written down beside the query's state
(``foreach_batch-<query>-<n>.json``), so what was published while nobody called it comes when it is
there again, and what is repeated after the call does not come twice. Only a driver that dies
between the two calls it again: at least once, in order, told apart by the number.
"""

from __future__ import annotations

import json
from pathlib import Path

from windrow.core.errors import StateError
from windrow.engine.change_log import TakeBatch
from windrow.result_files.atomic_files import publish, read_record
from windrow.spark.run.change_consumers import Consuming


class BatchHook:
    """See the module. ``place`` is the file with the number; ``query`` is for messages."""

    def __init__(self, function: TakeBatch, changes: Consuming, place: Path, query: str) -> None:
        self._function, self._changes = function, changes
        self._place, self._query = place, query
        self._told = -1
        if place.exists():
            remedy = "remove it to have the function called with all that was published"
            self._told = read_record(
                place, "the record of calls", lambda r: int(r["batch"]), remedy=remedy
            )

    def tell(self) -> None:
        """Call the function with all that was published since the last time."""
        for batch, changes in self._changes.parts(self._told):
            if changes.num_rows:
                try:
                    self._function(changes, batch)
                except Exception as error:
                    raise StateError(
                        "the function of foreach_batch failed",
                        where=f"query {self._query}, batch {batch}",
                        found=f"{type(error).__name__}: {error}",
                        remedy="when it is fixed, run again on the same checkpoint: it is called "
                        "with the same batch",
                    ) from error
            if batch > self._told:
                self._told = batch
                publish(self._place, json.dumps({"batch": batch}))
        self._changes.drain_to(self._told)
