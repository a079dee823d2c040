"""The benchmark of schedules: probes answer as numpy does, and a run counts what it executes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks.scheduling import TECHNIQUES, run, shapes_of
from benchmarks.scheduling_workload import GROUPS, INTERVALS, PLACES, Sources, Traffic, Workload
from windrow.sharing.rules import Function

TRAFFIC = Traffic(200, seed=1)


def test_a_joint_execution_answers_as_numpy_does():
    workload = Workload(TRAFFIC, per_group=4, seed=2)
    for place, (group, counters) in enumerate(zip(GROUPS, workload.synopses(), strict=True)):
        asked = [q for q in workload.queries if PLACES[q.aggregates[0].argument] == place]
        asked.sort(key=lambda query: query.window)
        joint, alone = counters.execute(asked), [counters.execute([q])[0] for q in asked]
        assert repr(joint) == repr(alone), group
        for query, answer in zip(asked, joint, strict=True):
            totals = Counter()
            for second in TRAFFIC.seconds[INTERVALS - query.window : INTERVALS]:
                totals.update(dict(zip(*(a.tolist() for a in second[place]), strict=True)))
            (aggregate,) = query.aggregates
            if aggregate.function is Function.TOP:
                best, values = answer
                k = int(aggregate.parameter)
                assert best.tolist() == sorted(totals.values(), reverse=True)[:k]
                assert [totals[v] for v in values.tolist()] == best.tolist()
            else:
                ranked = sorted(totals.values())
                place_of = min(len(ranked) - 1, int(aggregate.parameter * len(ranked)))
                assert answer == ranked[place_of]


def test_one_time_queries_are_answered_from_running_sums():
    sources = Sources(TRAFFIC.domain(("source",)))
    for second in TRAFFIC.seconds[:110]:
        sources.append(*second[0])
    expected = np.zeros(TRAFFIC.domain(("source",)), np.int64)
    for second in TRAFFIC.seconds[80:110]:
        expected[second[0][0]] += second[0][1]
    assert [sources.usage(i, 30) for i in range(50)] == expected[:50].tolist()


@pytest.mark.slow
def test_every_technique_executes_what_is_due_if_there_is_time():
    workload = Workload(TRAFFIC, per_group=5, seed=3)
    results = {}
    for technique in TECHNIQUES:
        measured = run(workload, technique, seconds=40, factor=1e-6)
        due = sum(39 // query.slide for query in workload.queries)
        assert measured.throughput * 40 >= due
        assert measured.latency == 0
        results[technique] = {40: measured, 80: measured}
    assert results["No-S"][40].tasks == results["CS"][40].tasks >= results["HS"][40].tasks >= 8
    assert results["AS"][40].tasks == 8
    assert not shapes_of({1500: results, 3000: results})["8.9: H-LP more than doubles HS"]
