"""The model runs the schemes; here are the formulas that it must agree with.

X = W/n days are in a constituent, c = (W - 1)/(n - 1) in one of a lazy scheme, where those are
whole numbers. The parameters are primes, so that no two formulas agree by accident.
"""

from __future__ import annotations

import pytest

from windrow.archive.costs.model import measures
from windrow.archive.costs.parameters import Parameters, Technique

P = Parameters(
    seek=2,
    transfer=3,
    packed=101,
    unpacked=149,
    bucket=5,
    build=1_009,
    add=10_007,
    delete=100_003,
    copy=17,
    smart_copy=13,
    probes=19,
    scans=23,
)
IN_PLACE, SIMPLE, PACKED = Technique
EVEN = [(6, 2), (12, 3), (10, 5), (9, 3)]
LAZY = [(7, 3), (10, 4), (13, 4), (11, 3)]


def run(scheme, technique, window, n):
    found = measures(scheme, technique, window, n, P)
    return found.transition.average, found.pre_transition.average


@pytest.mark.parametrize(("window", "n"), [*EVEN, (5, 1), (4, 4)])
def test_del(window, n):
    x = window // n
    assert run("DEL", IN_PLACE, window, n) == (P.add + P.delete, 0)
    assert run("DEL", SIMPLE, window, n) == (P.add, P.delete + x * P.copy)
    assert run("DEL", PACKED, window, n) == (P.build + x * P.smart_copy, 0)
    spaces = [measures("DEL", technique, window, n, P) for technique in Technique]
    assert [found.space.most for found in spaces] == [
        window * P.unpacked,
        window * P.unpacked,
        window * P.packed,
    ]
    assert [found.transition_space.most for found in spaces] == [
        window * P.unpacked,
        (window + x) * P.unpacked,
        (window + x + 1) * P.packed,
    ]


@pytest.mark.parametrize(("window", "n"), [*EVEN, (5, 1), (4, 4)])
def test_reindex_is_the_same_under_every_technique(window, n):
    x = window // n
    for technique in Technique:
        assert run("REINDEX", technique, window, n) == (x * P.build, 0)
        found = measures("REINDEX", technique, window, n, P)
        assert found.space.most == window * P.packed
        assert found.transition_space.most == (window + x) * P.packed


@pytest.mark.parametrize(("window", "n"), EVEN)
def test_reindex_plus_indexes_half_of_what_reindex_does(window, n):
    x = window // n
    added = (x + 1) / 2 * P.add + (x - 1) / 2 * P.copy
    for technique in (IN_PLACE, SIMPLE):
        assert run("REINDEX+", technique, window, n) == (pytest.approx(added), 0)
    merged = (x + 1) / 2 * P.build + ((x + 1) / 2 + x - 1) * P.smart_copy
    assert run("REINDEX+", PACKED, window, n) == (pytest.approx(merged), 0)


@pytest.mark.parametrize(("window", "n"), EVEN)
def test_reindex_plus_plus_waits_for_one_day_and_prepares_the_rest(window, n):
    x = window // n
    ladder = P.build
    if x > 2:
        copies = P.smart_copy + sum(range(2, x - 1)) * P.copy
        ladder += (x - 2) * P.add + copies
    prepared = (x - 1) / 2 * P.add + ladder / x
    for technique in (IN_PLACE, SIMPLE):
        assert run("REINDEX++", technique, window, n) == (P.add, pytest.approx(prepared))
    transition, pre = run("REINDEX++", PACKED, window, n)
    assert transition == P.build + x * P.smart_copy
    rungs = sum(range(2, x)) * P.smart_copy + (x - 1) * P.build
    taken = sum((x - 1 - i) * P.build + sum(range(i + 1, x)) * P.smart_copy for i in range(x))
    assert pre == pytest.approx((rungs + taken) / x)


@pytest.mark.parametrize(("window", "n"), LAZY)
def test_wata_adds_a_day_and_copies_the_constituent_that_grows(window, n):
    c = (window - 1) // (n - 1)
    assert run("WATA", IN_PLACE, window, n) == (P.add, 0)
    assert run("WATA", SIMPLE, window, n) == (P.add, pytest.approx((c - 1) / 2 * P.copy))
    packed = P.build + (c + 1) / 2 * P.smart_copy
    assert run("WATA", PACKED, window, n) == (pytest.approx(packed), 0)
    found = measures("WATA", IN_PLACE, window, n, P)
    assert found.space.average == pytest.approx((window + (c - 1) / 2) * P.unpacked)
    assert found.space.most == (window + c - 1) * P.unpacked


@pytest.mark.parametrize(("window", "n"), LAZY)
def test_rata_does_what_wata_does_and_prepares_a_day(window, n):
    c = (window - 1) // (n - 1)
    transition = ((c - 1) * P.add + P.build) / c
    prepared = P.build + (c - 2) * P.add
    if c > 2:
        prepared += P.smart_copy + sum(range(2, c - 1)) * P.copy
    assert run("RATA", IN_PLACE, window, n) == (
        pytest.approx(transition),
        pytest.approx(prepared / c),
    )
    shadows = P.smart_copy + sum(range(2, c)) * P.copy
    assert run("RATA", SIMPLE, window, n) == (
        pytest.approx(transition),
        pytest.approx((prepared + shadows) / c),
    )


@pytest.mark.parametrize(("window", "n"), EVEN)
def test_queries_cost_a_seek_per_constituent_and_what_they_read(window, n):
    found = measures("DEL", SIMPLE, window, n, P)
    assert found.probe == pytest.approx(n * P.seek + window * P.bucket / P.transfer)
    assert found.scan == pytest.approx(n * P.seek + window * P.unpacked / P.transfer)
    assert found.work == pytest.approx(
        found.transition.average
        + found.pre_transition.average
        + P.probes * found.probe
        + P.scans * found.scan
    )
    packed = measures("DEL", PACKED, window, n, P)
    assert packed.scan == pytest.approx(n * P.seek + window * P.packed / P.transfer)


def test_each_run_of_an_index_that_is_not_packed_is_a_seek():
    in_runs = Parameters(**{**vars(P), "runs": 0.5})
    unpacked, packed = (measures("DEL", t, 12, 3, in_runs) for t in (SIMPLE, PACKED))
    assert unpacked.probe == pytest.approx(3 * (1 + 0.5 * 4) * P.seek + 12 * P.bucket / P.transfer)
    assert packed.probe == pytest.approx(3 * P.seek + 12 * P.bucket / P.transfer)


def test_queries_of_some_constituents_read_their_share():
    some = Parameters(**{**vars(P), "probe_indexes": 2, "scan_indexes": 1})
    found = measures("REINDEX", SIMPLE, 12, 4, some)
    assert found.probe == pytest.approx(2 * P.seek + 6 * P.bucket / P.transfer)
    assert found.scan == pytest.approx(P.seek + 3 * P.packed / P.transfer)
    alone = measures("REINDEX", SIMPLE, 12, 1, some)
    assert alone.probe == pytest.approx(P.seek + 12 * P.bucket / P.transfer)
