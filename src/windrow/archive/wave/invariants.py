"""A window of days against its scheme and its technique: which days are where, in how many runs.

What is checked are the invariants of ``wave.py``, those of ``docs/design/wave-indices.md`` that one
version can show, and that a day's entries are the same wherever it is indexed.

Of packing, what is promised at every moment, between a day's switch and what follows it too: under
packed shadow every index is packed, and under REINDEX, which only builds. In place and by simple
shadow no index has outgrown its room (``techniques.py``); nor have the temporary ones under packed
at rest, whose constituents are packed after the switch. An earlier layout that drains promises
nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from windrow.archive.errors import SchemeError
from windrow.archive.format.disk import Disk
from windrow.archive.progress_callback import Progress, nobody
from windrow.archive.verify import Problem, list_text, problem, verify
from windrow.archive.versions.manifest import Manifest
from windrow.archive.wave.operations import Days, apply_all
from windrow.archive.wave.scheme_state import Scheme, State, is_constituent
from windrow.archive.wave.schemes import scheme_of
from windrow.archive.wave.techniques import overgrown
from windrow.archive.wave.wave import Index, Wave


def verify_window(disk: Disk, manifest: Manifest, progress: Progress = nobody) -> list[Problem]:
    """Everything that is wrong with an archive of days; see ``verify``."""
    return verify(disk, manifest, lambda _: window_problems(manifest, Wave.of(manifest)), progress)


def packing_problems(wave: Wave) -> Iterator[Problem]:
    settings = wave.settings
    built = scheme_of(settings.scheme).name == "REINDEX"
    for name, index in wave.indexes.items():
        if built or settings.technique == "packed shadow":
            if not index.is_packed:
                why = "REINDEX builds it" if built else "packed shadow leaves it"
                yield problem(
                    name, expected=f"one run without masked days, as {why}", found=_shape(index)
                )
            continue
        waits = settings.technique == "packed at rest" and is_constituent(name)
        if not waits and overgrown(index.parts, settings.growth):
            yield problem(
                name,
                expected="runs after the first with at most g - 1 times its entries, and at most "
                f"g entries stored for each that counts, where g is {settings.growth:g}",
                found=_shape(index),
            )


def _shape(index: Index) -> str:
    stored = ", ".join(str(part.run.rows) for part in index.parts)
    live = sum(part.rows for part in index.parts)
    runs = "1 run" if len(index.parts) == 1 else f"{len(index.parts)} runs"
    return f"{runs} of {stored} entries, of which {live} count"


def window_problems(manifest: Manifest, wave: Wave) -> Iterator[Problem]:
    named = Counter(ref.name for ref in manifest.runs)
    used = {ref.name for ref in wave.runs()}
    if named != Counter(used):
        other = sorted(name for name in named if named[name] > 1 or name not in used)
        yield problem(
            "runs",
            expected="each run once, and in an index or ahead",
            found=f"otherwise {list_text(other)}",
        )
    yield from _ahead(wave)
    for name, index in (*wave.indexes.items(), *wave.draining.items()):
        yield from _parts(name, index)
    if wave.state is None or wave.now is None:
        held = [*wave.indexes, *wave.draining, *map(str, wave.pending)]
        if held or wave.state is not None or wave.now is not None or wave.prepared:
            yield problem(
                "window",
                expected="nothing before its first day",
                found=list_text(held or ["a state"]),
            )
        return
    yield from _entries(wave)
    yield from _days(wave, wave.now)
    yield from _state(wave, wave.state, wave.now)
    yield from packing_problems(wave)


def _ahead(wave: Wave) -> Iterator[Problem]:
    for day, runs in wave.ahead.items():
        if wave.now is not None and day <= wave.now:
            yield problem(
                f"day {day}, ahead",
                expected=f"a day after {wave.now}, to which the window has moved",
                found=str(day),
            )
        others = {d for run in runs for d in run.rows_of} - {day}
        if others:
            yield problem(
                f"day {day}, ahead",
                expected="runs of that day only",
                found=f"entries of the days {list_text(sorted(others))}",
            )


def _parts(name: str, index: Index) -> Iterator[Problem]:
    """Entries of a day count if and only if the index covers it."""
    days = set(index.days)
    stray = {day for part in index.parts for day in part.days} - days
    if stray:
        yield problem(
            name,
            expected=f"entries of its days, {list_text(index.days)}",
            found=f"entries of the days {list_text(sorted(stray))}",
        )
    hidden = {day for part in index.parts for day in part.masked} & days
    if hidden:
        yield problem(
            name,
            expected="masks of days that it does not cover",
            found=f"masks of its days {list_text(sorted(hidden))}",
        )
    twice = [run for run, n in Counter(part.run.name for part in index.parts).items() if n > 1]
    if twice:
        yield problem(name, expected="each run once", found=f"{list_text(twice)} more than once")


def _entries(wave: Wave) -> Iterator[Problem]:
    """A day's entries are in one place that answers, and the same in every index that has it."""
    seen: dict[int, str] = {}
    for name, index in (*wave.constituents().items(), *wave.draining.items()):
        for day in _rows(index):
            if day in seen:
                yield problem(
                    name,
                    expected=f"no entries of day {day}, which {seen[day]} has",
                    found=f"{_rows(index)[day]} of them",
                )
            seen[day] = name
    first: dict[int, tuple[str, int]] = {}
    for name, index in (*wave.constituents().items(), *wave.indexes.items()):
        rows = _rows(index)
        for day in index.days:
            other, expected = first.setdefault(day, (name, rows.get(day, 0)))
            if rows.get(day, 0) != expected:
                yield problem(
                    name,
                    expected=f"the {expected} entries of day {day} that {other} has",
                    found=str(rows.get(day, 0)),
                )


def _rows(index: Index) -> dict[int, int]:
    rows: dict[int, int] = {}
    for part in index.parts:
        for day in part.days:
            rows[day] = rows.get(day, 0) + part.run.rows_of[day]
    return rows


def _days(wave: Wave, now: int) -> Iterator[Problem]:
    """The constituents cover the window once; a soft one a bounded number of days more."""
    settings, scheme = wave.settings, scheme_of(wave.settings.scheme)
    constituents = {name: index.days for name, index in wave.constituents().items()}
    names = {f"I{number}" for number in range(1, settings.n + 1)}
    if set(constituents) != names:
        yield problem(
            "constituents",
            expected=f"{settings.n}, from I1 to I{settings.n}",
            found=f"{len(constituents)}: {list_text(sorted(constituents))}",
        )
    held = Counter(day for days in constituents.values() for day in days)
    twice = sorted(day for day, times in held.items() if times > 1)
    if twice:
        yield problem(
            "constituents",
            expected="each day in one of them",
            found=f"days {list_text(twice)} in several",
        )
    first = now - settings.window + 1
    missing = [day for day in range(first, now + 1) if day not in held]
    surplus = sorted(day for day in held if day > now or (scheme.hard and day < first))
    if missing or surplus:
        yield problem(
            "window",
            expected=f"the days {first} to {now} in constituents"
            + (f", and no others under {scheme.name}" if scheme.hard else ""),
            found=f"{list_text(missing)} missing, and {list_text(surplus)} besides",
        )
    for name, days in constituents.items():
        if not days or days[-1] < first:
            yield problem(
                name, expected=f"a day from {first} on", found=f"the days {list_text(days)}"
            )
    most = _most(wave, scheme)
    if not scheme.hard and len(held) > most:
        yield problem(
            "window",
            expected=f"at most {most} days under {scheme.name}, expired ones among them",
            found=str(len(held)),
        )


def _most(wave: Wave, scheme: Scheme) -> int:
    window, n = wave.settings.window, wave.settings.n
    return window if scheme.hard else window - 1 + -(-(window - 1) // (n - 1))


def _state(wave: Wave, state: State, now: int) -> Iterator[Problem]:
    """The time-sets are the scheme's once what is pending has been carried out."""
    scheme = scheme_of(wave.settings.scheme)
    wanted = wave.settings.window, now
    if (state.window, state.day) != wanted:
        yield problem(
            "state",
            expected=f"that of a window of {wanted[0]} days up to {now}",
            found=f"that of {state.window} days up to {state.day}",
        )
        return
    longest = max((len(days) for _, days in _first_constituents(wave, scheme, state)), default=0)
    long = [name for name, days in state.temporaries if len(days) >= longest]
    if len(state.temporaries) > longest or long:
        yield problem(
            "state",
            expected=f"at most {longest} temporary indexes, of fewer than {longest} days each",
            found=f"{len(state.temporaries)}, too long among them {list_text(long)}",
        )
    try:
        following = scheme.advance(state, now + 1)[1]
        expected = state.indexes
        if wave.prepared:
            expected = apply_all(expected, following.before)
        held = {name: index.days for name, index in wave.indexes.items()}
        found = apply_all(held, wave.pending)
    except (SchemeError, LookupError) as error:
        yield problem(
            "state",
            expected=f"time-sets that {scheme.name} can continue from",
            found=str(error) if isinstance(error, SchemeError) else f"no index {error}",
        )
        return
    yield from _same(expected, found)


def _first_constituents(wave: Wave, scheme: Scheme, state: State) -> tuple[tuple[str, Days], ...]:
    """The constituents as they are when the scheme starts, the longest that there can be."""
    start, _ = scheme.start(wave.settings.window, wave.settings.n, state.day)
    return start.constituents


def _same(expected: Mapping[str, Days], found: Mapping[str, Days]) -> Iterator[Problem]:
    for name in sorted({*expected, *found}):
        wanted, held = expected.get(name), found.get(name)
        if wanted != held:
            yield problem(
                name,
                expected="no such index"
                if wanted is None
                else f"the days {list_text(wanted)}, as the scheme's state has them",
                found="no such index" if held is None else f"the days {list_text(held)}",
            )
