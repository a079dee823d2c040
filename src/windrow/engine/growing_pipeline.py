"""The operators of a job that queries join: those that answer newcomers are made when needed.

To build operators takes as long as there are members, and queries may come one by one, many of them
between two rows. So a job that has grown has the operators of before until somebody needs them, and
then gets new ones once, which go on where the old ones are. What has to be known of a job for the
next query to join it is in its plan.
"""

from __future__ import annotations

from threading import Lock

from windrow.engine.group_from_single import go_on_from_single
from windrow.engine.pipeline import Pipeline
from windrow.operators.shared_group_by import SharedAggregation
from windrow.plan.sharing.shared_synopses import SharedSynopses

Mark = tuple[Pipeline, SharedSynopses | None]


class GrowingPipeline:
    """See the module. Whoever looks first builds; readers may be in other threads."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._grown: SharedSynopses | None = None
        self._building = Lock()

    @property
    def now(self) -> int:
        """The last instant that is closed, which does not depend on who has joined."""
        return self._pipeline.now

    @property
    def pipeline(self) -> Pipeline:
        """For all members."""
        if self._grown is not None:
            with self._building:
                if self._grown is not None:
                    self._pipeline = _go_on(self._pipeline, self._grown)
                    self._grown = None
        return self._pipeline

    def grow(self, group: SharedSynopses) -> None:
        """Go on with queries more or fewer; with the first that is more a query that was alone
        becomes a group."""
        self._grown = group

    def mark(self) -> Mark:
        """Where it is now, before others join."""
        return self._pipeline, self._grown

    def go_back(self, mark: Mark) -> None:
        self._pipeline, self._grown = mark


def _go_on(before: Pipeline, group: SharedSynopses) -> Pipeline:
    """The operators of a group where those of fewer queries were, or of one alone."""
    pipeline = Pipeline(group.root, changes=True)
    if any(isinstance(operator, SharedAggregation) for operator in before.operators):
        pipeline.go_on_from(before)
    else:
        go_on_from_single(group, pipeline, before)
    return pipeline
