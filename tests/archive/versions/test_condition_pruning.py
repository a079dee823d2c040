"""A scan with a condition reads the keys that may satisfy it, and loses none that do."""

from __future__ import annotations

import math
from operator import eq, ge, gt, le, lt, ne
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings

from tests.archive.support.keys import KINDS
from windrow.archive.archive import Archive
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid
from windrow.archive.runs.encoding import decode
from windrow.archive.versions.condition_pruning import MANY, rows_for

MANY_KEYS = 20_000


def filled(path, keys, kind, *, form="arrow", days=3):
    schema = pa.schema({"k": kind, "v": pa.int64()})
    archive = Archive.create(path, schema, "k", window=4, scheme="WATA", n=2, format=form)
    for day in range(days):
        values = np.arange(len(keys)) + day * len(keys)
        archive.append(day, pa.table({"k": keys, "v": values}, schema=schema), now=day)
    return archive


def compared(reader, condition):
    """The answer by the index and by looking at everything, and how many rows the index gave."""
    batches = list(reader.batches_matching(condition, columns=["k", "v"]))
    schema = reader.scan(columns=["k", "v"]).schema
    given_ = decode(pa.Table.from_batches(batches, schema))
    everything = decode(reader.scan(columns=["k", "v"]))
    found, wanted = (
        sorted(t.filter(condition).column("v").to_pylist()) for t in (given_, everything)
    )
    return found, wanted, given_.num_rows


def conditions(keys):
    field = pc.field("k")
    simple = st.one_of(
        st.builds(lambda op, key: op(field, key), st.sampled_from([eq, ne, lt, le, gt, ge]), keys),
        st.lists(keys, max_size=3).map(lambda some: field == some[0] if some else field.is_null()),
        st.just(field.is_valid()),
        st.just(pc.field("v") > 5),
    )
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
            st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
            inner.map(lambda one: ~one),
        ),
        max_leaves=4,
    )


@pytest.mark.parametrize("kind", [k for k in KINDS if k != pa.float16()], ids=str)  # see below
@given(data=st.data())
@settings(max_examples=6)
def test_no_key_is_lost_whatever_its_type_and_the_condition(kind, data):
    keys = data.draw(st.lists(st.one_of(st.none(), KINDS[kind]), min_size=1, max_size=12))
    column = pa.array(keys, kind)
    literals = st.sampled_from([pa.scalar(key, kind) for key in keys if key is not None] or
                               [pa.scalar(data.draw(KINDS[kind]), kind)])  # fmt: skip
    with TemporaryDirectory() as path, filled(f"{path}/a", column, kind, days=1).reader() as reader:
        for condition in data.draw(st.lists(conditions(literals), min_size=1, max_size=6)):
            found, wanted, _ = compared(reader, condition)
            assert found == wanted


def test_of_keys_that_arrow_does_not_compare_none_is_left_out(tmp_path):
    keys = pa.array([1.5, None, math.nan, -2.0], pa.float16())
    with filled(tmp_path / "a", keys, pa.float16(), days=1).reader() as reader:
        for condition in (pc.field("v") >= 0, pc.field("k").is_null()):
            found, wanted, _ = compared(reader, condition)
            assert found == wanted


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_a_condition_on_the_key_reads_a_few_rows_only(form, tmp_path):
    keys = pa.array([f"{n:06}" for n in range(MANY_KEYS)])
    key = pc.field("k")
    with filled(tmp_path / "a", keys, pa.string(), form=form).reader() as reader:
        for condition, most in (
            (key == "012345", 3),
            ((key == "012345") & (pc.field("v") > 0), 3),
            (key.isin(["000001", "012345", "019999"]), 9),
            ((key >= "012345") & (key <= "012346"), 6),
            (key == "nobody", 0),
            (key.is_null(), 0),
            (key < "010000", 0.6 * 3 * MANY_KEYS),
        ):
            found, wanted, read = compared(reader, condition)
            assert found == wanted
            assert read <= most, condition


def test_what_selects_everything_is_not_examined_for_long(tmp_path, monkeypatch):
    keys = pa.array([f"{n:06}" for n in range(MANY_KEYS)])
    asked = []
    with filled(tmp_path / "a", keys, pa.string()).reader() as reader:
        from windrow.archive.versions import condition_pruning as matching  # noqa: PLC0415 - to be looked over the shoulder

        whole = matching.satisfiable
        monkeypatch.setattr(
            matching,
            "satisfiable",
            lambda c, s, known: asked.append(len(known)) or whole(c, s, known),
        )
        for run, _ in reader._live(None, None):
            asked.clear()
            assert rows_for(pc.field("v") >= 0, run.layout.reader_schema({}), run) == [
                (0, run.ref.rows)
            ]
            assert sum(asked) < 2 * MANY.value


def test_the_first_column_of_a_composite_key_is_enough(tmp_path):
    n = np.arange(5_000)
    schema = pa.schema({"k": pa.int64(), "j": pa.int64(), "v": pa.int64()})
    archive = Archive.create(tmp_path / "a", schema, ("k", "j"), window=4, scheme="DEL", n=1)
    table = pa.table({"k": pa.array([*(n // 2), None]), "j": pa.array([*(n % 2), 1]),
                      "v": pa.array([*n, -1])}, schema=schema)  # fmt: skip
    archive.append(0, table, now=0)
    with archive.reader() as reader:
        found, wanted, read = compared(reader, pc.field("k") == 1_234)
        assert found == wanted == [2_468, 2_469]
        assert read <= 3
        assert compared(reader, pc.field("k").is_null())[0] == [-1]


def test_of_an_index_of_lifetimes_only_the_living_are_given(tmp_path):
    schema = pa.schema({"k": pa.int64(), "v": pa.int64()})
    index = LifetimeIndex.create(
        tmp_path / "a", schema, "k", longest=100, interval=10, grid=Grid(2, 2)
    )
    n = np.arange(2_000)
    index.insert(10, pa.table({"k": n % 500, "v": n}), pa.array(20 + n % 40))
    with index.reader(now=40) as reader:
        found, wanted, read = compared(reader, pc.field("k") == 77)
        assert found == wanted
        assert len(found) == 2
        assert read <= 8
