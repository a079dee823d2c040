"""From one version of a wave index to the next: pure, but for the runs that a writer writes."""

from __future__ import annotations

from dataclasses import replace

from windrow.archive.schemes.base import is_constituent
from windrow.archive.schemes.operations import Operation
from windrow.archive.schemes.registry import scheme_of
from windrow.archive.techniques.planned import Paper, Planned
from windrow.archive.techniques.registry import technique_of
from windrow.archive.wave import Wave
from windrow.archive.writer import Writer


def planned(wave: Wave, operations: tuple[Operation, ...]) -> dict[str, Planned]:
    """What operations would make of the indexes; nothing is done."""
    paper = Paper(wave.indexes, wave.ahead)
    for operation in operations:
        paper.carry_out(operation)
    return paper.settled(technique_of(wave.settings))


def stepped(wave: Wave, day: int, writer: Writer) -> Wave:
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
        state, step = scheme.advance(wave.state, day)
        operations = (() if wave.prepared else step.before) + step.transition
    return replace(
        wave,
        indexes=writer.indexes(planned(wave, operations)),
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


def settled(wave: Wave, writer: Writer) -> Wave:
    """What was pending, done; and what the next day asks for that needs nothing of its data.

    Operations on constituents are left to the step itself, which shows them whole.
    """
    operations, prepared = wave.pending, wave.prepared
    if wave.state is not None and not prepared:
        _, step = scheme_of(wave.settings.scheme).advance(wave.state, wave.state.day + 1)
        if step.before and not any(is_constituent(o.target) for o in step.before):
            operations, prepared = operations + step.before, True
    if not operations:
        return wave
    return replace(
        wave,
        indexes=writer.indexes(planned(wave, operations)),
        pending=(),
        prepared=prepared,
    )
