"""Changes of queries that share their selection: one micro-batch, many directories of results.

A query that has a directory of its own gets the commits of those micro-batches that changed its
answer. The others have their changes in files of the group, with the number of the query in front;
there every micro-batch has a commit, which says how far time has come for all. It is the last to be
published. So a repetition of a micro-batch that was cut short publishes for those queries that were
not reached, and throws away what it has for the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.object_store.object_path import path_of
from windrow.plan.nodes.routed import MEMBER
from windrow.result_files.member_rows import ByMember
from windrow.result_files.sinks import Place
from windrow.spark.sink.file_delivery import FileDelivery, summary
from windrow.spark.stage.stage_task import Report

HANDS = 8
"""Commits are synced side by side: each waits for the disk, not for the processor."""


@dataclass(frozen=True)
class MemberDelivery(FileDelivery):
    """``own`` are the directories and formats of queries that have them, by number; the changes
    of those in ``kept`` stay with the group, and others' are for nobody."""

    own: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    kept: frozenset[int] = frozenset()

    def hide(self, answers: Sequence[Delta]) -> dict[str, Any]:
        """A hidden file for each query with changes and a directory, and one for the kept."""
        changes = self._changes(answers).combine_chunks()
        if not changes.num_rows:
            return {"file": None, "rows": 0, "own": []}
        (batch,) = changes.to_batches()
        at = batch.schema.get_field_index(MEMBER)
        member = batch.column(at).to_numpy()
        own = []
        for number, rows in ByMember(member, batch.drop_columns([MEMBER])).parts():
            if number in self.own:
                name = self._own_place(number).hide(pa.Table.from_batches([rows]))
                own.append([number, name, rows.num_rows])
        known = np.isin(member, [*self.own, *self.kept])
        mine = changes.filter(pa.array(np.isin(member, [*self.kept])))
        return {**self._hide(mine), "rows": int(known.sum()), "own": own}

    def publish(self, batch: int, reports: Sequence[Report]) -> None:
        """Publish for every query, then for the group."""
        hidden = [report.hidden for report in reports]
        whole = summary(batch, self.run, reports, sum(h["rows"] for h in hidden))
        files: dict[int, list[tuple[str, int]]] = {}
        for number, name, rows in (file for h in hidden for file in h["own"]):
            files.setdefault(number, []).append((name, rows))

        def publish(number: int) -> None:
            rows = sum(rows for _, rows in files[number])
            names = [name for name, _ in files[number]]
            self._own_place(number).publish(names, replace(whole, rows_out=rows))

        with ThreadPoolExecutor(HANDS) as hands:
            list(hands.map(publish, files))
        self.place.publish([h["file"] for h in hidden if h["file"] is not None], whole)

    def _own_place(self, number: int) -> Place:
        directory, format_ = self.own[number]
        return Place(path_of(directory), format_, self.run, self.compact_at)
