"""A rehearsal against the archive itself: the same runs and versions, day by day; and prices."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from statistics import fmean

import pyarrow as pa
import pytest

from windrow.archive.advise.advise import ALIKE, Workload, choose
from windrow.archive.advise.advise import _parameters as paper_parameters
from windrow.archive.advise.parameters import Parameters, UpdateTechnique
from windrow.archive.advise.recommend import Constraints, constituent_counts
from windrow.archive.advise.rehearse import Line, Prices, price_days, rehearse
from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk
from windrow.archive.wave.schemes import SCHEMES
from windrow.archive.wave.wave import TECHNIQUES, Settings

WINDOW, ROWS = 5, 12
PAIRS = list(itertools.product(SCHEMES, TECHNIQUES))
DATA = pa.table({"key": [i % 3 for i in range(ROWS)], "value": list(range(ROWS))})


class NotingDisk(Disk):
    """Notes the runs that are written, and the versions that are published."""

    def __init__(self, root):
        super().__init__(root)
        self.runs, self.versions = 0, []

    def write(self, name, fill):
        self.runs += name.endswith(".arrow")
        return super().write(name, fill)

    def link(self, name, new):
        self.versions.append(self.runs)
        super().link(name, new)


@pytest.mark.parametrize(("scheme", "technique"), PAIRS)
@pytest.mark.parametrize("n", [2, 3])
def test_the_archive_does_what_was_rehearsed(tmp_path, scheme, technique, n):
    disk = NotingDisk(tmp_path)
    archive = Archive.create(
        disk, DATA.schema, "key", window=WINDOW, scheme=scheme, n=n, technique=technique
    )
    archive.append_days(dict.fromkeys(range(1, WINDOW + 1), DATA), now=WINDOW)
    days = rehearse(Settings(WINDOW, scheme, n, technique), 1)
    for day in range(WINDOW + 1, 3 * WINDOW + 1):
        disk.runs, disk.versions = 0, []
        archive.append(day, DATA, now=day)
        if day <= 2 * WINDOW:
            continue
        expected = days[day - 2 * WINDOW - 1]
        first = 1 + expected.transition.merges + expected.transition.copies
        after = expected.after.merges + expected.after.copies
        assert disk.versions[0] == first
        assert disk.runs == first + after
        assert len(disk.versions) == expected.transition.versions + expected.after.versions
        stored = archive._versions.read(max(archive._versions.numbers())).runs
        assert len(stored) == expected.held.runs
        assert sum(run.rows for run in stored) == expected.held.days * ROWS
        with archive.reader() as reader:
            assert len(reader.sources()) == expected.probed
            newest = reader.sources(day, day)
        sieved = sum(run.rows for run, found in newest if len(found) < len(run.days))
        assert sieved == expected.scanned.sieved * ROWS
        assert len(newest) == expected.scanned.runs
        assert expected.scanned.wanted == 1


PRICES = Prices(
    publish=1.0,
    write=10.0,
    merge=Line(2.0, 5.0),
    copy=Line(1.0, 3.0),
    probe=0.01,
    search=0.1,
    scan=Line(0.5, 2.0),
    sieve=4.0,
    consume=7.0,
    space=Line(3.0, 100.0),
)
OF = Parameters(
    seek=0.1, transfer=50, packed=100, unpacked=100, bucket=0, build=11, add=16, delete=1, copy=4,
    smart_copy=7, probes=10, scans=1,
)  # fmt: skip


def test_what_is_rehearsed_is_added_up_at_its_price():
    """DEL, n = 1, packed: each day is written, then merged with the four that stay."""
    found = price_days(rehearse(Settings(5, "DEL", 1, "packed shadow")), PRICES, probes=10, scans=1)
    assert found.transition.average == found.transition.most == 10 + 1 + 2 + 5 * 5
    assert found.pre_transition.average == 0
    assert found.probe == pytest.approx(0.01 + 0.1)
    assert found.scan == pytest.approx(0.5 + 5 * 2 + 5 * 7)
    assert found.work == pytest.approx(38 + 10 * 0.11 + 45.5)
    assert found.space.average == 503
    assert found.transition_space.average == 503 + 103 + 503  # the old, the day, the new


def test_every_layout_is_in_the_list_once_and_the_least_work_first():
    found = choose(7, PRICES, OF, Constraints())
    assert len({(one.scheme, one.technique) for one in found}) == len(found) == len(PAIRS)
    works = [one.measures.work for one in found]
    assert works[0] <= (1 + ALIKE) * min(works)
    for earlier, later in itertools.pairwise(works):
        assert earlier <= (1 + ALIKE) * later
    assert found[0].reasons[1].startswith(found[0].technique)


def test_dear_probes_want_one_constituent_and_dear_merges_as_many_as_there_are_days():
    probed = choose(7, PRICES, replace(OF, probes=10_000), Constraints())
    assert (probed[0].n, probed[0].measures.probe) == (1, pytest.approx(0.11))
    unasked = choose(7, replace(PRICES, merge=Line(50, 50)), replace(OF, probes=0), Constraints())
    days = rehearse(Settings(7, unasked[0].scheme, unasked[0].n, unasked[0].technique))
    assert fmean(day.transition.merges + day.after.merges for day in days) == 0


def test_constraints_leave_out_what_does_not_meet_them():
    hard = choose(7, PRICES, OF, Constraints(hard=True))
    assert {one.scheme for one in hard} == set(SCHEMES) - {"WATA"}
    packed = choose(7, PRICES, OF, Constraints(techniques=(UpdateTechnique.PACKED_SHADOW,)))
    assert {one.technique for one in packed} == {"packed shadow"}
    quick = choose(7, PRICES, OF, Constraints(transition=11.0))
    assert quick
    assert all(one.measures.transition.most <= 11 for one in quick)


DISK = Prices(
    publish=0.0019, write=0.0123, merge=Line(0.0003, 0.0069), copy=Line(0.0014, 0.0045),
    probe=2.6e-6, search=4.2e-6, scan=Line(2.9e-5, 6.3e-6), sieve=2.6e-4, consume=0.0002,
    space=Line(0.1, 2.15),
)  # fmt: skip
ASKED = [(0, 10, None), (10_000, 0, None), (100, 1_000, 1), (0, 10_000, 1), (1_000, 1_000, 7)]


rehearse_once = cache(rehearse)
"""What happens to a layout does not depend on how often it is asked for."""


@pytest.mark.parametrize(("probes", "scans", "scan_days"), ASKED)
def test_of_a_long_window_some_layouts_are_rehearsed_and_the_best_is_among_them(
    probes, scans, scan_days, monkeypatch
):
    """As measured on LINEITEM; scans of the newest day want it to lie by itself."""
    workload = Workload(12, 50_000, probes, scans, scan_days)
    of, seen = paper_parameters(DISK, workload), []
    monkeypatch.setattr("windrow.archive.advise.advise.rehearse", rehearse_once)
    every = choose(12, DISK, of, Constraints(), scan_days)
    monkeypatch.setattr("windrow.archive.advise.advise.LONG", 11)
    monkeypatch.setattr(
        "windrow.archive.advise.advise.rehearse",
        lambda settings, *of: seen.append(settings) or rehearse_once(settings, *of),
    )
    told = []
    some = choose(12, DISK, of, Constraints(), scan_days, lambda *of: told.append(of))
    assert least(some) <= 1.01 * least(every)
    assert told == [((one.scheme, one.technique, one.n), k) for k, one in enumerate(seen)]
    assert 2 <= len(some) <= len(every)
    best = {(one.scheme, one.technique): one.measures.work for one in every}
    for one in some[:5]:
        assert one.measures.work <= 1.1 * best[one.scheme, one.technique]
    assert len(set(seen)) == len(seen) < 0.75 * len(PAIRS) * len(constituent_counts(12))


def test_of_a_long_window_what_meets_the_limits_is_found_wherever_it_lies(monkeypatch):
    limits = Constraints(transition=0.0123 + 0.0019 + 0.001)
    of = paper_parameters(DISK, Workload(12, 50_000, 100_000, 1))
    every = choose(12, DISK, of, limits)
    monkeypatch.setattr("windrow.archive.advise.advise.LONG", 11)
    some = choose(12, DISK, of, limits)
    assert least(some) <= 1.01 * least(every)
    assert all(one.measures.transition.most <= limits.transition for one in some)


def least(choices):
    return min(one.measures.work for one in choices)
