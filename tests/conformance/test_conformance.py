"""The prototype's own answers, case by case; and the command that runs a directory of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import windrow
from tests.conformance.__main__ import main
from tests.conformance.case import Case, load
from tests.conformance.compare import changes_of, equal, first_difference, net
from tests.conformance.running import Connect, answer, compare, runner

DIRECTORY = Path(__file__).parent / "cql"
CASES = {path.stem: path for path in sorted(DIRECTORY.glob("*.json"))}

ON_SPARK = [
    "sel_arith",
    "win_rows3",
    "grp_range",
    "dis_range",
    "join2_range",
    "union_streams",
    "dstr_group",
    "join_range_rel",
    "view_istream_window",
]


def case(name: str) -> Case:
    return load(CASES[name])


def test_there_are_cases_of_every_kind() -> None:
    kinds = {name.split("_")[0].rstrip("23") for name in CASES}
    assert kinds >= {"sel", "win", "grp", "dis", "join", "union", "istr", "dstr", "rstr", "view"}
    assert len(CASES) == 38


@pytest.mark.parametrize("name", CASES)
def test_embedded_answers_as_the_prototype_did(name: str) -> None:
    assert compare(case(name), answer(case(name), windrow.connect)) is None


@pytest.mark.parametrize("pieces", [1, 2, 7, 40])
@pytest.mark.parametrize("name", ["join_range_rows", "grp_rows", "view_istream_window"])
def test_the_number_of_pieces_does_not_matter(name: str, pieces: int) -> None:
    assert compare(case(name), answer(case(name), windrow.connect, pieces)) is None


@pytest.fixture(scope="module")
def on_spark(spark: object) -> Iterator[Connect]:
    """On the session that all tests share, so that it is not stopped afterwards."""
    with runner("spark") as connect:
        yield connect


@pytest.mark.spark
@pytest.mark.parametrize("name", ON_SPARK)
def test_spark_answers_as_the_prototype_did(name: str, on_spark: Connect) -> None:
    assert compare(case(name), answer(case(name), on_spark)) is None


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*CASES} - {*ON_SPARK}))
def test_spark_answers_the_other_cases_as_the_prototype_did(name: str, on_spark: Connect) -> None:
    assert compare(case(name), answer(case(name), on_spark)) is None


def test_the_command_counts_what_passed_and_shows_the_first_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = json.loads(CASES["win_now"].read_text())
    bad = dict(good, name="wrong", expect=[*good["expect"], [3, "+", [1, 2, 3]]])
    (tmp_path / "good.json").write_text(json.dumps(good))
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"
    (tmp_path / "wrong.json").write_text(json.dumps(bad))
    lacking = dict(good, name="lacking", query="SELECT NoSuchColumn FROM S")
    (tmp_path / "lacking.json").write_text(json.dumps(lacking))
    assert main([str(tmp_path), "--runner", "embedded", "--pieces", "2"]) == 1
    printed = capsys.readouterr().out
    assert "FAILED wrong: first difference at instant 3" in printed
    assert "+(1, 2, 3)" in printed
    assert "FAILED lacking: BindError: line " in printed
    assert printed.splitlines()[-1] == "1 passed, 2 failed"
    assert main([str(tmp_path), "--only", "good"]) == 0
    assert main([str(tmp_path), "--only", "missing"]) == 2


def test_what_cancels_within_an_instant_says_nothing() -> None:
    assert net([(1, "+", (5,)), (1, "-", (5,)), (2, "+", (6,))]) == {2: Counter({(6,): 1})}


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ((1, 2.0), (1, 2.000001), True),
        ((1, 2.0), (1, 2.001), False),
        ((1, 2.0), (2, 2.0), False),
        ((1, 62), (1, 62.0001), True),  # an average that was printed without its point
        ((100_000,), (100_001,), False),  # integers are exact however close they are
        (("a",), ("b",), False),
        ((None,), (0,), False),
    ],
)
def test_floats_may_differ_by_their_rounding_and_nothing_else(
    left: tuple[object, ...], right: tuple[object, ...], same: bool
) -> None:
    assert equal(Counter({left: 1}), Counter({right: 1}), 1e-5) is same
    assert equal(Counter({left: 2}), Counter({right: 1}), 1e-5) is False


def test_the_first_difference_is_the_earliest() -> None:
    expected = net([(1, "+", (1,)), (4, "-", (1,))])
    found = net([(1, "+", (1,)), (3, "-", (1,)), (9, "+", (1,))])
    difference = first_difference(expected, found, 1e-5)
    assert difference is not None
    assert difference.instant == 3
    assert "expected nothing" in str(difference)
    assert "found    -(1,)" in str(difference)


def test_changes_are_read_from_the_table_of_a_query() -> None:
    with windrow.connect() as connection:
        (query,) = connection.execute(
            "CREATE STREAM s (at_ BIGINT, v INT) TIMESTAMP BY at_; SELECT v FROM s [RANGE 2];"
        )
        connection.push("s", {"at_": [1], "v": [7]})
        connection.advance(to=5)
        assert changes_of(query.changes()) == [(1, "+", [7]), (3, "-", [7])]
