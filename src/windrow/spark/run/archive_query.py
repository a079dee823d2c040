"""The streaming query that fills an archive of a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from windrow.engine.day_store import strategy_for
from windrow.plan.catalog import ArchiveDeclaration, Catalog
from windrow.plan.strategy import Strategy
from windrow.spark.archive.filling import Filling
from windrow.spark.run.streaming_query import SparkQuery
from windrow.spark.stage.stage_task import Report, ResultDelivery


class ArchiveQuery(SparkQuery):
    """An archive of a script and the query that fills it."""

    def __init__(
        self,
        session: SparkSession,
        declared: ArchiveDeclaration,
        catalog: Catalog,
        directory: Path,
        strategy: Strategy = Strategy.UPA,
    ) -> None:
        strategy = strategy_for(declared, strategy)
        super().__init__(session, declared.query, catalog, directory, strategy)
        self.destination = Path(declared.path).absolute()
        self._filling = Filling(declared, self.home.results, self.home.run)

    @property
    def results(self) -> Path:
        """The directory of what waits, and of the commits; the results are in the archive."""
        return self.home.results

    @property
    def waiting(self) -> int:
        """Rows of days that are not over."""
        return self._filling.rows_waiting()

    def prepare(self, *, overwrite: bool = False) -> None:
        super().prepare(overwrite=overwrite)
        self._filling.prepare()

    @property
    def _delivery(self) -> ResultDelivery:
        return self._filling.delivery

    def _publish(self, batch: int, reports: Sequence[Report]) -> None:
        self._filling.publish(batch, reports)
