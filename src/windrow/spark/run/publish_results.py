"""The results of a micro-batch, published: those of all jobs side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import zip_longest

from windrow.result_files.publication import Publication, Spread, publish_together
from windrow.spark.run.spark_job import SparkJob
from windrow.spark.sink.file_delivery import merge
from windrow.spark.stage.level_task import HANDS
from windrow.spark.stage.stage_task import Report


class ResultPublisher:
    """Threads start when they are needed, stay as long as the pipeline, and cost nothing when they
    are not. ``on_one_machine`` says that no disk is behind a network: there they do not wait."""

    def __init__(self, *, on_one_machine: bool) -> None:
        self._quick: Spread = map if on_one_machine else self._side_by_side

    def publish(
        self, jobs: Mapping[int, SparkJob], batch: int, found: Mapping[int, Sequence[Report]]
    ) -> None:
        """The results of all jobs, side by side; where one's come in order, step by step."""
        lists = [jobs[n].results.publications(batch, reports) for n, reports in found.items()]
        for together in zip_longest(*lists, fillvalue=()):
            publications = merge(publication for part in together for publication in part)
            if len(publications) > 1:
                publish_together(publications, self._side_by_side, self._quick)
            else:
                publish_together(publications)

    def _side_by_side(
        self, step: Callable[[Publication], None], publications: Sequence[Publication]
    ) -> Iterable[None]:
        """A step for many: each hand has its share, and is told once."""

        def do(share: Sequence[Publication]) -> None:
            for publication in share:
                step(publication)

        shares = (publications[first::HANDS] for first in range(HANDS))
        return self._hands.map(do, [share for share in shares if share])

    @cached_property
    def _hands(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(HANDS, "windrow-publishing")
