"""A kind of node is known wherever all of them have to be: drawn, estimated, placed, built, ..."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import windrow
from windrow.plan.nodes import Node, Selection
from windrow.plan.nodes.base import PerNode

SOURCE = Path(windrow.__file__).parent


def kinds(above: type[Node] = Node) -> Iterator[type[Node]]:
    """Every class of nodes that plans consist of: those that no other one is made from."""
    below = [k for k in above.__subclasses__() if k.__module__.startswith("windrow.")]
    for kind in below:
        yield from kinds(kind)
    if not below and not above.__name__.startswith("_"):
        yield above


def tables() -> list[PerNode[object]]:
    """The tables of all modules, which are found by their text and imported."""
    for path in sorted(SOURCE.rglob("*.py")):
        if "= PerNode(" in path.read_text():
            importlib.import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
    return PerNode.tables


def unknown(table: PerNode[object], nodes: set[type[Node]]) -> set[str]:
    return {kind.__name__ for kind in nodes - set(table.entries) - set(table.absent)}


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.purpose)
def test_every_kind_of_node_has_an_entry_or_a_reason_to_have_none(table: PerNode[object]) -> None:
    nodes = set(kinds())
    assert len(nodes) > 20
    assert unknown(table, nodes) == set()
    assert (set(table.entries) | set(table.absent)) <= nodes
    assert not set(table.entries) & set(table.absent)
    assert all(table.absent.values())


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.purpose)
def test_a_new_kind_of_node_is_found_to_be_unknown(table: PerNode[object]) -> None:
    class Strange(Selection):
        pass

    assert unknown(table, {Strange}) == {"Strange"}
    with pytest.raises(TypeError, match="Strange has no entry"):
        table[Strange.__new__(Strange)]
