"""The recommendations of the paper's section 5, and what constraints do to them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from windrow.archive.advise.advise import FormatCost, choose_format
from windrow.archive.advise.parameters import SCAM, TPC_D, WSE, Parameters, UpdateTechnique
from windrow.archive.advise.recommend import (
    Constraints,
    Measure,
    beats,
    constituent_counts,
    knee,
    recommend,
)

IN_PLACE, SIMPLE, PACKED = UpdateTechnique
ALL_FIGURES = (Measure.WORK, Measure.TRANSITION, Measure.SPACE)


def best(case, constraints):
    first = recommend(case.window, case.parameters, constraints)[0]
    return first.scheme, first.n, first.technique


def test_scam_takes_reindex_with_four_constituents():
    """From Figures 2, 3 and 4: work, transition time and space, with simple shadows."""
    constraints = Constraints(techniques=(SIMPLE,), minimise=ALL_FIGURES)
    assert best(SCAM, constraints) == ("REINDEX", 4, SIMPLE)


def test_a_web_search_engine_takes_del_with_one_constituent_and_packed_shadows():
    assert best(WSE, Constraints(techniques=(SIMPLE, PACKED))) == ("DEL", 1, PACKED)
    assert best(WSE, Constraints()) == ("DEL", 1, PACKED)


def test_tpc_d_takes_del_with_one_constituent_where_it_can_be_packed():
    assert best(TPC_D, Constraints()) == ("DEL", 1, PACKED)
    assert best(TPC_D, Constraints(hard=True)) == ("DEL", 1, PACKED)


@pytest.mark.parametrize("technique", [SIMPLE, IN_PLACE])
def test_tpc_d_takes_wata_with_ten_constituents_where_it_cannot_be_packed(technique):
    assert best(TPC_D, Constraints(techniques=(technique,))) == ("WATA", 10, technique)


@pytest.mark.parametrize("technique", [SIMPLE, IN_PLACE])
def test_tpc_d_takes_rata_with_ten_constituents_if_the_window_must_be_hard_too(technique):
    constraints = Constraints(techniques=(technique,), hard=True)
    assert best(TPC_D, constraints) == ("RATA", 10, technique)


def test_the_list_is_ranked_and_every_entry_says_why():
    found = recommend(SCAM.window, SCAM.parameters)
    assert len(found) == 18  # six schemes under three techniques
    assert min(each.excess for each in found) >= 0
    for first, second in pairwise(found):
        out_of_turn = [one for one in found if beats(one, second, (Measure.WORK,))]
        assert first.excess <= second.excess or out_of_turn
    for each in found:
        assert each.reasons[0].startswith(each.scheme)
        assert any(f"instead of {each.n}" in reason for reason in each.reasons)


@pytest.mark.parametrize("minimise", [(Measure.WORK,), ALL_FIGURES])
def test_nothing_stands_before_what_beats_it(minimise):
    parameters = replace(SCAM.parameters, build=1_500, probes=0)
    found = recommend(7, parameters, Constraints(minimise=minimise))
    for i, late in enumerate(found):
        assert not any(beats(late, early, minimise) for early in found[:i])


def test_a_scheme_that_leads_only_where_it_is_not_used_is_not_recommended():
    """Times like those of archives on a disk of today: a day built takes 13 ms, added 23."""
    today = Parameters(
        seek=0.00001,
        transfer=1_000,
        packed=0.8,
        unpacked=1.0,
        bucket=0.0001,
        build=0.0127,
        add=0.0233,
        delete=0,
        copy=0.0021,
        smart_copy=0.0087,
        probes=143,
        scans=10,
        scan_indexes=1,
    )
    found = recommend(7, today, Constraints(techniques=(IN_PLACE,)))
    leader = min(found, key=lambda each: each.excess)
    assert (leader.scheme, leader.n) == ("REINDEX", 3)  # at its best from n = 4 on
    assert any(beats(other, leader, (Measure.WORK,)) for other in found)
    assert found[0].measures.work < 0.9 * leader.measures.work


def test_what_does_not_meet_a_limit_is_not_recommended():
    free = recommend(SCAM.window, SCAM.parameters)[0].measures
    limits = Constraints(
        space=free.transition_space.most * 0.8,
        transition=free.transition.most,
        response=0.060,
    )
    found = recommend(SCAM.window, SCAM.parameters, limits)
    assert found
    for each in found:
        assert each.measures.transition_space.most <= limits.space
        assert each.measures.transition.most <= limits.transition
        assert each.measures.probe <= limits.response
        assert each.n <= 4  # a seek takes 14 ms
    assert recommend(SCAM.window, SCAM.parameters, Constraints(response=0.001)) == []


def test_where_there_are_no_probes_the_response_is_that_of_a_scan():
    found = recommend(TPC_D.window, TPC_D.parameters, Constraints(response=6_100))
    assert found
    assert all(each.measures.scan <= 6_100 for each in found)
    assert not any(each.scheme == "WATA" and each.n < 10 for each in found)


def test_soft_windows_are_not_recommended_where_hard_ones_are_required():
    schemes = {each.scheme for each in recommend(7, SCAM.parameters, Constraints(hard=True))}
    assert schemes == {"DEL", "REINDEX", "REINDEX+", "REINDEX++", "RATA"}


def test_what_costs_nothing_is_better_than_what_costs_something():
    free = replace(SCAM.parameters, add=0.0, probes=0, scans=0, copy=0.0)
    constraints = Constraints(techniques=(IN_PLACE,), minimise=(Measure.TRANSITION,))
    found = recommend(7, free, constraints)
    assert found[0].excess == 0
    assert {each.scheme: each.excess for each in found}["REINDEX"] == float("inf")


def test_a_window_of_one_day_has_an_answer():
    assert {each.n for each in recommend(1, SCAM.parameters)} == {1}


def test_every_number_up_to_ten_is_tried_and_the_window_itself():
    assert constituent_counts(7) == [1, 2, 3, 4, 5, 6, 7]
    assert constituent_counts(40) == [*range(1, 11), 15, 20, 30, 40]
    assert constituent_counts(365) == [*range(1, 11), 15, 20, 30, 50, 70, 100, 150, 200, 300, 365]


def test_a_flat_curve_takes_the_fewest_constituents():
    found = recommend(SCAM.window, SCAM.parameters, Constraints(techniques=(SIMPLE,)))
    flat = dict.fromkeys((3, 4, 5), found[0].measures)
    assert knee(flat, 7, (Measure.WORK,)) == 3


ARROW = FormatCost("arrow", probe=0.00005, scan=0.4, write=1.0, megabytes=230)
PARQUET = FormatCost("parquet", probe=0.007, scan=0.2, write=1.5, megabytes=100)


def test_many_probes_want_arrow_and_many_scans_parquet():
    assert choose_format(ARROW, PARQUET, probes=1_000, scans=1).chosen is ARROW
    few = choose_format(PARQUET, ARROW, probes=10, scans=100)
    assert (few.chosen, few.other) == (PARQUET, ARROW)
    assert (
        "10 probes and 100 scans a day take 21.6 s with parquet and 41 s with arrow" in few.reason
    )


def test_a_format_that_does_not_fit_gives_way_to_a_smaller_one():
    choice = choose_format(ARROW, PARQUET, probes=1_000, scans=1, most_megabytes=150)
    assert choice.chosen is PARQUET
    assert "arrow takes 230 MB of at most 150" in choice.reason
    roomy = choose_format(ARROW, PARQUET, probes=1_000, scans=1, most_megabytes=300)
    assert roomy.chosen is ARROW
