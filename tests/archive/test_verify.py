"""What ``verify`` finds in archives of days whose manifest has been edited and summed up again."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.ipc
import pytest

from tests.archive.support.edited import edit, vouched
from tests.archive.support.plain import SCHEMA, table
from windrow.archive import verify as checks
from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk
from windrow.archive.runs.run_directory import END


def filled(path, scheme, n, technique, days=9, window=6, **options):
    """Ten records a day, and three that are two days ahead."""
    archive = Archive.create(
        Disk(path),
        SCHEMA,
        "key",
        window=window,
        scheme=scheme,
        n=n,
        technique=technique,
        **options,
    )
    for day in range(1, days + 1):
        archive.append(day, table([("ab"[i % 2], i) for i in range(10)]), now=day)
    archive.append(days + 2, table([("a", i) for i in range(3)]))
    archive.vacuum()
    assert archive.verify() == []
    return archive


def found(archive):
    return [str(problem) for problem in Archive.open(archive.disk).verify()]


def setting(**changes):
    return lambda value: value["body"]["settings"].update(changes)


def body(**changes):
    return lambda value: value["body"].update(changes)


def state(**changes):
    return lambda value: value["body"]["state"].update(changes)


def the_window_is_a_day_shorter(value):
    for part in (value["body"]["settings"], value["body"]["state"]):
        part["window"] = 5


def a_live_day_is_masked(value):
    index = next(i for i in value["body"]["indexes"].values() if i["parts"])
    index["parts"][0]["masked"].append(index["days"][-1])


def a_temporary_index_has_lost_its_runs(value):
    indexes = value["body"]["indexes"]
    name = next(n for n, index in indexes.items() if n[0] == "T" and index["parts"])
    indexes[name]["parts"] = []


def an_index_covers_a_day_no_more(value):
    value["body"]["indexes"]["I1"]["days"].pop()


def a_run_has_an_entry_more(value):
    run = next(run for run in value["runs"] if run["days"][0][1] == 10)  # they are by name
    run["days"][0][1] += 1


def an_index_has_a_run_twice(value):
    index = next(i for i in value["body"]["indexes"].values() if i["parts"])
    index["parts"].append(index["parts"][0])


def a_constituent_takes_a_day_of_another(value):
    days = value["body"]["state"]["constituents"]
    days["I1"] = value["body"]["indexes"]["I1"]["days"] = sorted([*days["I1"], days["I2"][0]])


def a_constituent_is_called_otherwise(value):
    for part in (value["body"]["state"]["constituents"], value["body"]["indexes"]):
        part["I9"] = part.pop("I1")


def a_temporary_index_too_many(value):
    value["body"]["state"]["temporaries"]["T7"] = [7, 8, 9]
    value["body"]["indexes"]["T7"] = {"days": [7, 8, 9], "parts": []}


def what_waits_waits_for_another_day(value):
    value["body"]["ahead"] = {"12": value["body"]["ahead"]["11"]}


def what_waits_is_in_no_list(value):
    value["body"]["ahead"] = {}


def what_waits_is_late(value):
    value["body"]["ahead"] = {"9": value["body"]["ahead"]["11"]}


DEL, WATA, LADDER = ("DEL", 2, "in-place"), ("WATA", 2, "in-place"), ("REINDEX++", 2, "in-place")
PACKED, BEGUN = ("DEL", 2, "packed shadow"), (*LADDER, 7)
EDITS = [
    (WATA, setting(n=3), "constituents: expected 3, from I1 to I3; found 2: I1, I2"),
    (WATA, setting(scheme="DEL"), "days 4 to 9 in constituents, and no others under DEL; found"),
    (DEL, setting(technique="packed shadow"), "I1: expected one run without masked days, as pack"),
    (DEL, setting(scheme="REINDEX"), "I1: expected one run without masked days, as REINDEX build"),
    (DEL, setting(growth=1.01), "each that counts, where g is 1.01; found 2 runs of"),
    (DEL, setting(window=5), "state: expected that of a window of 5 days up to 9; found that of 6"),
    (
        WATA,
        setting(window=5),
        "state: expected that of a window of 5 days up to 9; found that of 6",
    ),
    (
        DEL,
        setting(scheme="REINDEX+"),
        "expected time-sets that REINDEX+ can continue from; found no i",
    ),
    (DEL, setting(scheme="RATA"), "RATA can continue from; found"),
    (PACKED, the_window_is_a_day_shorter, "found none missing, and 4 besides"),
    (DEL, body(now=10), "window: expected the days 5 to 10 in constituents, and no others"),
    (
        DEL,
        state(day=10),
        "state: expected that of a window of 6 days up to 9; found that of 6 days",
    ),
    (BEGUN, body(prepared=False), "Next1: expected no such index; found the days"),
    (
        LADDER,
        body(pending=[{"operation": "Drop", "target": "X"}]),
        "found Drop X: expected an index",
    ),
    (
        DEL,
        a_live_day_is_masked,
        "expected masks of days that it does not cover; found masks of its",
    ),
    (LADDER, a_temporary_index_has_lost_its_runs, "that I1 has; found 0"),
    (DEL, an_index_covers_a_day_no_more, "I1: expected entries of its days, "),
    (DEL, a_run_has_an_entry_more, "expected entries by day as the manifest has them: 11 of"),
    (DEL, an_index_has_a_run_twice, "I1: expected each run once; found"),
    (
        PACKED,
        a_constituent_takes_a_day_of_another,
        "expected each day in one of them; found days 5",
    ),
    (PACKED, a_constituent_is_called_otherwise, "expected 2, from I1 to I2; found 2: I2, I9"),
    (
        PACKED,
        a_temporary_index_too_many,
        "at most 3 temporary indexes, of fewer than 3 days each; found 1, too long among them T7",
    ),
    (DEL, what_waits_waits_for_another_day, "day 12, ahead: expected runs of that day only; found"),
    (
        DEL,
        what_waits_is_late,
        "day 9, ahead: expected a day after 9, to which the window has moved",
    ),
    (
        DEL,
        what_waits_is_in_no_list,
        "runs: expected each run once, and in an index or ahead; found",
    ),
    (DEL, lambda value: value["layout"].update(lifetimes=True), "expected no expiries in wave"),
    (DEL, body(now=None), "window: expected nothing before its first day; found I1, I2"),
]


@pytest.mark.parametrize(("layout", "change", "said"), EDITS)
def test_verify_finds_what_the_scheme_and_the_technique_would_not_have(
    layout, change, said, tmp_path
):
    archive = filled(tmp_path, *layout)
    edit(archive, change)
    assert any(said in problem for problem in found(archive)), found(archive)


def test_an_expired_constituent_and_a_window_too_soft_are_found(tmp_path):
    archive = filled(tmp_path, "WATA", 3, "in-place", days=12, window=7)

    def shortened(value):
        for part in (value["body"]["settings"], value["body"]["state"]):
            part["window"] = 3

    edit(archive, shortened)
    said = found(archive)
    assert any("expected at most 3 days under WATA" in problem for problem in said), said
    assert any("expected a day from 10 on; found the days" in problem for problem in said), said


def test_entries_that_drain_and_are_in_the_new_layout_too_are_found(tmp_path):
    archive = filled(tmp_path, "DEL", 2, "packed shadow")
    archive.migrate(scheme="DEL", n=1, how="drain")

    def doubled(value):
        old = value["body"]["draining"]["old I1"]
        value["body"]["indexes"]["I1"]["parts"] = old["parts"]

    edit(archive, doubled)
    assert any(
        "no entries of day" in problem and "which I1 has" in problem for problem in found(archive)
    )


def rewritten(archive, suffix, change):
    """The largest file of a kind with its table changed, under a checksum that vouches for it."""
    path = max(archive.disk.root.glob(f"runs/*.{suffix}"), key=lambda p: p.stat().st_size)
    with pa.ipc.open_file(path.read_bytes()) as file:
        changed = change(file.read_all().combine_chunks())
    with pa.ipc.new_file(str(path), changed.schema) as writer:
        writer.write_table(changed)
    vouched(archive)
    return path


@pytest.mark.parametrize("at_once", [1, 3, 1_000_000])
def test_a_bucket_out_of_order_is_found_wherever_a_stretch_ends(at_once, tmp_path, monkeypatch):
    monkeypatch.setattr(checks.ROWS, "value", at_once)
    archive = filled(tmp_path, "DEL", 1, "packed shadow", window=2)
    path = rewritten(
        archive, "arrow", lambda rows: rows.take([*reversed(range(10)), *range(10, len(rows))])
    )
    assert found(archive) == [
        f"runs/{path.name}: expected each bucket in ascending order of _day; found 8 after 9"
    ]


def test_keys_that_the_directory_leaves_out_are_found(tmp_path):
    archive = filled(tmp_path, "DEL", 1, "packed shadow", window=2)
    rewritten(
        archive,
        "directory",
        lambda keys: keys.slice(0, 1).replace_schema_metadata({END: b"10"}),
    )
    assert any("found 10 entries with a key" in problem for problem in found(archive))
    rewritten(archive, "directory", lambda keys: keys.replace_schema_metadata({END: b"21"}))
    assert any("up to row 20 at most; found" in problem for problem in found(archive))


@pytest.mark.parametrize(
    ("keys", "said"),
    [(["b", "a"], "every key once, in ascending order; found 2"), (["a", "c"], "key c in its buc")],
)
def test_keys_that_are_not_those_of_the_entries_are_found(keys, said, tmp_path):
    archive = filled(tmp_path, "DEL", 1, "packed shadow", window=2)
    rewritten(
        archive,
        "directory",
        lambda held: held.set_column(0, held.schema.field(0), pa.array(keys, held.schema.types[0])),
    )
    assert any(said in problem for problem in found(archive)), found(archive)
