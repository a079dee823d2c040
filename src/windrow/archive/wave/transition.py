"""From one version of a wave index to the next: what changes, and a writer that publishes it.

What a step makes of a window is pure, but for the runs that a ``Writer`` writes; ``plan_days`` says
it of the days to come. A ``WriteSession`` is one writer at work on one version. It holds a lease on
its base for as long as it lasts. Runs may be written by other processes on its behalf
(``write_day`` with a name that ``name`` made): they are safe from vacuum while the session lasts,
and part of the archive once ``commit`` has published them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from windrow.archive.errors import ConflictError, DamagedError, DayError, HalfwayError, StorageError
from windrow.archive.format.disk import Disk
from windrow.archive.format.run_ref import RunRef, join_encodings
from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.archive.runs.run import Run
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.versions import Lease, Versions
from windrow.archive.wave.operations import Add, Delete, Operation, Pack, Step
from windrow.archive.wave.scheme_state import State, is_constituent
from windrow.archive.wave.schemes import scheme_of
from windrow.archive.wave.techniques import Draft, Planned, overgrown, technique_of
from windrow.archive.wave.wave import Index, Wave
from windrow.archive.wave.writer import Writer


def plan_indexes(wave: Wave, operations: tuple[Operation, ...]) -> dict[str, Planned | Index]:
    """What operations would make of the indexes; nothing is done."""
    draft = Draft(wave.indexes, wave.ahead)
    for operation in operations:
        draft.carry_out(operation)
    return draft.finish(technique_of(wave.settings))


def step_to(wave: Wave, day: int, writer: Writer) -> Wave:
    """The window moved on to ``day``: its data can be queried, what is left to do is pending.

    The first day starts the scheme with a window of empty days before it. So does a day that lies
    further ahead than the window is long: nothing of what was there is in the window any more.
    """
    settings, scheme = wave.settings, scheme_of(wave.settings.scheme)
    if wave.state is None or wave.now is None or day > wave.now + settings.window:
        state, step = scheme.start(settings.window, settings.n, day - settings.window + 1)
        operations = step.before + step.transition
        wave = replace(wave, indexes={}, draining={})
    else:
        assert not wave.pending
        state, step = _advance(settings.scheme, wave.state, day)
        operations = (() if wave.prepared else step.before) + step.transition
    return replace(
        wave,
        indexes=writer.indexes(plan_indexes(wave, operations)),
        ahead={d: runs for d, runs in wave.ahead.items() if d > day},
        now=day,
        state=state,
        pending=step.after,
        prepared=False,
        draining={
            name: index
            for name, index in wave.draining.items()
            if index.days and index.days[-1] > day - settings.window
        },
    )


def finish_pending(wave: Wave, writer: Writer) -> Wave:
    """What was pending, done; and what the next day asks for that needs nothing of its data.

    Operations on constituents are left to the step itself, which shows them whole; but those that
    the technique packs at rest are packed.
    """
    operations, prepared = wave.pending, wave.prepared
    if wave.state is not None:
        step = _after(wave, wave.state)[1]
        if not prepared and step.before and not any(is_constituent(o.target) for o in step.before):
            operations, prepared = operations + step.before, True
        operations += _pack_operations(wave, step)
    if not operations:
        return wave
    return replace(
        wave, indexes=writer.indexes(plan_indexes(wave, operations)), pending=(), prepared=prepared
    )


def plan_days(wave: Wave, days: int) -> list[tuple[int, Step]]:
    """The steps of the coming days, and what is packed as it comes to rest; nothing is done.

    Of the first, what is done already is left out, and what a day before it left undone is there.
    When indexes outgrow their room depends on how much data comes, and is not foretold.
    """
    steps, state = [], wave.state
    packs = technique_of(wave.settings).packs_at_rest
    following = _after(wave, state)
    for _ in range(days):
        state, step = following
        following = _after(wave, state)
        changed = {o.target for o in step.operations if isinstance(o, Add | Delete)}
        resting = changed - _touched_indexes(following[1]) if packs else set()
        packed = tuple(Pack(name) for name in sorted(resting) if len(state.indexes[name]) > 1)
        steps.append((state.day, replace(step, after=step.after + packed)))
    if steps:
        day, first = steps[0]
        before = wave.pending + (() if wave.prepared else first.before)
        steps[0] = day, replace(first, before=before)
    return steps


def _after(wave: Wave, state: State | None) -> tuple[State, Step]:
    settings, scheme = wave.settings, scheme_of(wave.settings.scheme)
    if state is None:
        first = min(wave.ahead, default=1)
        return scheme.start(settings.window, settings.n, first - settings.window + 1)
    return _advance(settings.scheme, state, state.day + 1)


@lru_cache(maxsize=4)
def _advance(scheme: str, state: State, day: int) -> tuple[State, Step]:
    """The settling of one day looks at the next day's step, which is then taken."""
    return scheme_of(scheme).advance(state, day)


def _pack_operations(wave: Wave, following: Step) -> tuple[Pack, ...]:
    """What is to be packed now, if anything is at rest."""
    if not technique_of(wave.settings).packs_at_rest:
        return ()
    touched, growth = _touched_indexes(following), wave.settings.growth
    return tuple(
        Pack(name)
        for name, index in wave.constituents().items()
        if not index.is_packed and (name not in touched or overgrown(index.parts, growth))
    )


def _touched_indexes(step: Step) -> set[str]:
    return {
        name
        for operation in step.operations
        for name in (operation.target, getattr(operation, "source", operation.target))
    }


class WriteSession:
    """A writer with a lease. ``version`` is the base, and after ``commit`` what was published."""

    def __init__(self, disk: Disk, lease: Lease, opened: Callable[[RunRef], Run]) -> None:
        self.base: Manifest = lease.manifest
        self.version = lease.manifest.version
        self._disk, self._token, self._wave = disk, lease.token, Wave.of(lease.manifest)
        base = lease.manifest
        self._writer = Writer(disk, base.layout, base.format, base.encodings, lease.token, opened)

    def name(self, suffix: str) -> str:
        """A name for a run that is written elsewhere; another suffix for each."""
        return f"{self._token}-{suffix}"

    def has(self, batch: tuple[str, int] | None) -> bool:
        """Whether a source's batch was appended before."""
        return batch is not None and self._wave.batches.get(batch[0], -1) >= batch[1]

    def check(self, days: Iterable[int], now: int | None) -> None:
        """Refuse days that cannot be taken and moments that are past."""
        for day in days:
            _check_day(day, self._wave, now)
        if now is not None and not _IN_BITS[0] < now < _IN_BITS[1]:
            raise _too_large(now)
        label = self._wave.settings.calendar.label
        if now is not None and self._wave.now is not None and now < self._wave.now:
            raise DayError(
                where=f"day {label(now)}",
                expected=f"day {label(self._wave.now)} or a later one",
                found=label(now),
                remedy="a window cannot move back",
            )

    def write(self, day: int, data: Any) -> Sequence[RunRef]:
        """A day's records as a run, or none if there are no entries."""
        run = self._writer.day(day, data)
        return () if run is None else (run,)

    def commit(
        self,
        runs: Mapping[int, Sequence[RunRef]],
        *,
        now: int | None = None,
        batch: tuple[str, int] | None = None,
        encodings: Iterable[Mapping[str, str]] = (),
        progress: Progress = nobody,
    ) -> int:
        """Publish runs by day, and move the window on to ``now``; ``encodings`` are those that
        others have chosen for the runs that they wrote.

        Each day that the window moves on is a version of its own; the first has the runs. What
        fails after that is a ``HalfwayError``. ``progress`` is told how many of them are done.
        """
        wave, writer = self._wave, self._writer
        writer.encodings = join_encodings(writer.encodings, *encodings)
        ahead = dict(wave.ahead)
        for day, found in runs.items():
            if found:
                ahead[day] = writer.few((*ahead.get(day, ()), *found))
        batches = wave.batches if batch is None else {**wave.batches, batch[0]: batch[1]}
        changed = replace(wave, ahead=ahead, batches=batches)
        if now is None or now == wave.now:
            if now is not None:
                changed = finish_pending(changed, writer)
            return self.version if changed == wave else self._publish(changed)
        before = self.version
        try:
            return self._move_on(changed, now, progress)
        except (ConflictError, DamagedError, StorageError) as error:
            if self.version == before:
                raise
            raise HalfwayError(self.version, error) from error

    def _move_on(self, wave: Wave, now: int, progress: Progress) -> int:
        """A version for each day up to ``now``, and one for what comes after a day."""
        writer, jump = self._writer, wave.now is None or now > wave.now + wave.settings.window
        days = [now] if wave.now is None or jump else range(wave.now + 1, now + 1)
        for done, day in enumerate(days, start=1):
            if wave.pending and not jump:
                wave = finish_pending(wave, writer)
            wave = step_to(wave, day, writer)
            self._publish(wave)
            progress(Reached("days added", done, len(days)))
        rest = finish_pending(wave, writer)
        if rest != wave:
            with contextlib.suppress(ConflictError):  # who came between finds it left to do
                self._publish(rest)
        return self.version

    def _publish(self, wave: Wave) -> int:
        base = self.base
        manifest = wave.manifest(
            self.version + 1, self._token, base.layout, base.format, self._writer.encodings
        )
        Versions(self._disk).publish(manifest)
        self.version, self._wave = manifest.version, wave
        return self.version


_IN_BITS = -(2**31), 2**31


def _too_large(day: int) -> DayError:
    return DayError(
        where=f"day {day}",
        expected="a day of at most 31 bits",
        found=str(day),
        remedy="count days from a later beginning, or in longer days",
    )


def _check_day(day: int, wave: Wave, now: int | None) -> None:
    if not _IN_BITS[0] < day < _IN_BITS[1]:
        raise _too_large(day)
    label = wave.settings.calendar.label
    if wave.now is not None and day <= wave.now:
        raise DayError(
            where=f"day {label(day)}",
            expected=f"a day after {label(wave.now)}, to which the window has moved",
            found=label(day),
            remedy="append late records under a day that is still open",
        )
    expired = None if now is None else now - wave.settings.window
    if expired is not None and day <= expired:
        raise DayError(
            where=f"day {label(day)}",
            expected=f"a day after {label(expired)}, where the window will begin",
            found=label(day),
            remedy="leave these records out: they would expire before anyone can read them",
        )
