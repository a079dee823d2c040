"""From one version of a wave index to the next: pure, but for the runs that a writer writes."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

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
