"""Who runs with whom on Spark: a query stays where its state is."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.core.errors import StateError
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.nodes import Routed, walk
from windrow.plan.nodes.routed import Among, Between
from windrow.plan.program import compile_script
from windrow.spark.checkpoint.query_directory import IDENTITY
from windrow.spark.checkpoint.query_groups import PREFIX, SEATS, Group, groups_of

STREAM = "CREATE STREAM s (ts BIGINT, k INT, n BIGINT, w STRING);"


def queries(shape: str = "SELECT k FROM s WHERE n > {}", **lows: int) -> list[QueryDeclaration]:
    text = "".join(f"CREATE QUERY {name} AS {shape.format(low)};" for name, low in lows.items())
    return list(compile_script(STREAM + text).queries)


def begun(found: list[QueryDeclaration], directory: Path) -> list[Group]:
    """The groups after a run has begun."""
    groups = groups_of(found, directory)
    for group in groups:
        group.take_seats()
    return groups


def names(group: Group) -> dict[int, str]:
    return {number: query.name for number, query in group.members.items()}


def asked(group: Group) -> list[tuple[object, ...]]:
    (routed,) = [n for n in walk(group.declaration.plan) if isinstance(n, Routed)]
    return list(routed.asked)


def test_a_new_run_groups_what_can_share(tmp_path):
    found = queries(a=1, b=2, c=3) + queries("SELECT w FROM s [NOW] WHERE n > {}", d=1, e=2)
    (group,) = begun(found, tmp_path)
    assert names(group) == {0: "a", 1: "b", 2: "c"}
    assert group.directory == tmp_path / f"{PREFIX}a"
    assert group.declaration.name == "a and 2 more"


def test_members_keep_their_numbers_and_one_that_left_asks_for_nothing(tmp_path):
    begun(queries(a=1, b=2, c=3, d=4), tmp_path)
    (group,) = begun(queries(d=4, b=2), tmp_path)
    assert names(group) == {1: "b", 3: "d"}
    wanted = [(Between(low=n, low_open=True),) for n in (2, 4)]
    assert asked(group) == [(Among(()),), wanted[0], (Among(()),), wanted[1]]


def test_queries_that_are_new_form_groups_of_their_own(tmp_path):
    begun(queries(a=1, b=2, c=3), tmp_path)
    old, new = begun(queries(x=7, a=1, y=8, b=2, c=3, z=9), tmp_path)
    assert list(names(old).values()) == ["a", "b", "c"]
    assert list(names(new).values()) == ["x", "y", "z"]
    assert new.directory == tmp_path / f"{PREFIX}x"
    assert [list(names(g).values()) for g in begun(queries(a=1, b=2, c=3, w=6), tmp_path)] == [
        ["a", "b", "c"]
    ]


def test_a_query_that_has_run_alone_goes_on_alone(tmp_path):
    for name in ("a", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / IDENTITY).write_text("{}")
    assert begun(queries(a=1, b=2, c=3), tmp_path) == []
    (group,) = begun(queries(a=1, b=2, c=3, d=4, e=5), tmp_path)
    assert list(names(group).values()) == ["b", "d", "e"]


@pytest.mark.parametrize(
    "changed",
    [
        queries(a=1, b=5, c=3),
        queries(a=1, c=3) + queries("SELECT k FROM s [NOW] WHERE n > {}", b=2),
        queries(a=1, c=3) + queries("SELECT TOP 1 k FROM s [NOW] ORDER BY k", b=2),
    ],
)
def test_a_query_that_was_changed_is_refused_by_its_name(tmp_path, changed):
    begun(queries(a=1, b=2, c=3), tmp_path)
    with pytest.raises(StateError, match="query b does not belong to this script"):
        groups_of(changed, tmp_path)


def test_seats_that_cannot_be_read_are_named(tmp_path):
    begun(queries(a=1, b=2, c=3), tmp_path)
    (tmp_path / f"{PREFIX}a" / SEATS).write_text("[1, 2")
    with pytest.raises(StateError, match="the checkpoint is damaged"):
        groups_of(queries(a=1, b=2, c=3), tmp_path)


def test_the_text_of_a_plan_does_not_depend_on_who_is_in_it(tmp_path):
    (one,) = begun(queries(a=1, b=2, c=3), tmp_path / "one")
    (two,) = begun(queries(a=4, b=5, c=6, d=7), tmp_path / "two")
    assert repr(one.declaration.plan) == repr(two.declaration.plan)
