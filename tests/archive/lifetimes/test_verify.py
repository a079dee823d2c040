"""What ``verify`` finds in indexes of lifetimes whose manifest has been edited and summed up."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.archive.support.edited import edit
from tests.archive.support.plain import SCHEMA, table
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique


def filled(path, grid=Grid(1, 2), until=6):  # noqa: B008 (it is frozen)
    """Periods of two ticks; half of what comes lives for one period, half for four."""
    index = LifetimeIndex.create(Disk(path), SCHEMA, "key", longest=8, interval=2, grid=grid)
    for now in range(2, until + 1, 2):
        count = max(1, 40 >> now)
        rows = table([("ab"[i % 2], now) for i in range(2 * count)])
        index.insert(now, rows, pa.array([now + 2, now + 8] * count))
    assert index.verify() == []
    return index


def found(index):
    return [str(problem) for problem in LifetimeIndex.open(index.disk).verify()]


def test_a_bound_of_expiries_that_would_hide_a_live_record_is_found(tmp_path):
    index = LifetimeIndex.create(
        Disk(tmp_path), SCHEMA, "key", longest=8, interval=2, grid=Grid(1, 1)
    )
    index.insert(2, table([("a", 1), ("b", 2)]), pa.array([6, 10]))
    edit(index, lambda value: value["runs"][0].update(expiries=[6, 9]))
    with LifetimeIndex.open(index.disk).reader(9) as reader:
        assert reader.scan().num_rows == 0
    (said,) = found(index)
    assert said.endswith(
        "expected expiries from 6 to 9, as the manifest has it; found expiries from 6 to 10"
    )


def runs(value):
    """The runs of the present grid, sub-index by sub-index."""
    return value["body"]["state"]["subindices"]


def a_record_expires_in_another_period(value):
    runs(value)[0][0]["expiries"][0][0] += 2


def technique(name):
    return lambda value: value["body"]["grid"].update(technique=name)


def two_runs_change_places(value):
    next(held for held in runs(value) if len(held) > 1).reverse()


def time_has_gone_on(value):
    value["body"]["now"] += 2
    value["body"]["state"]["over"] += 1


def a_run_has_a_number_that_was_not_given_yet(value):
    value["body"]["state"]["next_run"] = 1


def a_sub_index_is_gone(value):
    runs(value).append([])


def a_run_is_in_two_sub_indices(value):
    runs(value)[0].append(runs(value)[1][0])


def two_runs_have_one_number(value):
    first, second, *_ = value["body"]["numbers"]
    value["body"]["numbers"][second] = value["body"]["numbers"][first]


def lives_are_shorter(value):
    value["body"]["periods"]["longest"] = 4


EDITS = [
    (a_record_expires_in_another_period, "expected entries by period of expiry as the state has"),
    (technique("Rebuild"), "expected one run at most, under Rebuild; found 2 runs"),
    (two_runs_change_places, "to be at least twice as large as run"),
    (time_has_gone_on, "expected at most two records for each live one; found"),
    (lambda value: value["body"].update(now=8), "expected period 4 to be the last that is over"),
    (lambda value: value["body"].update(now=3), "expected entries inserted up to period 2; found"),
    (lambda value: value["body"].update(state=None), "expected nothing before the first update"),
    (a_run_has_a_number_that_was_not_given_yet, "expected the next run to have a number after"),
    (a_sub_index_is_gone, "expected 2 sub-indices, as NoRebuild1x2 has; found 3"),
    (a_run_is_in_two_sub_indices, "runs of the manifest in one sub-index; found the runs 1, 4, 4"),
    (two_runs_have_one_number, "runs of the manifest in one sub-index; found"),
    (
        lambda value: value["layout"].update(lifetimes=False),
        "layout: expected expiries in lifetimes",
    ),
    (lives_are_shorter, "expected lives of 0 to 2 periods; found lives of"),
]


@pytest.mark.parametrize(("change", "said"), EDITS)
def test_verify_finds_what_updates_would_not_have_made(change, said, tmp_path):
    index = filled(tmp_path)
    edit(index, change)
    assert any(said in problem for problem in found(index)), found(index)


def test_the_dead_under_rebuild_are_found(tmp_path):
    index = filled(tmp_path, Grid(1, 1), until=4)
    edit(index, technique("Rebuild"))
    said = "expected no record that was dead at the last update; found 10 dead of 20"
    assert any(said in problem for problem in found(index)), found(index)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda old: old["grid"].update(technique="Rebuild"), "expected NoRebuild, and records"),
        (lambda old: old["periods"].update(longest=10), "grid 1: expected periods as in"),
        (lambda old: old["state"].update(over=0), "expected period 3 to be the last that is over"),
    ],
)
def test_an_earlier_grid_that_could_not_drain_is_found(change, said, tmp_path):
    index = filled(tmp_path, Grid(1, 2, GridTechnique.REBUILD))
    index.migrate(grid=Grid(2, 2), how="drain")
    assert index.verify() == []
    edit(index, lambda value: change(value["body"]["draining"][0]))
    assert any(said in problem for problem in found(index)), found(index)
