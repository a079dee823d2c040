"""Walks along the edges of an interval skip list; see ``skiplist``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from windrow.columns.arrays import Int64s
from windrow.columns.kernels import grid, grid_out, inline, int64, ints, ints_out, kernel, void
from windrow.subscriptions.indexes.idlists import headers_in, ints32, ints32_out
from windrow.subscriptions.indexes.interval_index import (
    SLACK,
    WIDE,
    ZERO,
    U,
    append_rest,
    copy_eight,
)

heights_in = types.Array(types.int8, 1, "C", readonly=True)
heights_out = types.Array(types.int8, 1, "C")

END = 2**63 - 1
"""The key that stands after every node."""


@inline
def _before(edges: Any, node: int, level: int, key: int) -> Any:
    """The last node from ``node`` on along ``level`` whose key is less."""
    while edges[node + level, 1] >= 0 and edges[node + level, 0] < key:
        node = edges[node + level, 1]
    return node


@kernel(void, grid, int64, ints, ints_out)
def _find(edges: Any, levels: int, keys: Any, nodes: Any) -> None:
    for i in range(len(keys)):
        node = 0
        for level in range(levels - 1, -1, -1):
            node = _before(edges, node, level, keys[i])
        after = edges[node, 1]
        if keys[i] == -END - 1:
            nodes[i] = 0
        elif after >= 0 and edges[node, 0] == keys[i]:
            nodes[i] = after
        else:
            nodes[i] = -1


def find(edges: Int64s, levels: int, keys: Int64s) -> Int64s:
    """The node at each key, or -1; the head stands at the least integer."""
    nodes = np.empty(len(keys), np.int64)
    _find(edges, levels, keys, nodes)
    return nodes


@kernel(int64, grid, int64, ints, ints, ints_out)
def _split_edges(edges: Any, levels: int, keys: Any, heights: Any, found: Any) -> int:
    count = 0
    for i in range(len(keys)):
        node = 0
        for level in range(levels - 1, -1, -1):
            node = _before(edges, node, level, keys[i])
            if level < heights[i]:
                found[count] = node + level
                count += 1
    return count


def split_edges(edges: Int64s, levels: int, keys: Int64s, heights: Int64s) -> Int64s:
    """The edges over which nodes with these keys and heights would come to stand."""
    found = np.empty(int(heights.sum()), np.int64)
    return found[: _split_edges(edges, levels, keys, heights, found)]


@kernel(int64, grid, int64, ints, ints_out)
def _joined_edges(edges: Any, levels: int, keys: Any, found: Any) -> int:
    count = 0
    for key in keys:
        node = 0
        for level in range(levels - 1, -1, -1):
            node = _before(edges, node, level, key)
            if edges[node + level, 1] >= 0 and edges[node + level, 0] == key:
                found[count] = node + level
                found[count + 1] = edges[node + level, 1] + level
                count += 2
    return count


def joined_edges(edges: Int64s, levels: int, keys: Int64s) -> Int64s:
    """The edges to and from the nodes with these keys."""
    found = np.empty(2 * levels * len(keys), np.int64)
    return found[: _joined_edges(edges, levels, keys, found)]


@kernel(void, grid_out, int64, ints, ints, int64, heights_out)
def link(edges: Any, levels: int, keys: Any, heights: Any, first: int, tall: Any) -> None:
    """Put in nodes with new, increasing keys; their edges are numbered from ``first`` on."""
    # On each level the next key lies behind the node where the walk for the last one went down.
    reached = np.zeros(64, np.int64)
    reached_key = np.full(64, -END - 1, np.int64)
    for i in range(len(keys)):
        node, at = np.int64(0), -END - 1
        for level in range(levels - 1, -1, -1):
            if reached_key[level] > at:
                node, at = reached[level], reached_key[level]
            while edges[node + level, 1] >= 0 and edges[node + level, 0] < keys[i]:
                node, at = edges[node + level, 1], edges[node + level, 0]
            reached[level], reached_key[level] = node, at
        for level in range(heights[i]):
            before = reached[level] + level
            edges[first + level, 0] = edges[before, 0]
            edges[first + level, 1] = edges[before, 1]
            edges[before, 0] = keys[i]
            edges[before, 1] = first
            reached[level], reached_key[level] = first, keys[i]
        tall[first] = heights[i]
        first += heights[i]


@kernel(void, grid_out, int64, ints)
def unlink(edges: Any, levels: int, keys: Any) -> None:
    """Take out the nodes with these keys."""
    for key in keys:
        node = np.int64(0)
        for level in range(levels - 1, -1, -1):
            node = _before(edges, node, level, key)
            gone = edges[node + level, 1]
            if gone >= 0 and edges[node + level, 0] == key:
                edges[node + level, 0] = edges[gone + level, 0]
                edges[node + level, 1] = edges[gone + level, 1]


@inline
def _next_edge(edges: Any, tall: Any, node: int, level: int, hi: int) -> Any:
    """The level of the longest edge from ``node`` that does not lead past ``hi``."""
    while level + 1 < tall[node] and edges[node + level + 1, 0] <= hi:
        level += 1
    while edges[node + level, 0] > hi:
        level -= 1
    return level


@kernel(void, grid, heights_in, ints, ints, ints_out)
def path_sizes(edges: Any, tall: Any, starts: Any, hi: Any, counts: Any) -> None:
    """How many edges lead from each start to each end; written behind a leading cell."""
    for i in range(len(starts)):
        node, level, at = starts[i], np.int64(0), hi[i] - 1
        count = 0
        while at != hi[i]:
            level = _next_edge(edges, tall, node, level, hi[i])
            at = edges[node + level, 0]
            node = edges[node + level, 1]
            count += 1
        counts[i + 1] = count


@kernel(void, grid, heights_in, ints, ints, ints, ints32_out)
def paths(edges: Any, tall: Any, starts: Any, hi: Any, offsets: Any, found: Any) -> None:
    """The edges that lead from each start to each end."""
    for i in range(len(starts)):
        node, level, at = starts[i], np.int64(0), hi[i] - 1
        count = offsets[i]
        while at != hi[i]:
            level = _next_edge(edges, tall, node, level, hi[i])
            found[count] = node + level
            at = edges[node + level, 0]
            node = edges[node + level, 1]
            count += 1


@kernel(
    types.UniTuple(int64, 2), headers_in, ints32, grid, int64,
    ints, ints32_out, ints32_out, int64, int64,
)  # fmt: skip
def collect(
    headers: Any, pool: Any, edges: Any, levels: int,
    points: Any, buffer: Any, ends: Any, done: int, end: int,
) -> Any:  # fmt: skip
    room, at = U(len(buffer) - SLACK), U(end)
    for i in range(U(done), U(len(points))):
        begin = at
        x = points[i]
        node = ZERO
        for height in range(levels, 0, -1):
            level = U(height - 1)
            while edges[node + level, 0] <= x and edges[node + level, 1] >= 0:
                node = U(edges[node + level, 1])
            v = node + level
            start, length = U(headers[v, 0]), U(headers[v, 1])
            if length > WIDE:
                if at + length > room:
                    return np.int64(i), np.int64(begin)
                append_rest(pool, start, length, buffer, at)
            copy_eight(pool, start, buffer, at)
            at += length
        if at > room:
            return np.int64(i), np.int64(begin)
        ends[i] = at
    return np.int64(len(points)), np.int64(at)
