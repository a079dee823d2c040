"""The wave index benchmark at tiny sizes: right answers, a model that fits, figures."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import wave_paper
from benchmarks.cold_cache import evict, resident_share
from benchmarks.wave_days import CONTEXT, FIRST_DATE, Data, articles, lineitem
from benchmarks.wave_figures import CLOCK, FIGURES, PROCESSOR, draw
from benchmarks.wave_fit import fitted
from benchmarks.wave_measured import Measured, Setting, measured
from benchmarks.wave_rivals import measure_rival, rivals_of
from windrow.archive.advise.parameters import Parameters, UpdateTechnique
from windrow.archive.advise.wave_costs import measures
from windrow.archive.wave.schemes import SCHEMES

pytestmark = pytest.mark.slow

TINY = wave_paper.Sizes(
    articles=260,
    words=5,
    scale=0.01,
    dates=60,
    counts=(1, 2),
    windows=(4,),
    factors=(1,),
    grown=4,
    turns=2,
    figures=tuple(f for f in FIGURES if f.number in (2, 4, 6)),
)


def test_days_are_consecutive_ship_dates():
    data = lineitem(0.01, 3, 5)
    for day, rows in data.days.items():
        dates = rows.column("l_shipdate").to_pylist()
        assert min(dates).toordinal() - FIRST_DATE.toordinal() == (day - 1) * 5
        assert max(dates).toordinal() - FIRST_DATE.toordinal() == day * 5 - 1
        assert min(rows.column("l_extendedprice").to_pylist()) > 90_000  # hundredths


def test_words_follow_zipf_and_stand_once_in_an_article():
    data = articles(400, 50, 1)
    rows = data.records(1, 1)
    assert len(set(zip(*rows.select(["word", "article"]).to_pydict().values(), strict=True))) == (
        len(rows)
    )
    counts = sorted(Counter(rows.column("word").to_pylist()).values(), reverse=True)
    assert counts[0] > 5 * counts[50] > 0
    assert {len(text) for text in rows.column("context").to_pylist()} == {CONTEXT}
    assert 0.2 < len(data.shrunk(0.25).days[1]) / len(rows) < 0.3


def test_what_was_evicted_is_not_in_memory_though_it_is_mapped(tmp_path):
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.write(b"x" * 1_000_000)
        os.fsync(file.fileno())
    mapped = pa.memory_map(str(path)).read_buffer()
    assert max(mapped) == ord("x")
    assert resident_share(tmp_path) == 1
    evict(tmp_path)
    assert resident_share(tmp_path) == 0
    assert mapped[500_000] == ord("x")
    assert resident_share(tmp_path) > 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_archive_is_measured_and_its_answers_are_right(scheme):
    found = measured(articles(20, 10, 8), Setting(scheme, "simple shadow", 4, 2))
    assert min(vars(found).values()) >= 0
    assert found.written > 0
    assert found.transition_space > found.space > 0
    assert found.probe > found.cpu_probe > 0


def test_days_that_cost_the_same_are_measured_twice():
    assert Setting("REINDEX", "simple shadow", 6, 2).days() == 2
    assert Setting("REINDEX", "simple shadow", 6, 4).days() == 6
    assert Setting("DEL", "packed shadow", 6, 1).days() == 2
    assert Setting("DEL", "simple shadow", 6, 1).days() == 6
    assert Setting("RATA", "packed shadow", 6, 6).days() == 2


def test_a_wrong_answer_is_not_believed(monkeypatch):
    data = articles(20, 10, 8)
    other = articles(20, 11, 8)
    monkeypatch.setattr(Data, "records", lambda _, first, last: truth(other, first, last))
    with pytest.raises(AssertionError):
        measured(data, Setting("DEL", "in-place", 4, 2))
    for kind in rivals_of(data).values():
        with pytest.raises(AssertionError):
            measure_rival(kind, data, 4, 2, 1, 1)


truth = Data.records


def test_the_fit_finds_the_costs_that_times_were_made_of():
    made = Parameters(
        seek=0.002,
        transfer=50,
        packed=3,
        unpacked=4,
        bucket=0,
        build=0.11,
        add=0.23,
        delete=0.05,
        copy=0.03,
        smart_copy=0.02,
    )
    runs = {}
    for scheme in SCHEMES.values():
        for technique in UpdateTechnique:
            for n in (1, 2, 4, 8):
                if n >= scheme.fewest:
                    model = measures(scheme.name, technique, 8, n, made)
                    runs[Setting(scheme.name, technique.value, 8, n)] = Measured(
                        transition=model.transition.average + 0.5,
                        preparation=model.pre_transition.average,
                        probe=model.probe,
                        scan=model.scan,
                        cpu_transition=0,
                        cpu_preparation=0,
                        cpu_probe=0,
                        cpu_scan=0,
                        space=model.space.average,
                        transition_space=model.transition_space.average,
                        written=0,
                    )
    fit = fitted(replace(articles(2, 2, 1), by="word"), runs, 10, 1)
    assert fit.explained == pytest.approx(1)
    assert fit.fixed == pytest.approx(0.5)
    for cost in ("build", "add", "delete", "copy", "smart_copy", "seek", "packed", "unpacked"):
        assert getattr(fit.parameters, cost) == pytest.approx(getattr(made, cost)), cost
    assert fit.parameters.transfer == pytest.approx(made.transfer, rel=0.01)  # a seek is in it


def test_it_runs_and_draws(tmp_path):
    results = wave_paper.run(TINY)
    assert [figure.number for figure in results["model"]] == list(range(2, 10))
    for case, found in results["advice"].items():
        assert np.isfinite([found["ratio"], found["over_least"], found["foretold_work"]]).all()
        names = [name.split(":")[0] for name in found["works"]]
        assert names[:3] == ["advised", "built anew", "best of all"]
        assert ("LMDB by day" in names) == (case == "SCAM")
        assert all(of["least"] <= of["clock"] <= of["most"] for of in found["works"].values())
    for figure, sources in results["archives"].items():
        assert set(sources) == ({""} if figure.what == "space" else {CLOCK, PROCESSOR})
    for part in ("model", "archives"):
        draw(results[part], part, tmp_path / f"{part}.png")
        assert (tmp_path / f"{part}.png").stat().st_size > 10_000
