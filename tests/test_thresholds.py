"""Every size at which code behaves differently is declared as a threshold, and tests cross it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import windrow
from tests.operators.samples import QUERIES, between, plan_of, random_input
from tests.support.thresholds import at_their_least, reached
from windrow.columns.interner import Interner
from windrow.core.thresholds import Threshold
from windrow.engine.pipeline import Pipeline
from windrow.operators.join_side import JoinSide
from windrow.operators.lasting_join import LastingPairs
from windrow.operators.negation import Unmatched
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.calendar_queue import CalendarQueue
from windrow.operators.state.move import Move
from windrow.operators.state.saved_segments import UpsertLog
from windrow.plan.strategy import Strategy
from windrow.windows.avl import Forest
from windrow.windows.row_index import RowIndex

RARE = (
    (StateBuffer, "_move"), (StateBuffer, "_index_anew"), (Move, "follow"), (Move, "carry"),
    (Interner, "compact"), (RowIndex, "renew"), (JoinSide, "restart"), (Unmatched, "_recount"),
    (Forest, "_purge"), (Forest, "renumber"), (CalendarQueue, "_file"),
    (CalendarQueue, "_file_anew"), (UpsertLog, "_start_anew"),
)  # fmt: skip
"""What happens when a threshold is crossed."""
SAMPLES = (
    "group_strict", "group_weak", "quantiles", "quantiles_strict", "group_distinct", "distinct",
    "distinct_weak", "not_in", "not_exists", "not_exists_theta_strict", "except_rows",
    "join_strict", "multi_join_strict", "join_lasting_strict", "top", "having",
)  # fmt: skip


def run_samples() -> None:
    inputs = random_input(21)
    for name in SAMPLES:
        pipeline, before = Pipeline(plan_of(name), changes=True, strategy=Strategy.UPA), -1
        for cut in range(0, 160, 4):
            pipeline.process(between(inputs, before, cut), cut)
            pipeline.save()
            before = cut


def test_what_small_inputs_never_reach_happens_when_thresholds_are_at_their_least() -> None:
    assert set(SAMPLES) <= set(QUERIES)
    with reached(*RARE) as usual:
        run_samples()
    assert usual == {}
    with at_their_least(), reached(*RARE) as least:
        run_samples()
    assert {f"{owner.__name__}.{name}" for owner, name in RARE} == set(least)
    assert least["StateBuffer._move"] > 50
    assert least["Interner.compact"] > 20
    assert least["CalendarQueue._file_anew"] > 20
    assert least["UpsertLog._start_anew"] > 10


def test_the_past_of_a_join_is_gone_through_at_the_least() -> None:
    with at_their_least(), reached((StateBuffer, "kill"), (LastingPairs, "_remember")) as calls:
        run_samples()
    assert calls["StateBuffer.kill"] >= calls["LastingPairs._remember"] > 0


def declared() -> list[Threshold]:
    """Those of all modules that do not need Spark."""
    for module in pkgutil.walk_packages(windrow.__path__, "windrow."):
        if not module.name.startswith(("windrow.spark", "windrow.cli")):
            importlib.import_module(module.name)
    return Threshold.declared


def test_lowering_thresholds_lowers_them_and_leaves_them_as_they_were() -> None:
    found = declared()
    before = [threshold.value for threshold in found]
    assert len(found) > 20
    with at_their_least():
        assert all(threshold.value == threshold.least for threshold in found)
    assert [threshold.value for threshold in found] == before
    assert all(threshold.least < threshold.usual == threshold.value for threshold in found)


@pytest.mark.parametrize("room", ["operators", "windows"])
def test_sizes_in_operators_and_windows_are_thresholds(room: str) -> None:
    """A number that looks like a size, and that no test can lower, is a defect."""
    bare = []
    for path in sorted((Path(windrow.__file__).parent / room).rglob("*.py")):
        tree = ast.parse(path.read_text())
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        lowerable = {
            id(part)
            for call in calls
            if isinstance(call.func, ast.Name) and call.func.id in ("Threshold", "likely_room")
            for part in ast.walk(call)
        }
        bare += [
            f"{path.name}:{n.lineno}: {n.value}"
            for n in ast.walk(tree)
            if isinstance(n, ast.Constant) and type(n.value) is int and id(n) not in lowerable
            if 128 <= n.value < 2**31
        ]
    assert bare == []
