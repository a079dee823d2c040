"""CREATE SUBSCRIPTIONS in a task: the index beside the worker, as long as its files are the same.

Every worker that reads the stream holds the whole index; an index past a worker's memory is for
``windrow.spark.match``, which cuts it by ranges.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError
from windrow.plan.nodes import Node
from windrow.plan.rules.inputs import over
from windrow.plan.subscribe import Subscribe
from windrow.streams.files import find_files
from windrow.subscriptions.files import load
from windrow.subscriptions.matching import Matching

LOADED: dict[Subscribe, tuple[object, Matching]] = {}


class OnSpark:
    """Subscriptions of a connection on Spark, which are what their files say."""

    def __init__(self, name: str) -> None:
        self.name = name

    def add(self, *_: Any, **__: Any) -> NoReturn:
        raise InputError(
            where=f"subscriptions {self.name}",
            expected="changes in their file, with the columns since and until",
            found="a change from Python",
            remedy="run embedded to change subscriptions while their stream runs",
        )

    drop = add


def matching_for(node: Subscribe) -> Matching:
    """The node's operator, read once per worker and version of its files."""
    stats = [(str(p), p.stat()) for p in find_files(node.source)]
    token = [(name, s.st_mtime_ns, s.st_size) for name, s in stats]
    known = LOADED.get(node)
    if known is None or known[0] != token:
        wanted = load(node.source, node.attributes, node.clock)
        known = LOADED[node] = (token, Matching(wanted, node.columns, arrow_schema(node.schema)))
    return known[1]


def with_whole_paths(plan: Node) -> Node:
    """The plan with files of subscriptions named such that a worker elsewhere finds them."""
    if isinstance(plan, Subscribe):
        path = str(Path(plan.source.path).absolute())
        return replace(plan, source=replace(plan.source, path=path))
    return over(plan, with_whole_paths)
