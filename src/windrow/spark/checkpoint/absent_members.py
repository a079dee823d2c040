"""Queries of a group that a run did not have: whether the group went on without them.

While a query is away nobody keeps what it would have by then. If its group has had no micro-batch
meanwhile it comes back as if it had been there; else its changes would not add up to its answer,
and it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path

from windrow.result_files.atomic_files import publish, read_record
from windrow.result_files.reader import published_results
from windrow.spark.checkpoint.group_refusals import refuse_absent
from windrow.spark.checkpoint.pipeline_directory import (
    REMEDY,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.checkpoint.query_directory import IDENTITY, read_home

AWAY = "away.json"
"""Of a group, beside its seats: of each query that is away, how far the group was when it left."""


def note_absent(group: Path, seats: Iterable[str], present: Collection[str]) -> None:
    """Write down which queries of a group are away from now on."""
    absent, known = {name for name in seats if name} - {*present}, _read(group)
    if absent or known:
        now = _progress(group)
        # A rewind or a repair may have set the group back since.
        away = {n: list(map(min, known.get(n, now), now)) for n in sorted(absent)}
        if away != known:
            publish(group / AWAY, json.dumps(away))


def refuse_those_who_missed_rows(group: Path, present: Iterable[str]) -> None:
    """Refuse queries of a script that were away while their group went on."""
    known = _read(group)
    back = [name for name in present if name in known]
    if back:
        now = _progress(group)
        for name in back:
            if any(after > before for after, before in zip(now, known[name], strict=True)):
                refuse_absent(name, group)


def _read(group: Path) -> dict[str, list[int]]:
    try:
        return read_record(group / AWAY, "the checkpoint", dict, remedy=REMEDY)
    except FileNotFoundError:
        return {}


def _progress(group: Path) -> list[int]:
    """The last micro-batch that a group has published, and of how many it has the state that are
    over: one that was cut short before is repeated by those who are there then."""
    found = [-1, 0]
    if (group / IDENTITY).exists():
        found[0] = published_results(read_home(group)[0].results).last
    for home in map(read_pipeline, pipeline_directories(group.parent)):
        if group.name in home.members:
            found[1] += home.version.published.get(home.number_of(group.name), (-1, 0))[1]
    return found
