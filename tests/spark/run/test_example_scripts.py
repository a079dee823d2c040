"""The scripts of ``examples/`` give the same changes on both runners."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.linear_road_data import LinearRoad
from examples.linear_road_data import write_tables as write_road
from examples.nexmark_data import Nexmark, write_side_input, write_tables
from tests.example_scripts.changes import catalog_of
from tests.spark.scripts import net_changes, run_embedded, run_on_spark
from windrow.plan.catalog import Catalog, QueryDeclaration

pytestmark = pytest.mark.spark


def both_ways(script: str, directory: Path) -> list[Catalog]:
    """The script over the files in ``data``, with places of its own for each runner's results."""
    catalogs = []
    for name in ("embedded", "spark"):
        (directory / name).mkdir()
        (directory / name / "data").symlink_to(directory / "data")
        catalogs.append(catalog_of(script, directory / name))
    return catalogs


def same_changes(script: str, directory: Path, *names: str) -> None:
    """Of the queries of these names, or of all."""
    catalogs = both_ways(script, directory)
    if names:
        catalogs = [without_others(catalog, names) for catalog in catalogs]
    expected, found = catalogs
    run_embedded(expected)
    run_on_spark(found, directory / "checkpoint")
    for query in expected.queries:
        assert net_changes(found, query.name) == net_changes(expected, query.name) != {}, query.name


def without_others(catalog: Catalog, names: tuple[str, ...]) -> Catalog:
    kept = catalog.declarations.items()
    return Catalog({n: d for n, d in kept if not isinstance(d, QueryDeclaration) or n in names})


def write_nexmark(directory: Path, events: Nexmark, files: int) -> None:
    place = directory / "data" / "nexmark"
    write_tables(events.tables(), place, files=files)
    write_side_input(place)


def test_some_queries_of_nexmark_give_the_same_changes_on_both_runners(spark, tmp_path):
    write_nexmark(tmp_path, Nexmark(events=4_000, rate=200, seed=5), files=2)
    same_changes("nexmark.cql", tmp_path, "q3", "q5")


@pytest.mark.slow
def test_all_queries_of_nexmark_give_the_same_changes_on_both_runners(spark, tmp_path):
    write_nexmark(tmp_path, Nexmark(events=40_000, rate=800, seed=5), files=4)
    same_changes("nexmark.cql", tmp_path)


@pytest.mark.slow
def test_linear_road_gives_the_same_changes_on_both_runners(spark, tmp_path):
    road = LinearRoad(vehicles=1_500, seconds=600, seed=1)
    write_road(road.tables(), tmp_path / "data" / "linear_road", files=3)
    same_changes("linear_road.cql", tmp_path)
