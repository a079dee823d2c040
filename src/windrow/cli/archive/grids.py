"""The grid of an index of lifetimes, as it is typed and as it is shown.

Typed are its sides, how periods are dealt out and how sub-indices are updated; shown are the
periods of each sub-index, and what the next updates touch.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from windrow.archive.lifetimes.index_contents import (
    GridStatistics,
    PlannedUpdate,
    joined_neighbours,
)
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import (
    Assignment,
    Chronological,
    Grid,
    GridTechnique,
    Randomised,
    RoundRobin,
)
from windrow.cli.answers import count_of
from windrow.cli.archive.options import Instants, print_json
from windrow.cli.console import out, size
from windrow.core.errors import InputError

LISTED = 6
"""Periods that are listed one by one."""
NOT_BEGUN = "the first append decides when it begins; plan after it"


def show_grid(path: str, index: LifetimeIndex, *, as_json: bool) -> None:
    """Which periods each sub-index takes in and forgets."""
    found = index.stat()
    if as_json:
        print_json(plain_grid(found))
        return
    times = Instants(found.periods)
    now = "not updated yet" if found.now is None else f"updated at {times.label(found.now)}"
    out().print(
        f"{path}: version {found.version}, {now}, {found.grid.name}, lifetimes of up to "
        f"{count_of(found.periods.count, 'period')}, {found.format} runs"
    )
    out().print(_draw(found, times))
    out().print(f"{count_of(found.entries, 'record')}, {size(found.bytes)} on disk")


def plain_grid(found: GridStatistics) -> dict[str, Any]:
    """For programs; instants and periods are written as every command takes them."""
    times = Instants(found.periods)
    value = {**asdict(found), "grid": found.grid.to_json()}
    value["now"] = None if found.now is None else times.label(found.now)
    for one in value["subindices"]:
        for name in ("inserted", "expires"):
            one[name] = [times.span(period, period) for period in one[name]]
    return value


def _draw(found: GridStatistics, times: Instants) -> Table:
    table = Table()
    for name in ("index", "inserted in", "expires in"):
        table.add_column(name)
    for name in ("runs", "records", "dead", "bytes"):
        table.add_column(name, justify="right")
    for one in found.subindices:
        table.add_row(
            Text(one.name),
            _spans(one.inserted, times),
            _spans(one.expires, times),
            str(one.runs),
            f"{one.entries:,}",
            f"{one.dead:,}" if one.dead else "",
            size(one.bytes),
        )
    return table


def _spans(periods: tuple[int, ...], times: Instants) -> Text:
    """Periods: neighbours joined; those that come in turn by the first, the second, the last."""
    steps = {later - earlier for earlier, later in pairwise(periods)}
    if len(periods) > LISTED and len(steps) == 1 and steps != {1}:
        first, second, last = (times.span(p, p) for p in (*periods[:2], periods[-1]))
        return Text(f"{first}, {second}, ... {last}, {len(periods)} in all")
    return Text(", ".join(times.span(*ends) for ends in joined_neighbours(periods)) or "-")


def show_coming(path: str, index: LifetimeIndex, updates: int, *, as_json: bool) -> None:
    """The sub-indices that the next updates insert into and expire from."""
    coming, times = index.plan(updates), Instants(index.periods)
    if as_json:
        print_json([_plain(one, times) for one in coming])
        return
    if not coming:
        out().print(f"{path}: {NOT_BEGUN}")
        return
    table = Table()
    for name in ("update at", "inserts into", "expires from"):
        table.add_column(name)
    for one in coming:
        table.add_row(times.label(one.now), " ".join(one.inserted), " ".join(one.expired))
    out().print(table)


def _plain(one: PlannedUpdate, times: Instants) -> dict[str, Any]:
    return {**asdict(one), "now": times.label(one.now)}


class Technique(StrEnum):
    """How an index is updated; the last two are those of grids."""

    IN_PLACE = "in-place"
    SIMPLE_SHADOW = "simple shadow"
    PACKED_SHADOW = "packed shadow"
    PACKED_AT_REST = "packed at rest"
    REBUILD = "Rebuild"
    NO_REBUILD = "NoRebuild"


class Dealt(StrEnum):
    """Which partition a period belongs to."""

    ROUND_ROBIN = "round-robin"
    CHRONOLOGICAL = "chronological"
    RANDOMISED = "randomised"


OF_GRIDS = {Technique.REBUILD, Technique.NO_REBUILD}

Sides = Annotated[
    str | None,
    typer.Option(
        metavar="G,E",
        help="Records have lifetimes of their own: partitions by insertion and by expiry time. "
        "4,1 was the least work where it was measured.",
        show_default=False,
    ),
]
DealtOut = Annotated[
    Dealt | None,
    typer.Option(help="How periods are assigned to the partitions of a grid."),
]


def grid_of(
    sides: str | None, technique: Technique | None, dealt: Dealt | None, before: Grid
) -> Grid:
    """A grid with some settings changed. Randomised assignments have the seed 0."""
    if technique is not None and technique not in OF_GRIDS:
        raise InputError(
            where="--technique",
            expected=" or ".join(sorted(OF_GRIDS)),
            found=technique.value,
            remedy="the others are for archives of days",
        )
    grid = before
    if sides is not None:
        found = [side.strip() for side in sides.split(",")]
        if len(found) != 2 or not all(side.isdecimal() for side in found):
            raise InputError(where="--grid", expected="two numbers such as 4,4", found=sides)
        grid = replace(grid, insertions=int(found[0]), expiries=int(found[1]))
    if technique is not None:
        grid = replace(grid, technique=GridTechnique(technique.value))
    return grid if dealt is None else replace(grid, assignment=_ASSIGNMENTS[dealt])


_ASSIGNMENTS: dict[Dealt, Assignment] = {
    Dealt.ROUND_ROBIN: RoundRobin(),
    Dealt.CHRONOLOGICAL: Chronological(),
    Dealt.RANDOMISED: Randomised(),
}
