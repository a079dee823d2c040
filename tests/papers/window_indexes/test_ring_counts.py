"""Per-tuple operation counts of ring indexes against the sums of Golab et al. 2004, section 5.

Ours differ from the paper's in three places, each for the better and each asserted beside the
paper's bound: a ring's newest tuple is known from the end-of-ring pointer, so that linking costs
a step instead of N/D; DB keeps no expired tuple; and its dirty bits cost nothing to set.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.papers.window_indexes.models import RINGS
from tests.papers.window_indexes.paper_costs import (
    INDEXES,
    SEARCH_AVERAGE,
    Sizes,
    by_power_law,
    count_ring,
    evenly,
    ring_average,
    ring_bound,
)
from windrow.papers.window_indexes.backward_rings import DirtyBitRing
from windrow.papers.window_indexes.basic_windows import CountBased
from windrow.papers.window_indexes.ring_window import RingWindow
from windrow.papers.window_indexes.value_index import l_index

BASE = Sizes()
DOUBLED = {
    "D": replace(BASE, values=2 * BASE.values),
    "b": replace(BASE, basic_windows=BASE.basic_windows // 2),
    "N": replace(BASE, tuples=2 * BASE.tuples, basic_windows=2 * BASE.basic_windows),
}
BACKWARD = ("BW", "DB")
WITH_AUXILIARY = ("AUX", *BACKWARD)
PARTS = ("locate", "link", "unlink", "ends", "attach", "expire")


def total(steps: dict[str, float]) -> float:
    return sum(steps[p] for p in PARTS)


@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("changed", ["nothing", *DOUBLED])
def test_the_sums_of_section_5_bound_what_is_counted(ring, changed):
    sizes = DOUBLED.get(changed, BASE)
    steps = count_ring(ring, "L-INDEX", sizes, evenly(sizes))
    assert {p: steps[p] for p in PARTS} == pytest.approx(ring_average(ring, sizes), rel=0.05)
    assert total(steps) <= ring_bound(ring, sizes)


@pytest.mark.parametrize("ring", RINGS)
def test_the_sums_of_section_5_bound_skewed_values_where_rings_are_of_different_length(ring):
    # N/D is then not what a tuple of a frequent value meets, so each tuple counts its own ring.
    values = by_power_law(BASE)
    steps = count_ring(ring, "L-INDEX", BASE, values)
    shares = np.bincount(values[: BASE.tuples], minlength=BASE.values) / BASE.tuples
    met = BASE.tuples * float((shares**2).sum())  # the ring of a tuple, averaged over tuples
    longest = {"ring": 2 * met, "AUX": met, "BW": steps["attach"] * met, "DB": 0}[ring]
    assert steps["link"] + steps["unlink"] <= 2 + 1.1 * longest


@pytest.mark.parametrize("changed", DOUBLED)
def test_deletion_grows_as_section_5_says_when_a_size_is_doubled(changed):
    sizes = DOUBLED[changed]
    share = (sizes.d / sizes.b) / (BASE.d / BASE.b)
    longer = sizes.ring / BASE.ring
    expected = {"ring": longer, "AUX": longer, "BW": share * longer}
    for ring, growth in expected.items():
        before = count_ring(ring, "L-INDEX", BASE, evenly(BASE))["unlink"]
        after = count_ring(ring, "L-INDEX", sizes, evenly(sizes))["unlink"]
        assert after / before == pytest.approx(growth, rel=0.05), ring


@pytest.mark.parametrize("changed", ["nothing", *DOUBLED])
def test_deletion_by_dirty_bits_costs_one_step_per_tuple_whatever_the_sizes(changed):
    sizes = DOUBLED.get(changed, BASE)
    steps = count_ring("DB", "L-INDEX", sizes, evenly(sizes))
    assert steps["unlink"] == 0
    assert steps["expire"] == 1


@pytest.mark.parametrize("changed", ["nothing", *DOUBLED])
def test_aux_bw_and_db_insert_at_the_same_cost_and_delete_in_that_order(changed):
    sizes = DOUBLED.get(changed, BASE)
    steps = {ring: count_ring(ring, "L-INDEX", sizes, evenly(sizes)) for ring in WITH_AUXILIARY}
    inserted = {tuple(s[p] for p in ("locate", "link", "ends", "attach")) for s in steps.values()}
    assert len(inserted) == 1
    assert steps["AUX"]["unlink"] > steps["BW"]["unlink"] > steps["DB"]["unlink"]


@pytest.mark.parametrize("ring", WITH_AUXILIARY)
@pytest.mark.parametrize("changed", ["nothing", *DOUBLED])
def test_linking_takes_a_step_per_value_of_a_basic_window_where_the_paper_follows_the_ring(
    ring, changed
):
    sizes = DOUBLED.get(changed, BASE)
    steps = count_ring(ring, "L-INDEX", sizes, evenly(sizes))
    share = sizes.d / sizes.b
    assert steps["link"] == steps["ends"] == steps["attach"]
    assert steps["link"] == pytest.approx(share, rel=0.02)
    assert steps["link"] < share * sizes.ring / 10


def test_the_plain_ring_links_by_following_its_ring_and_scans_the_index_at_every_turn():
    for sizes in (BASE, *DOUBLED.values()):
        steps = count_ring("ring", "L-INDEX", sizes, evenly(sizes))
        assert steps["link"] == pytest.approx(sizes.ring, rel=0.05)
        assert steps["ends"] == pytest.approx(1 + sizes.values / sizes.b, rel=0.01)


@pytest.mark.parametrize("ring", RINGS)
def test_the_share_of_a_ring_in_the_cost_is_the_same_on_every_index(ring):
    values = evenly(BASE)
    steps = {index: count_ring(ring, index, BASE, values) for index in INDEXES}
    shares = {tuple(s[p] for p in PARTS if p != "locate") for s in steps.values()}
    assert len(shares) == 1
    if ring == "ring":
        found = [s["locate"] for s in steps.values()]
        assert found == pytest.approx([SEARCH_AVERAGE[i](BASE) for i in INDEXES], rel=0.05)


@pytest.mark.parametrize("ring", BACKWARD)
def test_repeated_values_make_deletion_cheaper_for_backward_rings(ring):
    few, many = Sizes(values=100), Sizes(values=5_000)
    deleted = []
    for sizes in (few, many):
        steps = {r: count_ring(r, "T-INDEX", sizes, evenly(sizes)) for r in ("AUX", ring)}
        cost = {r: s["unlink"] + s["expire"] for r, s in steps.items()}
        deleted.append(cost["AUX"] / cost[ring])
    assert deleted[0] > 3 * deleted[1] > 0


def test_a_dirty_bit_index_holds_links_for_the_window_and_what_is_filling_only():
    # The paper keeps up to D expired tuples besides.
    ring = DirtyBitRing(l_index())
    window = RingWindow(CountBased(10, 100), ring)
    for start in range(0, 20_000, 150):
        window.append(np.arange(start, start + 150) % 300)
        assert len(ring._nodes) == len(ring._backward.links) == window.next - window.base
        assert window.next - window.base <= 1_100
