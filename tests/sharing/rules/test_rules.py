"""SS1 to SS4 and CS1 to CS8, each on what the text says of it (Golab 2006, 8.3 and 8.4.3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sharing.rules.queries import OF_U, SIX, TCP, UDP, access, query, shape
from windrow.core.errors import WindrowError
from windrow.sharing.rules import Function, SynopsisKind, output_leaders
from windrow.sharing.rules.cs1_equal_windows import share_probe
from windrow.sharing.rules.cs2_one_scan import share_scan
from windrow.sharing.rules.cs3_quotients import share_quotient
from windrow.sharing.rules.cs4_equal_join_windows import share_join_probe
from windrow.sharing.rules.cs5_one_join_scan import share_join_scan
from windrow.sharing.rules.cs6_saved_answers import reuse_answers
from windrow.sharing.rules.cs7_saved_prefixes import reuse_prefixes
from windrow.sharing.rules.cs8_output_streams import shares_output
from windrow.sharing.rules.ss1_window_lengths import serves_window
from windrow.sharing.rules.ss2_averages import serves_average
from windrow.sharing.rules.ss3_joins import serves_join
from windrow.sharing.rules.ss4_predicates import find_relevant

RUNNING, INTERVAL, BASIC = SynopsisKind.RUNNING, SynopsisKind.INTERVAL, SynopsisKind.BASIC
RJ, IJ, BIJ = SynopsisKind.RJ, SynopsisKind.IJ, SynopsisKind.BIJ


def test_ss1_a_synopsis_serves_every_window_up_to_b() -> None:
    most = shape(BASIC, query("q"), b=8, s=2)
    assert [n for n in range(1, 20) if serves_window(most, query("q", window=n, slide=2))] == [
        2, 4, 6, 8, 10, 12, 14, 16,
    ]  # fmt: skip
    assert not serves_window(most, query("q", window=4, slide=3))


def test_ss1_aggregates_that_need_the_same_data_share_counters() -> None:
    counters = shape(INTERVAL, query("q", Function.TOP), b=8)
    assert serves_window(counters, query("q", Function.COUNT_DISTINCT, 8))
    assert serves_window(counters, query("q", Function.QUANTILE, 8))
    assert not serves_window(counters, query("q", Function.MAX, 8))
    assert not serves_window(counters, query("q", Function.TOP, 8, argument="src"))
    assert not serves_window(counters, query("q", Function.TOP, 8, where=TCP))
    assert not serves_window(counters, replace(query("q", Function.TOP, 8), group_by=("src",)))


def test_ss2_an_average_needs_sums_and_counts_that_are_updated_together() -> None:
    mean = query("q", Function.AVG, window=12, slide=6)
    sums, counts = (shape(RUNNING, mean, b=8, s=2, needed=i) for i in (0, 1))
    assert serves_average(sums, counts, mean)
    assert not serves_average(counts, sums, mean)
    assert not serves_average(sums, replace(counts, s=3), mean)
    assert not serves_average(sums, replace(counts, b=5), mean)
    assert not serves_average(sums, counts, query("q", Function.SUM, window=12, slide=6))


def test_ss3_windows_of_a_join_are_equal_or_among_the_g_oldest() -> None:
    eight = shape(BIJ, query("q", Function.COUNT, (8, 8)), b=8, g=2)
    served = {
        (n1, n2)
        for n1 in range(1, 11)
        for n2 in range(1, 11)
        if serves_join(eight, query("q", Function.COUNT, (n1, n2)))
    }
    assert served == {(n, n) for n in range(1, 9)} | {
        (6, 7), (6, 8), (7, 6), (7, 8), (8, 6), (8, 7),
    }  # fmt: skip
    assert not serves_window(eight, query("q", Function.COUNT, 8))
    assert not serves_join(replace(eight, g=0), query("q", Function.COUNT, (7, 8)))


def test_ss4_finds_the_relevant_synopses_of_the_six_queries() -> None:
    q1, q2, q3, q4, q5, q6 = SIX
    sums = [shape(RUNNING, q, b=10) for q in (q1, q2, q3)]
    maxima = [shape(BASIC, q, b=10) for q in (q4, q5)]
    known = [*sums[:2], *maxima]
    added = find_relevant(q3.needs[0], q3, known)
    assert added is not None
    assert (added.added, added.subtracted) == ((sums[0], sums[1]), ())
    less = find_relevant(q1.needs[0], q1, [sums[2], sums[1], *maxima])
    assert less is not None
    assert (less.added, less.subtracted) == ((sums[2],), (sums[1],))
    greatest = find_relevant(q6.needs[0], q6, known)
    assert greatest is not None
    assert greatest.added == tuple(maxima)


def test_ss4_takes_no_overlapping_cover_where_tuples_are_counted() -> None:
    either = query("q", Function.SUM, where=TCP.or_also(OF_U))
    parts = [shape(RUNNING, query("q", Function.SUM, where=p), b=10) for p in (TCP, OF_U)]
    assert find_relevant(either.needs[0], either, parts) is None
    counters = query("q", Function.TOP, where=TCP.or_also(OF_U))
    parts = [shape(BASIC, query("q", Function.TOP, where=p), b=10) for p in (TCP, OF_U)]
    assert find_relevant(counters.needs[0], counters, parts) is None


def test_ss4_subtracts_only_what_can_be_subtracted() -> None:
    least = query("q", Function.MIN, where=TCP)
    known = [shape(BASIC, query("q", Function.MIN, where=p), b=10) for p in (TCP.or_also(UDP), UDP)]
    assert find_relevant(least.needs[0], least, known) is None


def test_ss4_wants_one_s_and_windows_that_are_long_enough() -> None:
    q1, q2, q3, *_ = SIX
    tcp, udp = (shape(RUNNING, q, b=10) for q in (q1, q2))
    assert find_relevant(q3.needs[0], q3, [tcp, replace(udp, b=9)]) is None
    later = replace(q3, slide=2)
    assert find_relevant(q3.needs[0], later, [tcp, replace(udp, s=2)]) is None
    assert find_relevant(q3.needs[0], later, [tcp, udp]) is not None


@pytest.mark.parametrize("kind", [RUNNING, INTERVAL])
def test_cs1_equal_windows_share_a_probe(kind: SynopsisKind) -> None:
    synopsis = shape(kind, query("q", Function.SUM), b=16)
    ten, other, five = (
        access(query(name, Function.SUM, n), synopsis)
        for name, n in (("a", 10), ("b", 10), ("c", 5))
    )
    assert share_probe(ten, other)
    assert not share_probe(ten, five)


def test_cs2_all_queries_of_a_basic_interval_synopsis_share_a_scan() -> None:
    synopsis = shape(BASIC, query("q"), b=16)
    ten, five = (access(query(name, window=n), synopsis) for name, n in (("a", 10), ("b", 5)))
    assert share_scan(ten, five)
    assert not share_probe(ten, five)
    elsewhere = access(query("c", window=10, where=TCP), shape(BASIC, query("c", where=TCP), b=16))
    assert not share_scan(ten, elsewhere)


def test_cs3_sum_count_and_average_of_one_window() -> None:
    total, count, mean = (
        query(f.value, f, window=12) for f in (Function.SUM, Function.COUNT, Function.AVG)
    )
    sums, counts = shape(RUNNING, total, b=16), shape(RUNNING, count, b=16)
    divided = access(mean, sums, counts)
    assert share_quotient(divided, access(total, sums))
    assert share_quotient(access(count, counts), divided)
    assert not share_quotient(access(total, sums), access(count, counts))
    assert not share_quotient(divided, access(replace(total, windows=(6,)), sums))


@pytest.mark.parametrize("kind", [RJ, IJ])
def test_cs4_equal_windows_of_a_join_share_a_probe(kind: SynopsisKind) -> None:
    synopsis = shape(kind, query("q", Function.COUNT, (8, 8)), b=8, g=2)
    one, same, turned = (
        access(query(name, Function.COUNT, windows), synopsis)
        for name, windows in (("a", (7, 8)), ("b", (7, 8)), ("c", (8, 7)))
    )
    assert share_join_probe(one, same)
    assert not share_join_probe(one, turned)


def test_cs5_all_queries_of_a_bij_synopsis_share_a_scan() -> None:
    synopsis = shape(BIJ, query("q", Function.COUNT, (8, 8)), b=8, g=2)
    one, turned = (
        access(query(name, Function.COUNT, windows), synopsis)
        for name, windows in (("a", (7, 8)), ("c", (8, 7)))
    )
    assert share_join_scan(one, turned)
    assert not share_scan(one, turned)


def test_cs6_a_combined_query_runs_after_candidates_of_the_same_window() -> None:
    q1, q2, q3, *_ = SIX
    tcp, udp = (shape(RUNNING, q, b=10) for q in (q1, q2))
    combined = access(q3, tcp, udp)
    assert reuse_answers(combined, access(q1, tcp))
    assert reuse_answers(access(q2, udp), combined)
    assert not reuse_answers(combined, access(replace(q1, windows=(5,)), tcp))
    assert not reuse_answers(access(q1, tcp), access(q2, udp))


def test_cs7_a_combined_query_runs_with_candidates_of_any_window() -> None:
    *_, q4, q5, q6 = SIX
    tcp, user = (shape(BASIC, q, b=10) for q in (q4, q5))
    shorter = access(replace(q6, windows=(8,)), tcp, user)
    assert reuse_prefixes(shorter, access(q4, tcp))
    assert reuse_prefixes(access(q5, user), shorter)
    assert not reuse_prefixes(access(q4, tcp), access(q4, tcp))


def test_cs8_an_equal_query_with_a_longer_period_shares_the_output() -> None:
    often, rare = query("often", slide=2), query("rare", slide=5)
    assert shares_output(rare, often)
    assert not shares_output(often, rare)
    assert not shares_output(rare, replace(often, windows=(11,)))
    assert not shares_output(rare, replace(often, predicate=TCP))
    assert output_leaders([rare, often, query("rarest", slide=7)]) == {
        "rare": "often",
        "rarest": "often",
    }
    assert output_leaders([rare, query("rarest", slide=7)]) == {"rarest": "rare"}


def test_counters_are_in_no_running_synopsis() -> None:
    with pytest.raises(WindrowError, match="which can be subtracted"):
        shape(RUNNING, query("q", Function.TOP), b=8)
    with pytest.raises(WindrowError, match="0 <= g < b"):
        shape(BIJ, query("q", Function.COUNT, (8, 8)), b=8, g=8)
