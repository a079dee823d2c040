"""An index of lifetimes on a screen: its grid, and what the next updates touch."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.stat import GridStatistics, PlannedUpdate
from windrow.cli.answers import count_of
from windrow.cli.archive.options import print_json, size
from windrow.cli.archive.times import Instants
from windrow.cli.console import out

LISTED = 6
"""Periods that are listed one by one."""
NOT_BEGUN = "the first append decides when it begins; plan after it"


def show_grid(path: Path, index: LifetimeIndex, *, as_json: bool) -> None:
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
    joined: list[tuple[int, int]] = []
    for period in periods:
        if joined and joined[-1][1] == period - 1:
            joined[-1] = joined[-1][0], period
        else:
            joined.append((period, period))
    return Text(", ".join(times.span(*ends) for ends in joined) or "-")


def show_coming(path: Path, index: LifetimeIndex, updates: int, *, as_json: bool) -> None:
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
