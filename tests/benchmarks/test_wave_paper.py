"""The wave index benchmark at tiny sizes: right answers, a model that fits, figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import wave_paper
from benchmarks.wave_days import FIRST_DATE, Data, articles, lineitem
from benchmarks.wave_figures import FIGURES, draw
from benchmarks.wave_fit import fitted
from benchmarks.wave_measured import Measured, Setting, measured
from windrow.archive.advise.parameters import Parameters, UpdateTechnique
from windrow.archive.advise.wave_costs import measures
from windrow.archive.wave.schemes import SCHEMES

pytestmark = pytest.mark.slow

TINY = wave_paper.Sizes(
    articles=260,
    words=5,
    scale=0.01,
    dates=12,
    week=4,
    month=4,
    scam_n=(1, 2),
    tpc_n=(1, 2),
    windows=(4,),
    factors=(1,),
    figures=tuple(f for f in FIGURES if f.number in (4, 6)),
)


def test_days_are_consecutive_ship_dates():
    data = lineitem(0.01, 3, 5)
    for day, rows in data.days.items():
        dates = rows.column("l_shipdate").to_pylist()
        assert min(dates).toordinal() - FIRST_DATE.toordinal() == (day - 1) * 5
        assert max(dates).toordinal() - FIRST_DATE.toordinal() == day * 5 - 1


def test_words_follow_zipf_and_stand_once_in_an_article():
    data = articles(400, 50, 1)
    lists = data.records(1, 1).column("words").to_pylist()
    assert all(len(set(words)) == len(words) for words in lists)
    counts = sorted(Counter(word for words in lists for word in words).values(), reverse=True)
    assert counts[0] > 5 * counts[50] > 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_archive_is_measured_and_its_answers_are_right(scheme):
    found = measured(articles(20, 10, 8), Setting(scheme, "simple shadow", 4, 2))
    assert min(vars(found).values()) >= 0
    assert found.written > 0
    assert found.transition_space > found.space > 0


def test_a_wrong_answer_is_not_believed(monkeypatch):
    data = articles(20, 10, 8)
    other = articles(20, 11, 8)
    monkeypatch.setattr(Data, "records", lambda _, first, last: truth(other, first, last))
    with pytest.raises(AssertionError):
        measured(data, Setting("DEL", "in-place", 4, 2))


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
                        space=model.space.average,
                        transition_space=model.transition_space.average,
                        written=0,
                    )
    fit = fitted(replace(articles(2, 2, 1), newest=False), runs, 10, 1)
    assert fit.explained == pytest.approx(1)
    assert fit.fixed == pytest.approx(0.5)
    for cost in ("build", "add", "delete", "copy", "smart_copy", "seek", "packed", "unpacked"):
        assert getattr(fit.parameters, cost) == pytest.approx(getattr(made, cost)), cost
    assert fit.parameters.transfer == pytest.approx(made.transfer, rel=0.01)  # a seek is in it


def test_it_runs_and_draws(tmp_path):
    results = wave_paper.run(TINY)
    assert [figure.number for figure in results["model"]] == list(range(2, 10))
    for found in results["advice"].values():
        assert np.isfinite([found["ratio"], found["over_least"], found["foretold_work"]]).all()
    for part in ("model", "archives"):
        draw(results[part], part, tmp_path / f"{part}.png")
        assert (tmp_path / f"{part}.png").stat().st_size > 10_000
