"""Each benchmark runs at tiny sizes: its answers are compared, and it ends with its ratio."""

from __future__ import annotations

import collections

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from benchmarks import (
    conjunctions,
    engines,
    join_embedded,
    multi_join,
    multi_join_figures,
    nexmark,
    shared_selection,
    slides,
    update_patterns,
)
from benchmarks.feeding import Feed, lap
from benchmarks.report import finish
from benchmarks.trace import links
from benchmarks.update_patterns_trace import proportioned_links

pytestmark = pytest.mark.slow


def test_links_have_one_tuple_per_time_unit_and_disjoint_destinations():
    trace = links(20_000, 3)
    assert [rows.column("ts").to_pylist() for rows in trace.values()] == [list(range(20_000))] * 3
    first, second, third = (set(rows.column("dst").to_pylist()) for rows in trace.values())
    assert not first & second
    assert not (first | second) & third


def test_telnet_joins_about_ten_times_as_many_pairs_as_ftp():
    trace = links(100_000)
    pairs = {}
    for protocol in ("ftp", "telnet"):
        counts = [
            rows.filter(pc.equal(rows.column("protocol"), protocol))
            .column("src")
            .value_counts()
            .flatten()
            for rows in trace.values()
        ]
        left, right = (dict(zip(v.to_pylist(), c.to_pylist(), strict=True)) for v, c in counts)
        pairs[protocol] = sum(n * right.get(source, 0) for source, n in left.items())
    assert 5 < pairs["telnet"] / pairs["ftp"] < 20


def test_a_feed_gives_all_streams_up_to_the_same_instant():
    rows = {
        "a": pa.RecordBatch.from_pydict({"ts": [1, 3, 5, 7]}),
        "b": pa.RecordBatch.from_pydict({"ts": [2, 3, 3, 8]}),
    }
    feed = Feed(rows)
    inputs, now = feed.take(2)
    assert now == 3
    assert inputs["b"].ts.tolist() == [2, 3, 3]
    inputs, now = feed.take(2)
    assert now == 7
    assert inputs["b"].ts.tolist() == []
    assert feed.take(1) is None


@pytest.mark.parametrize("query", update_patterns.QUERIES, ids=lambda q: q.name)
def test_the_strategies_agree_on_every_query_and_windows_are_full(query):
    sizes = update_patterns.Sizes((2_000,), (500, 100), 1, (1_000, 200), (query,))
    measured = update_patterns.run(sizes)["runs"]
    assert {m["way"] for m in measured} == set(query.ways)
    for interval in sizes.intervals:
        assert len({m["answer"] for m in measured if m["interval"] == interval}) == 1
    assert measured[0]["answer"] > 0
    assert all(m["milliseconds"] > 0 for m in measured)


def test_answers_that_differ_in_one_row_are_told_apart():
    one = pa.RecordBatch.from_pydict({"a": [1, 2, 2], "b": ["x", "y", "y"]})
    other = pa.RecordBatch.from_pydict({"a": [1, 1, 2], "b": ["x", "y", "y"]})
    query = update_patterns.QUERIES[0]
    shuffled = one.take(pa.array([2, 0, 1]))
    update_patterns.compare(query, 1, {"NT": one, "UPA": shuffled})
    with pytest.raises(AssertionError, match="answers differ"):
        update_patterns.compare(query, 1, {"NT": one, "UPA": other})


def test_update_patterns_are_drawn(tmp_path):
    results = update_patterns.run(update_patterns.Sizes((2_000,), (500,), 1, (1_000,)))
    assert 0.2 < results["premature"]["2000"] < 0.6
    sheets = update_patterns.draw(results["runs"], tmp_path / "figures.json")
    assert [sheet.name for sheet in sheets] == ["figures.png", "figures_space.png"]
    assert all(sheet.stat().st_size > 10_000 for sheet in sheets)


@pytest.mark.parametrize("window", [2_000, 20_000])
def test_joins_of_the_trace_give_the_dissertations_proportions(window):
    links = proportioned_links(window, window, 3).values()
    for protocol, wanted in (("ftp", 1), ("telnet", 10)):
        one, other = (
            collections.Counter(
                link.filter(pc.equal(link["protocol"], protocol))["src"].to_pylist()
            )
            for link in list(links)[:2]
        )
        results = sum(count * other[source] for source, count in one.items())
        assert results / window == pytest.approx(wanted, rel=0.2)


def test_orders_and_algorithms_of_the_multi_join_agree_and_are_drawn(tmp_path):
    results = multi_join.run(multi_join.Sizes(measured=40, repeats=1, intervals=(0, 10)))
    predicted = results["figure_5_2"][0]["relative"]
    assert list(predicted) == ["S2S1S3S4", "S2S3S4S1", "S1S2S3S4", "S3S4S1S2"]
    assert [round(x, 2) for x in predicted.values()] == [1.0, 2.63, 1.3, 8.34]
    visits = [bar["visits"]["S3S4S1S2"] for bar in results["figure_5_2"][1:-1]]
    assert min(visits) > 3
    for line in results["figures_5_3_and_5_4"]:
        (_, each_tuple), (_, each_interval) = line["visits"]
        assert (each_interval < 0.9 * each_tuple) == (line["algorithm"] != "eager")
    multi_join_figures.draw(results, tmp_path / "figures.png")
    assert (tmp_path / "figures.png").stat().st_size > 10_000


@pytest.mark.parametrize("buckets", [1, 3, 10])
@pytest.mark.parametrize("algorithm", multi_join.ALGORITHMS)
def test_buckets_change_the_cost_and_not_the_results(buckets, algorithm):
    sizes = multi_join.Sizes(measured=20)
    order = (1, 0, 2, 3)
    found = [
        multi_join.run_once(multi_join.Setting(algorithm, b, order, 10), sizes, 5)
        for b in (buckets, multi_join.BY_VALUE)
    ]
    assert (found[0].results, found[0].check) == (found[1].results, found[1].check)
    assert found[0].results > 0


@pytest.mark.parametrize("buckets", [multi_join.NESTED, 10, multi_join.BY_VALUE])
def test_the_order_that_is_measured_stays_as_it_was_asked_for(buckets):
    worst = list(multi_join.orders().values())[-1]
    setting = multi_join.Setting(multi_join.RESTORE, buckets, worst, 10)
    operator = setting.operator()
    with multi_join.fixed_orders():
        for deltas, now in multi_join.intervals(setting, 4 * multi_join.WINDOW, 1):
            operator.process(deltas, now)
    assert operator.order == worst


@pytest.mark.parametrize("query", ["join", "distinct", "negation", "group"])
def test_windrow_answers_what_the_engines_are_asked(query, tmp_path):
    sizes = engines.checked(engines.Sizes())
    data = engines.prepare(tmp_path, sizes)
    assert engines.windrow_answer(query, data, sizes)
    assert all(engines.windrow_rate(query, tmp_path, sizes, f) > 0 for f in ("parquet", "csv"))


@pytest.mark.spark
def test_the_join_gives_what_sparks_own_join_gives(capsys):
    sizes = join_embedded.Sizes(
        window=500, batch=500, batches=3, warm_up=1, rounds=1, small=200, large=2_000, laps=2,
        interval=200,
    )  # fmt: skip
    results = join_embedded.run(sizes)
    assert 0.5 < results["join"]["results_per_tuple"] < 1.5
    assert results["scale"]["growth"] > 0
    finish(results["ratio"])
    assert capsys.readouterr().out.splitlines()[-1] == f"ratio: {results['ratio']:.2f}"


def test_a_lap_counts_tuples_of_all_streams_and_results():
    streams = {name: join_embedded.stream(1_000, 100, seed) for seed, name in enumerate("lr")}
    whole = lap(join_embedded.join(100), Feed(streams), 2_000, 100)
    assert whole.tuples == 2_000
    assert whole.results > 1_000
    assert whole.rate == pytest.approx(whole.tuples / whole.seconds)


def test_shared_and_single_queries_agree_and_both_shapes_are_measured():
    sizes = shared_selection.Sizes(2_000, 4, (1, 10, 50), 50, 1)
    results = shared_selection.run(sizes)
    changes = [line["changes"] for line in results["selection"]["lines"]]
    assert max(changes) < 1.1 * min(changes), "all queries together select as much as one"
    assert results["ratio"] > 0


def test_counting_and_checking_find_the_same_conjunctions():
    results = conjunctions.run(conjunctions.Sizes(2_000, 2_000, ((0.01, 0.05),), 1, 2_000, 20, 500))
    assert results["desk"]["matches"] > 100
    assert results["lines"][0]["matches"] > 0


def test_windows_that_slide_hold_what_recomputing_them_gives():
    case = slides.Case(slides=20, groups=30, rows=400)
    rows, found = slides.rows_of(case), {}

    def keep(end, answer):
        found[end] = {
            group: (n, t) for group, n, t in zip(*answer.to_pydict().values(), strict=True)
        }

    slides.duckdb_windows(case, rows, keep)
    ours = slides.windrow_windows(case, rows)
    assert len(ours) > 30
    assert ours == {end: found[end] for end in ours}


def test_every_query_of_nexmark_that_is_compared_answers_from_csv_files(tmp_path):
    place = nexmark.Place(tmp_path)
    place.write(nexmark.SMALL.tables())
    for query in nexmark.COMPARED:
        answer = nexmark.embedded_answer(query, place, tmp_path / "answers" / query)
        assert answer, query
        assert nexmark.rows_of(query, place) >= answer.total() or query == "q5"
        assert min(nexmark.embedded_lap(query, place)) > 0


def test_flinks_files_have_the_same_rows_in_order(tmp_path):
    tables = nexmark.Nexmark(1_000).tables()
    nexmark.Place(tmp_path).write(tables)
    times = tables["bid"]["date_time"].cast(pa.int64()).to_numpy() // 1_000
    for n in (0, 1):
        lines = (tmp_path / "flink" / "bid" / f"{n}.csv").read_text().splitlines()
        assert [int(line.split(",")[5]) for line in lines] == times[n::2].tolist()
