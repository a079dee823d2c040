"""One entry for each kind of node: what a module has to know of all of them.

Plans are drawn, estimated, cut into stages, turned into operators: each of these has to know every
kind of node. A table of this class that leaves a kind out is found by a test
(``tests/plan/nodes/test_every_node_is_known.py``), not by the first plan that has such a node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from windrow.plan.nodes.base import Node

Entry = TypeVar("Entry")


class PerNode(Generic[Entry]):
    """Entries by the class of a node. ``absent`` says of some kinds why they never come here."""

    tables: ClassVar[list[PerNode[Any]]] = []
    """All tables of the modules that are imported."""

    def __init__(
        self,
        purpose: str,
        entries: Mapping[type[Node], Entry],
        absent: Mapping[type[Node], str] | None = None,
    ) -> None:
        self.purpose, self.entries, self.absent = purpose, dict(entries), dict(absent or {})
        PerNode.tables.append(self)

    def __getitem__(self, node: Node) -> Entry:
        entry = self.entries.get(type(node))
        if entry is None:
            reason = self.absent.get(type(node), "unknown kind of node")
            raise TypeError(f"{self.purpose}: {type(node).__name__} has no entry ({reason})")
        return entry
