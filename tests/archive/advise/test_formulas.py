"""The model runs the schemes; here are the formulas that it must agree with.

X = W/n days are in a constituent, c = (W - 1)/(n - 1) in one of a lazy scheme, where those are
whole numbers. The parameters are primes, so that no two formulas agree by accident.
"""

from __future__ import annotations

import pytest

from windrow.archive.advise.parameters import Parameters, UpdateTechnique
from windrow.archive.advise.wave_costs import measures

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
IN_PLACE, SIMPLE, PACKED = UpdateTechnique
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
    spaces = [measures("DEL", technique, window, n, P) for technique in UpdateTechnique]
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
    for technique in UpdateTechnique:
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


@pytest.mark.parametrize(("window", "n"), LAZY)
def test_rata_packed_merges_the_constituent_that_grows_and_each_replacement(window, n):
    c = (window - 1) // (n - 1)
    transition = P.build + (c * (c + 1) / 2 - 1) / c * P.smart_copy
    prepared = (c - 1) * P.build + ((c - 1) ** 2 - 1) * P.smart_copy
    assert run("RATA", PACKED, window, n) == (
        pytest.approx(transition),
        pytest.approx(prepared / c),
    )


def days_held(scheme, technique, window, n):
    """Space in days: between steps on average and at most, and in steps on average."""
    days = Parameters(**{**vars(P), "packed": 1, "unpacked": 1})
    found = measures(scheme, technique, window, n, days)
    return found.space.average, found.space.most, found.transition_space.average


@pytest.mark.parametrize("technique", UpdateTechnique)
@pytest.mark.parametrize(("window", "n"), EVEN)
def test_reindexing_holds_its_temporaries_beside_the_window(technique, window, n):
    x = window // n
    average, most, _ = days_held("REINDEX+", technique, window, n)
    assert (average, most) == (pytest.approx(window + (x - 1) / 2), window + x - 1)
    # After i days of a cluster: what is left of its ladder, and i rungs of the next one's.
    ladders = [
        sum(k + i for k in range(x - i)) + sum(range(1, min(i, x - 1) + 1)) for i in range(1, x + 1)
    ]
    average, most, _ = days_held("REINDEX++", technique, window, n)
    assert (average, most) == (pytest.approx(window + sum(ladders) / x), window + max(ladders))


@pytest.mark.parametrize("technique", UpdateTechnique)
@pytest.mark.parametrize(("window", "n"), LAZY)
def test_rata_holds_a_third_of_c_squared_days_beside_the_window(technique, window, n):
    c = (window - 1) // (n - 1)
    average, most, _ = days_held("RATA", technique, window, n)
    assert (average, most) == (pytest.approx(window + (c * c - 1) / 3), window + c * (c - 1) / 2)


@pytest.mark.parametrize(("window", "n"), LAZY)
def test_wata_holds_the_soft_window_and_in_a_step_what_it_replaces(window, n):
    c = (window - 1) // (n - 1)
    first = window + c - 1  # all days of the oldest constituent, about to be thrown away
    later = range(2, c + 1)  # the constituent that grows gets its j-th day
    steps = {
        IN_PLACE: [window + j - 1 for j in later],
        SIMPLE: [window + 2 * (j - 1) for j in later],
        PACKED: [window + 2 * j - 1 for j in later],
    }
    for technique, peaks in steps.items():
        average, most, peak = days_held("WATA", technique, window, n)
        assert (average, most) == (pytest.approx(window + (c - 1) / 2), first)
        assert peak == pytest.approx((first + sum(peaks)) / c)


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
