"""Whether results and archive are those of a run that nobody disturbed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.faults.plan import ARCHIVE, QUERIES
from windrow.archive.archive import Archive
from windrow.plan.catalog import Catalog
from windrow.result_files.change_table import changes_schema, read_changes

Bags = dict[object, Counter[tuple[object, ...]]]


def differences(catalog: Catalog, expected: Path, found: Path) -> dict[str, str]:
    """For each query and the archive what is wrong with it, or nothing."""
    told = {name: _query(catalog, name, expected, found) for name in QUERIES}
    return {**told, ARCHIVE: _archive(expected, found)}


def _query(catalog: Catalog, name: str, expected: Path, found: Path) -> str:
    one, other = (_net(catalog, name, place) for place in (expected, found))
    if not one:
        return "the undisturbed run has no changes: nothing is compared"
    wrong = _unordered(catalog, name, found)
    for instant in sorted({*one, *other}, key=str):
        missing = one.get(instant, Counter()) - other.get(instant, Counter())
        extra = other.get(instant, Counter()) - one.get(instant, Counter())
        if missing or extra:
            return f"at {instant} missing {dict(missing)}, too many {dict(extra)}{wrong}"
    return wrong


def _changes(catalog: Catalog, name: str, place: Path) -> Iterator[tuple[object, ...]]:
    declared = next(q for q in catalog.queries if q.name == name)
    schema = changes_schema(declared.plan.schema, declared.clock)
    for row in read_changes(place / "out" / name, QUERIES[name], schema).to_pylist():
        yield tuple(row.values())


def _net(catalog: Catalog, name: str, place: Path) -> Bags:
    """Per instant what came and, counted negative, what went, net."""
    bags: Bags = {}
    for instant, change, *values in _changes(catalog, name, place):
        bag = bags.setdefault(instant, Counter())
        bag[change, *values] += 1
    for bag in bags.values():
        for sign, *values in tuple(bag):
            both = min(bag[sign, *values], bag["+" if sign == "-" else "-", *values])
            bag["+", *values] -= both
            bag["-", *values] -= both
    return {t: +bag for t, bag in bags.items() if +bag}


def _unordered(catalog: Catalog, name: str, place: Path) -> str:
    """Instants come in their order, and nothing goes that was not there."""
    last, holds = None, Counter[tuple[object, ...]]()
    at_once: Counter[tuple[object, ...]] = Counter()
    for instant, change, *values in _changes(catalog, name, place):
        if last is not None and instant is not None and instant < last:  # type: ignore[operator]
            return f"; {instant} comes after {last}"
        if instant != last:
            holds, at_once = _after(holds, at_once), Counter()
            if negative := [row for row, count in holds.items() if count < 0]:
                return f"; before {instant} {negative[0]} went without having come"
        last = instant
        at_once[tuple(values)] += 1 if change == "+" else -1
    return ""


def _after(holds: Counter[tuple[object, ...]], at_once: Counter[tuple[object, ...]]) -> Counter:
    holds.update(at_once)
    return holds


def _archive(expected: Path, found: Path) -> str:
    one, other = (_records(place) for place in (expected, found))
    if not one:
        return "the undisturbed run has archived nothing: nothing is compared"
    problems = Archive.open(found / "out" / ARCHIVE).verify()
    if problems:
        return f"verify: {problems[0]}"
    if one != other:
        return f"missing {dict(one - other)}, too many {dict(other - one)}"
    return ""


def _records(place: Path) -> Counter[tuple[object, ...]]:
    archive = Archive.open(place / "out" / ARCHIVE)
    with archive.reader() as reader:
        names = [*archive.layout.schema.names, "_day"]
        return Counter(tuple(r.values()) for r in reader.scan(columns=names).to_pylist())
