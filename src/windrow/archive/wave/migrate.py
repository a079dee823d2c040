"""Another scheme, number of constituents, technique, window or run format for an archive in use.

*Rebuilding* writes the window anew as the new scheme would have it if it had been there from the
start: one switch, and everything is as if nothing else had ever been. *Draining* writes nothing:
the new scheme starts with a window of empty days, the old constituents stay beside it, answer
queries, and go as their days expire; until then a probe looks into both.

Probes go on undisturbed, as always. Appends go on as well: what was published while the window was
being rebuilt is caught up with before the switch, day by day and each from where the other writer
put it, as often as it takes. Two migrations at once are a conflict.

Cost: rebuilding rewrites what is not packed already as the new layout wants it (all of it for
another format); ``estimate`` says how much. Draining costs up to n_old more searches per probe for
a window's length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self, TypedDict

from windrow.archive.format.disk import Disk
from windrow.archive.format.run_ref import Format, RunRef, check_format, join_encodings
from windrow.archive.progress_callback import Progress, nobody
from windrow.archive.runs.run import Run
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.versioned_index import Estimate, How, switch_over, two_migrations
from windrow.archive.versions.versions import Lease
from windrow.archive.wave.operations import Step
from windrow.archive.wave.scheme_state import State
from windrow.archive.wave.schemes import scheme_of
from windrow.archive.wave.techniques import Copied, Draft, Merged, Piece, Planned, technique_of
from windrow.archive.wave.transition import finish_pending, step_to
from windrow.archive.wave.wave import DRAINING, Index, Part, Settings, TechniqueName, Wave
from windrow.archive.wave.writer import Writer


class Changes(TypedDict, total=False):
    """What can be changed of an archive of days; what is not named stays as it is."""

    scheme: str
    n: int
    technique: TechniqueName
    window: int
    format: Format


@dataclass(frozen=True)
class Target:
    """The layout that an archive is to have."""

    settings: Settings
    format: Format
    how: How = "rebuild"

    @classmethod
    def of(cls, manifest: Manifest, changes: Changes, how: How) -> Self:
        """What a version becomes with some changes."""
        old = Wave.of(manifest).settings
        settings = replace(
            old,
            scheme=scheme_of(changes.get("scheme", old.scheme)).name,
            n=changes.get("n", old.n),
            technique=changes.get("technique", old.technique),
            window=changes.get("window", old.window),
        )
        return cls(settings, check_format(changes.get("format", manifest.format)), how)


def estimate(manifest: Manifest, target: Target) -> Estimate:
    """The cost of a migration, without doing any of it."""
    wave = Wave.of(manifest)
    if wave.now is None:
        return Estimate(0, 0, 0)
    if target.how == "drain":
        parts = sum(len(index.parts) for index in _old(wave).values())
        return Estimate(0, target.settings.window - 1, parts + target.settings.n)
    planned = _plan_layout(wave, target)
    pieces = [piece for plan in planned.values() for piece in plan.pieces]
    return Estimate(sum(map(_bytes_to_write, set(pieces))), 0, len(pieces))


def migrate(
    disk: Disk,
    lease: Lease,
    opened: Callable[[RunRef], Run],
    target: Target,
    progress: Progress = nobody,
) -> int:
    """Bring the version that the lease holds, and all that come meanwhile, to the new layout."""
    base = lease.manifest
    writer = Writer(disk, base.layout, target.format, base.encodings, lease.token, opened, progress)
    return switch_over(disk, lease, _Mover(disk, lease, target, writer).onto)


class _Mover:
    """A wave on its way to another layout."""

    def __init__(self, disk: Disk, lease: Lease, target: Target, writer: Writer) -> None:
        self._disk, self._target, self._writer = disk, target, writer
        self._token, self._form = lease.token, lease.manifest.format
        self._settings = Wave.of(lease.manifest).settings
        self._wave: Wave | None = None

    def onto(self, base: Manifest) -> Manifest:
        """The version after ``base`` in the new layout."""
        later, wave, window = Wave.of(base), self._wave, self._target.settings.window
        if later.settings != self._settings or base.format != self._form:
            raise two_migrations(self._disk)
        if wave is None or wave.now is None or (later.now or 0) > wave.now + window:
            # At first; and if nothing that was there is left.
            self._wave = _switch(later, self._target, self._writer)
        else:
            self._wave = _catch_up(wave, later, base, self._writer)
        form, encodings = self._target.format, self._writer.encodings
        return self._wave.manifest(base.version + 1, self._token, base.layout, form, encodings)


def _switch(wave: Wave, target: Target, writer: Writer) -> Wave:
    """The wave in its new layout."""
    if wave.now is None:
        return replace(wave, settings=target.settings)
    if target.how == "rebuild":
        indexes, draining = writer.indexes(_plan_layout(wave, target)), {}
    else:
        empty = Wave(target.settings, wave.now)
        indexes, draining = writer.indexes(_plan_layout(empty, target)), _old(wave)
    state, _ = _start(wave.now, target.settings)
    return replace(
        wave,
        settings=target.settings,
        state=state,
        indexes=indexes,
        draining=draining,
        pending=(),
        prepared=False,
    )


def _catch_up(wave: Wave, later: Wave, manifest: Manifest, writer: Writer) -> Wave:
    """The new layout with what the old one has taken in since."""
    assert wave.now is not None
    assert later.now is not None
    writer.encodings = join_encodings(writer.encodings, manifest.encodings)
    for day in range(wave.now + 1, later.now + 1):
        if wave.pending:
            wave = finish_pending(wave, writer)
        # Under names that are no constituents' the step finds the day's data there.
        lent = {f"{DRAINING}{name}": index for name, index in later.constituents().items()}
        mine = {**wave.indexes, **{n: _only(i, day) for n, i in lent.items() if day in i.days}}
        wave = step_to(replace(wave, indexes=mine, ahead={}), day, writer)
        wave = replace(wave, indexes={n: i for n, i in wave.indexes.items() if n not in lent})
    return replace(wave, ahead=later.ahead, batches=later.batches)


def _only(index: Index, day: int) -> Index:
    others = tuple(d for d in index.days if d != day)
    return Index((day,), tuple(part.without(others) for part in index.parts if day in part.days))


def _start(now: int, settings: Settings) -> tuple[State, Step]:
    return scheme_of(settings.scheme).start(settings.window, settings.n, now - settings.window + 1)


def _plan_layout(wave: Wave, target: Target) -> dict[str, Planned]:
    """The indexes of the new layout, with data from wherever it is now."""
    assert wave.now is not None
    _, step = _start(wave.now, target.settings)
    draft = Draft(_live_indexes(wave, {**wave.indexes, **wave.draining}), {})
    draft.planned = {}
    for operation in (*step.before, *step.transition, *step.after):
        draft.carry_out(operation)
    done = draft.finish(technique_of(target.settings))
    return {
        name: replace(plan, pieces=tuple(_in_format(target.format, p) for p in plan.pieces))
        for name, plan in done.items()
        if isinstance(plan, Planned)  # as all are: each is built anew
    }


def _in_format(form: Format, piece: Piece) -> Piece:
    """Another format needs another run, also where the old one is packed.

    It is the run's own format that counts: what drains may be of an earlier one than the archive.
    """
    part = piece.part if isinstance(piece, Copied) else piece
    return Merged((part,)) if isinstance(part, Part) and part.run.format != form else piece


def _old(wave: Wave) -> dict[str, Index]:
    """What answers queries now, under names that the new layout does not use."""
    taken = _live_indexes(wave, wave.draining)
    for name, index in _live_indexes(wave, wave.constituents()).items():
        label, count = f"{DRAINING}{name}", 1
        while label in taken:
            count += 1
            label = f"{DRAINING}{name} ({count})"
        taken[label] = index
    return taken


def _live_indexes(wave: Wave, indexes: Mapping[str, Index]) -> dict[str, Index]:
    """Indexes without their expired days: a longer window must not bring them back."""
    assert wave.now is not None
    first = wave.now - wave.settings.window + 1
    return {
        name: Index(
            index.days[bisect_left(index.days, first) :],
            tuple(
                part.without(part.days[: bisect_left(part.days, first)])
                for part in index.parts
                if part.days and part.days[-1] >= first
            ),
        )
        for name, index in indexes.items()
    }


def _bytes_to_write(piece: Piece) -> int:
    """Bytes that a piece will take, as those of its rows take now."""
    if isinstance(piece, Part):
        return 0
    parts = (piece.part,) if isinstance(piece, Copied) else piece.parts
    return sum(part.run.bytes * part.rows // max(part.run.rows, 1) for part in parts)
