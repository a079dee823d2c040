"""Every ring on every index: the tuples that it leads to, while basic windows come and go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from tests.papers.window_indexes.models import (
    INDEXES,
    RINGS,
    cut_points,
    group_index,
    in_window,
    pieces,
    streams,
    windows,
)
from windrow.core.errors import WindrowError
from windrow.papers.window_indexes.basic_windows import CountBased, TimeBased
from windrow.papers.window_indexes.group_index import GroupIndex, Groups
from windrow.papers.window_indexes.ring_window import (
    RingWindow,
    look_up,
    sorted_positions,
    sorted_rows,
)
from windrow.papers.window_indexes.value_index import h_index, l_index, t_index

pytestmark = pytest.mark.usefixtures("sizes")


def check(window: RingWindow, values: np.ndarray, seen: list[int]) -> None:
    order = sorted(seen, key=lambda i: (values[i], i))
    assert sorted_positions(window).tolist() == order
    assert window.index.counts(window.index.by_value()).sum() == len(seen)
    asked = np.array([*range(-7, 12), 2**63 - 1])
    positions, which = look_up(window, asked)
    expected = [(i, k) for k, v in enumerate(asked) for i in seen if values[i] == v]
    assert list(zip(positions.tolist(), which.tolist(), strict=True)) == expected


@pytest.mark.parametrize("index", [*INDEXES, "G"])
@pytest.mark.parametrize("ring", RINGS)
@settings(max_examples=20)
@given(stream=streams(), cuts=cut_points, spec=windows)
def test_a_ring_leads_to_the_tuples_of_the_window_however_the_input_is_cut(
    ring, index, stream, cuts, spec
):
    values, ts = stream
    window = RingWindow(spec, RINGS[ring](INDEXES.get(index, group_index)()))
    for part in pieces(len(values), cuts):
        window.append(values[part], ts[part])
        check(window, values, in_window(spec, ts[: part.stop]))


@pytest.mark.parametrize("ring", RINGS)
def test_a_number_that_was_purged_and_given_to_another_value_leads_to_no_old_tuple(ring):
    window = RingWindow(CountBased(2, 3), RINGS[ring](t_index()))
    values = np.concatenate([np.arange(30) % 4 + 10 * (i % 7) for i in range(40)])
    for turn in window.feed(values):
        assert sorted_positions(window).tolist() == sorted(
            in_window(window.spec, values[: turn * 3]), key=lambda i: (values[i], i)
        )
    assert len(window.index) < 20


def test_the_rings_of_a_dirty_bit_index_end_in_expired_tuples_that_no_query_sees():
    #  basic windows   5 5 8 | 5 8 9 | 8 9 9      the first has left
    window = RingWindow(CountBased(2, 3), RINGS["DB"](l_index()))
    window.append(np.array([5, 5, 8, 5, 8, 9, 8, 9, 9]))
    ring, nodes = window.ring, window.index.find(np.array([5, 8, 9]))
    assert ring.dirty(nodes).tolist() == [True, True, False]
    assert ring.tuples(nodes).tolist() == [3, 4, 6, 5, 7, 8]
    window.append(np.array([1, 1, 1]))
    assert ring.dirty(window.index.find(np.array([8, 9]))).tolist() == [True, True]


def test_expiry_follows_every_ring_per_tuple_in_aux_per_value_in_bw_and_not_at_all_in_db():
    values = np.random.default_rng(3).integers(0, 10, 4_000)
    steps = {}
    for name in ("AUX", "BW", "DB"):
        window = RingWindow(CountBased(10, 100), RINGS[name](l_index()))
        window.append(values)
        steps[name] = window.steps
    assert steps["AUX"].unlink > 5 * steps["BW"].unlink > 0
    assert steps["DB"].unlink == 0
    assert steps["AUX"].locate == steps["BW"].locate == steps["DB"].locate


def test_an_auxiliary_index_asks_the_main_one_once_per_value_of_a_basic_window():
    values = np.tile(np.arange(5), 200)
    plain, aux = (RingWindow(CountBased(2, 100), RINGS[n](l_index())) for n in ("ring", "AUX"))
    for window in (plain, aux):
        window.append(values)
    assert plain.steps.attach == 1_000
    assert aux.steps.attach == aux.steps.link == 5 * 10


def test_rows_come_back_in_the_order_of_the_column_that_indexes_them():
    schema = pa.schema([("price", pa.float64()), ("name", pa.string())])
    window = RingWindow(CountBased(2, 2), RINGS["DB"](t_index()), schema, "price")
    rows = pa.record_batch([[2.5, -1.0, 7.0, 2.5, 0.0], list("abcde")], schema=schema)
    assert window.append_rows(rows) == 2
    assert sorted_rows(window).column("name").to_pylist() == ["b", "a", "d", "c"]
    window.append_rows(rows.slice(1, 1))
    assert sorted_rows(window).to_pylist() == [
        {"price": -1.0, "name": "b"}, {"price": 0.0, "name": "e"},
        {"price": 2.5, "name": "d"}, {"price": 7.0, "name": "c"},
    ]  # fmt: skip


def test_rows_need_a_schema_and_a_value_to_index_by():
    schema = pa.schema([("a", pa.int64())])
    rows = pa.record_batch([[None, 1]], schema=schema)
    with pytest.raises(WindrowError, match="positions only"):
        RingWindow(CountBased(2, 2), RINGS["DB"](h_index())).append_rows(rows)
    with pytest.raises(WindrowError, match="1 NULLs"):
        RingWindow(CountBased(2, 2), RINGS["DB"](h_index()), schema, "a").append_rows(rows)
    with pytest.raises(WindrowError, match="values alone"):
        RingWindow(CountBased(2, 2), RINGS["DB"](h_index()), schema, "a").append(np.array([1]))
    with pytest.raises(WindrowError, match="sorted_positions"):
        sorted_rows(RingWindow(CountBased(2, 2), RINGS["DB"](h_index())))


def test_a_ring_has_an_index_of_its_own():
    with pytest.raises(WindrowError, match="an index of one window; found one of 2"):
        RingWindow(CountBased(2, 2), RINGS["BW"](l_index(windows=2)))


def test_rows_of_a_batch_that_is_refused_are_not_kept():
    schema = pa.schema([("a", pa.int64())])
    window = RingWindow(TimeBased(2, 10), RINGS["DB"](t_index()), schema, "a")
    rows = pa.record_batch([[3, 1]], schema=schema)
    with pytest.raises(WindrowError, match="order of their timestamps"):
        window.append_rows(rows, np.array([5, 4]))
    window.append_rows(rows, np.array([5, 6]))
    window.advance(10)
    assert sorted_rows(window).column("a").to_pylist() == [1, 3]


@pytest.mark.parametrize("ring", RINGS)
def test_a_group_index_of_any_size_can_be_asked_before_anything_came(ring):
    window = RingWindow(CountBased(2, 3), RINGS[ring](GroupIndex(Groups.even(0, 10_000, 5_000))))
    assert look_up(window, np.array([0, 4_000, 9_999]))[0].tolist() == []
    window.append(np.array([9_999, 9_999, 4_000]))
    assert look_up(window, np.array([0, 4_000, 9_999]))[0].tolist() == [2, 0, 1]
