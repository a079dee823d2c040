"""The queries of Nexmark on Windrow, embedded and on Spark, and on PyFlink SQL.

The queries are those of ``examples/nexmark.cql``, as far as Flink's package can express them too;
the data are those of ``examples/nexmark_data.py``, 10,000 events to a second of their time. Both
engines read the same rows from CSV files (Flink's package reads no Parquet) and drop what they
find. Windrow reads files one after the other; Flink has two readers with a file each, rows dealt
out by turns, and every setting that makes it fast (``rivals/flink_nexmark.py``). Both have run the
query before; what each takes to start and stop it over next to no rows is subtracted.

Queries 3 and 8 read persons and auctions only, which are few: their files go on for longer.

Rates are rows of the streams that a query reads, per second. Processor time is beside them: Flink
uses both cores of a machine with two, Windrow embedded one. On Spark the rate is that of the
micro-batches after the first.

The last line is the geometric mean of Windrow embedded over Flink, in rows per second.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from benchmarks.engines import ENVIRONMENTS, run_apart
from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.spark_beside import pipelines
from benchmarks.spark_rival import rival_session
from examples.nexmark_data import Nexmark, write_side_input, write_tables
from windrow.cli.demo import below
from windrow.engine.embedded import Embedded
from windrow.engine.runner import run as run_script
from windrow.plan.catalog import Catalog, Destination, QueryDeclaration
from windrow.plan.nodes import StreamScan, walk
from windrow.plan.program import compile_script
from windrow.result_files.change_table import read_changes
from windrow.result_files.identity import changes_schema
from windrow.spark.run.spark_job import Feed

SCRIPT = Path(__file__).parents[1] / "examples" / "nexmark.cql"
COMPARED = (
    "q0", "q1", "q2", "q3", "q4", "q5", "q7", "q8", "q9", "q10", "q14", "q15", "q16", "q17", "q18",
    "q19", "q20", "q21", "q22",
)  # fmt: skip
"""The queries of the script that Flink is asked too."""
WINDOWED = ("q5", "q7", "q8")
"""Those whose results come window by window, with the end of the window."""
OF_PEOPLE = ("q3", "q8")
SMALL = Nexmark(events=8_000, rate=200, seed=1)
"""What answers are compared on: forty seconds, without two events at one moment of an auction."""
PATIENCE = 1_200
FILES = 8


@dataclass(frozen=True)
class Sizes:
    """``events`` in all; ``longer`` times as many for queries without bids."""

    events: int = 1_000_000
    longer: int = 5
    rounds: int = 3
    passes: int = 2
    queries: tuple[str, ...] = COMPARED
    spark: tuple[str, ...] = COMPARED


QUICK = Sizes(
    events=500_000, longer=6, rounds=1, passes=1, queries=("q1", "q4", "q5", "q7", "q8", "q17"),
    spark=("q1", "q5"),
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Files of the same rows: for Windrow in the order of time, for Flink dealt out by turns."""

    root: Path

    @property
    def flink(self) -> Path:
        return self.root / "flink"

    def write(self, tables: dict[str, pa.Table]) -> None:
        ours = self.root / "data" / "nexmark"
        write_tables(tables, ours, "csv", FILES)
        write_side_input(ours)
        for name, rows in tables.items():
            (self.flink / name).mkdir(parents=True)
            plain = in_milliseconds(rows)
            for n in (0, 1):
                dealt = plain.take(pa.array(np.arange(n, len(plain), 2)))
                pa_csv.write_csv(
                    dealt,
                    self.flink / name / f"{n}.csv",
                    pa_csv.WriteOptions(include_header=False, quoting_style="none"),
                )


def in_milliseconds(rows: pa.Table) -> pa.Table:
    for index, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            millis = rows.column(index).cast(pa.int64()).to_numpy() // 1_000
            rows = rows.set_column(index, field.name, pa.array(millis))
    return rows


def catalog(query: str, place: Place, into: Path | None = None, *, final: bool = False) -> Catalog:
    """The script with one of its queries, over CSV files, which drops what it finds unless INTO."""
    text = SCRIPT.read_text().replace("/' FORMAT parquet TIMESTAMP", "/' FORMAT csv TIMESTAMP")
    if final:  # the answer in the end, not that of the last whole second
        text = text.replace(" EVERY 1 SECOND", "")
    made = below(compile_script(text).catalog, place.root)
    end = None if into is None else Destination(str(into), "parquet")
    return Catalog(
        {
            name: replace(d, into=end) if isinstance(d, QueryDeclaration) else d
            for name, d in made.declarations.items()
            if not isinstance(d, QueryDeclaration) or name == query
        }
    )


def streams_of(query: str) -> set[str]:
    (declared,) = catalog(query, Place(Path())).queries
    return {node.name for node in walk(declared.plan) if isinstance(node, StreamScan)}


def embedded_lap(query: str, place: Place) -> tuple[float, float]:
    """Seconds of the clock and of the processor for all files."""
    made = catalog(query, place)
    began, worked = time.perf_counter(), time.process_time()
    run_script(made, Embedded(keep=False), once=True, on_progress=lambda _: None)
    return time.perf_counter() - began, time.process_time() - worked


def embedded_laps(query: str, place: Place, tiny: Place) -> dict[str, float]:
    """What the rows took, without what it takes to start and to stop."""
    (start, started), (seconds, worked) = embedded_lap(query, tiny), embedded_lap(query, place)
    return {
        "windrow": seconds - start, "windrow_processor": worked - started, "windrow_start": start,
    }  # fmt: skip


def embedded_answer(query: str, place: Place, into: Path) -> Counter[str]:
    """What is there in the end; of windows, all that were reported, with their ends."""
    made = catalog(query, place, into, final=True)
    run_script(made, Embedded(keep=False), once=True, on_progress=lambda _: None)
    (declared,) = made.queries
    found = read_changes(into, "parquet", changes_schema(declared.plan.schema, declared.clock))
    bag: Counter[str] = Counter()
    for row in found.to_pylist():
        instant, change, *values = row.values()
        shown = [instant, *values] if query in WINDOWED else values
        bag[as_text(shown)] += 1 if change == "+" else -1
    return +bag


def as_text(row: Iterable[object]) -> str:
    """A row in a form in which the answers of both engines can be compared."""
    return json.dumps([_plain(value) for value in row])


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return round((value - datetime(1970, 1, 1)).total_seconds() * 1000)
    return float(f"{value:.12g}") if isinstance(value, float) else value


def flink(places: dict[str, Place], tiny: Place, passes: int, results: Path | None = None) -> Any:
    """What PyFlink measures, query by query; or, with ``results``, what it answers."""
    plan = {
        "queries": {query: str(place.flink) for query, place in places.items()},
        "tiny": str(tiny.flink),
        "passes": passes,
        "results": None if results is None else str(results),
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(plan))
        file.flush()
        said = run_apart("flink", "flink_nexmark.py", [file.name], PATIENCE)
    return said if results is None else json.loads(results.read_text())


def compare_answers(queries: Sequence[str], root: Path, with_flink: bool) -> None:
    """Both on forty seconds; Flink also reports windows that are not over yet."""
    place = Place(root / "small")
    place.write(SMALL.tables())
    ours = {q: embedded_answer(q, place, root / "answers" / q) for q in queries}
    if not with_flink:
        return
    theirs = flink(dict.fromkeys(queries, place), place, 1, root / "answers.json")
    for query in queries:
        rows = theirs[query]
        if query in WINDOWED:
            last = max(json.loads(row)[0] for row in ours[query])
            rows = [row for row in rows if row[0] <= last]
        found = Counter(as_text(row) for row in rows)
        if found != ours[query] or not found:
            odd = list((found - ours[query]) + (ours[query] - found))[:3]
            raise AssertionError(
                f"{query}: Flink has {found.total()} rows, Windrow {ours[query].total()}; {odd}"
            )
        say(f"{query}: {found.total():,} rows on a short stream, the same from both")


def spark_rates(queries: Sequence[str], places: dict[str, Place], root: Path) -> dict[str, float]:
    """Rows per second of the micro-batches after the first, which starts everything."""
    rates = {}
    with rival_session() as session:
        for number, query in enumerate([queries[0], *queries]):  # the first warms workers up
            home = root / f"spark-{number}"
            made = catalog(query, places[query], home / "out")
            (pipeline,) = pipelines(session, made, home / "state", Feed(once=True, files=1))
            running = pipeline.start()
            running.wait()
            laps = running.durations
            rows = rows_of(query, places[query]) * (FILES - 1) / FILES
            rates[query] = rows / sum(laps[1:])
    return rates


def rows_of(query: str, place: Place) -> int:
    """How many rows the query reads of its streams."""
    return sum(
        len(path.read_bytes().splitlines())
        for name in streams_of(query)
        for path in (place.flink / name).iterdir()
    )


def run(
    sizes: Sizes, on_measured: Callable[[dict[str, Any]], Any] = lambda _: None
) -> dict[str, Any]:
    with_flink = (ENVIRONMENTS / "flink" / "bin" / "python").exists()
    if not with_flink:
        say("Flink is left out: it is not installed; `make bench-setup` does that")
    with tempfile.TemporaryDirectory(prefix="windrow-nexmark-") as name:
        root = Path(name)
        compare_answers(sizes.queries, root, with_flink)
        everything, people, tiny = (Place(root / n) for n in ("all", "people", "tiny"))
        everything.write(Nexmark(sizes.events).tables())
        longer = Nexmark(sizes.events * sizes.longer).tables(("person", "auction"))
        people.write(longer)
        tiny.write(Nexmark(100).tables())
        places = {q: people if q in OF_PEOPLE else everything for q in sizes.queries}
        rows = {q: rows_of(q, places[q]) for q in sizes.queries}
        laps: dict[str, dict[str, list[float]]] = {q: {} for q in sizes.queries}

        def note(query: str, **found: float) -> None:
            for kind, value in found.items():
                laps[query].setdefault(kind, []).append(value)

        for query in sizes.queries:
            embedded_lap(query, places[query])
        for _ in range(sizes.rounds):
            for query in sizes.queries:
                note(query, **embedded_laps(query, places[query], tiny))
            if with_flink:
                for query, said in flink(places, tiny, sizes.passes).items():
                    note(query, flink=said["seconds"], flink_processor=said["processor"])
                    note(query, flink_start=said["start"])
            # A run that is cut short leaves what it has measured.
            on_measured(summary(sizes, rows, laps, {}))
        return summary(sizes, rows, laps, spark_rates(sizes.spark, places, root))


def summary(
    sizes: Sizes,
    rows: dict[str, int],
    laps: dict[str, dict[str, list[float]]],
    on_spark: dict[str, float],
) -> dict[str, Any]:
    lines = []
    for query, kinds in laps.items():
        middle = {kind: median(values) for kind, values in kinds.items()}
        line: dict[str, Any] = {
            "query": query, "rows": rows[query], "laps": kinds,
            "windrow": rows[query] / middle["windrow"], "spark": on_spark.get(query),
        }  # fmt: skip
        if "flink" in middle:
            line["flink"] = rows[query] / middle["flink"]
            line["ratio"] = middle["flink"] / middle["windrow"]
            line["processor_ratio"] = middle["flink_processor"] / middle["windrow_processor"]
        lines.append(line)
    table(
        ["rows/s", "rows", "embedded", "on Spark", "Flink", "times", "by processor time"],
        [
            (n["query"], n["rows"], n["windrow"], n["spark"], n.get("flink"), n.get("ratio"),
             n.get("processor_ratio"))
            for n in lines
        ],
    )  # fmt: skip
    found: dict[str, Any] = {"sizes": asdict(sizes), "queries": lines}
    for kind in ("ratio", "processor_ratio"):
        found[kind] = geometric_mean(n[kind] for n in lines) if "ratio" in lines[0] else 0.0
    say(f"by processor time: {found['processor_ratio']:.2f}")
    return found


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("nexmark", __doc__ or "", argv)
    if quick:
        results = run(QUICK)
    else:
        results = run(Sizes(), lambda measured: save("nexmark", measured))
        save("nexmark", results)
    finish(results["ratio"])


if __name__ == "__main__":
    main()
