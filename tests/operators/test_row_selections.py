"""What rows satisfy is what each predicate says of each row, however often values come again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.columns.evaluate import SelectionMasks
from windrow.columns.types import arrow_schema
from windrow.operators.row_selections import REMEMBERED, RowSelections
from windrow.plan.expressions import Expression
from windrow.plan.nodes import Selection, walk
from windrow.plan.program import compile_script

STREAM = "CREATE STREAM s (ts BIGINT, k INT, w STRING, n BIGINT, x DOUBLE);"
WHOLE = ["n > 1", "n IS NULL", "w = 'a' OR n <= 0", "w LIKE 'b%'", "k = 1 AND w <> 'a'"]
DOUBLES = ["x > 0", "CAST(x AS STRING) LIKE '-%'", "n > 1"]
COUNTED = ["n + 9223372036854775807 > 0", "n > 1"]
ROWS = st.lists(
    st.fixed_dictionaries({
        "ts": st.just(1),
        "k": st.sampled_from([None, 0, 1]),
        "w": st.sampled_from([None, "a", "b", "bc"]),
        "n": st.sampled_from([None, -3, 0, 1, 2]),
        "x": st.sampled_from([None, 0.0, -0.0, 1.5]),
    }),
    max_size=12,
)  # fmt: skip


def predicate_of(text: str) -> Expression:
    (query,) = compile_script(f"{STREAM} SELECT * FROM s [RANGE 5] WHERE {text};").queries
    (found,) = (node.predicate for node in walk(query.plan) if isinstance(node, Selection))
    return found


def batch_of(rows: list[dict[str, object]]) -> pa.RecordBatch:
    (stream,) = compile_script(STREAM).catalog.streams
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(stream.schema))


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("texts", [WHOLE, DOUBLES, COUNTED], ids=["whole", "doubles", "counted"])
@settings(max_examples=40)
@given(batches=st.lists(ROWS, max_size=5))
def test_rows_satisfy_what_each_predicate_says_of_them(texts, batches):
    predicates = [None, *map(predicate_of, texts)]
    selections, masks = RowSelections(predicates), SelectionMasks(predicates)
    for batch in map(batch_of, batches):
        found, expected = selections.select(batch), masks.evaluate(batch)
        for number, line in enumerate(expected):
            assert found.of(number).tolist() == line.tolist()
        some = np.arange(batch.num_rows)[::2]
        for number, line in enumerate(expected):
            assert found.take(some).of(number).tolist() == line[::2].tolist()


def test_predicates_are_evaluated_once_for_each_combination_of_values(monkeypatch):
    selections = RowSelections([predicate_of("n > 1"), predicate_of("n < 3 AND w = 'a'")])
    evaluated = []
    evaluate = SelectionMasks.evaluate
    monkeypatch.setattr(
        SelectionMasks, "evaluate", lambda s, rows: evaluated.append(len(rows)) or evaluate(s, rows)
    )
    rows = [{"ts": 1, "k": k, "w": "a", "n": k % 4, "x": 0.5} for k in range(100)]
    for _ in range(3):
        selections.select(batch_of(rows))
    assert evaluated == [4]
    monkeypatch.setattr(REMEMBERED, "value", 3)
    selections.select(batch_of([{**rows[0], "n": 7}]))
    selections.select(batch_of(rows))
    assert evaluated == [4, 1, 100]  # there are too many to be remembered
