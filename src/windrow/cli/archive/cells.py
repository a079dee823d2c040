"""A grid as it is typed: its sides, how periods are dealt out, how sub-indices are updated."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from windrow.archive.lifetimes.partition_grid import (
    Assignment,
    Chronological,
    Grid,
    GridTechnique,
    Randomised,
    RoundRobin,
)
from windrow.core.errors import InputError


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
        help="Records have lifetimes of their own: partitions by insertion and by expiry time.",
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
