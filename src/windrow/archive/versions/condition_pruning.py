"""What a condition leaves of a run: a scan for engines that hand their filters down.

A condition is an Arrow expression over the columns of entries. Arrow can simplify it by what is
known of the values, as it does to leave out partitions of a dataset: of the keys from one to
another in a directory it is known that they lie between these two. A run's keys are cut into
pieces, pieces in which nothing can satisfy the condition are left out, and what stays is cut
again. What is left has to be filtered still.

Cost: for a key, or a few, some dozens of simplifications for each run, of tens of microseconds
each; and never so many that a condition would be examined for longer than it takes to read what it
may leave out.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs

from windrow.archive.runs.run import Run
from windrow.core.thresholds import Threshold

PIECES, MANY, WORTH = 4, Threshold(64, least=1), Threshold(10_000, least=1)
"""Into how many pieces keys are cut; of how many none can be left out if no key is to be; and how
many rows can be read while one is looked at."""

_FORMAT, _NOWHERE = ds.IpcFileFormat(), pa.fs.LocalFileSystem()


def satisfiable(
    condition: pc.Expression, schema: pa.Schema, known: Sequence[pc.Expression]
) -> list[bool]:
    """Of each piece of knowledge about some rows: whether the condition may be true for one.

    ``schema`` has plain types. No file is looked at: fragments are only names here.
    """
    fragments = [
        _FORMAT.make_fragment(str(place), _NOWHERE, partition_expression=one)
        for place, one in enumerate(known)
    ]
    left = ds.FileSystemDataset(fragments, schema, _FORMAT).get_fragments(filter=condition)
    places = {int(fragment.path) for fragment in left}
    return [place in places for place in range(len(known))]


def rows_for(condition: pc.Expression, schema: pa.Schema, run: Run) -> list[tuple[int, int]]:
    """The rows [start, stop) of a run among which those are that satisfy the condition.

    Where keys are lists, all: a directory has the values of lists, not the lists.
    """
    if run.layout.list_key is not None:
        return [(0, run.ref.rows)]
    directory = run.directory
    left = [(0, len(directory))] if len(directory) else []
    most = max(MANY.value, run.ref.rows // WORTH.value) // PIECES
    while len(left) <= most:
        pieces = [piece for stretch in left for piece in _cut(*stretch)]
        if pieces == left:  # one key each, or none at all
            break
        kept = satisfiable(condition, schema, [_between(run, *piece) for piece in pieces])
        left = [piece for piece, keep in zip(pieces, kept, strict=True) if keep]
        if all(kept) and len(pieces) >= MANY.value:
            break
    found = [directory.rows(*stretch) for stretch in _join_ranges(left)]
    absent = pc.field(run.layout.key[0]).is_null()
    if directory.end < run.ref.rows and (
        len(run.layout.key) > 1 or satisfiable(condition, schema, [absent])[0]
    ):
        found.append((directory.end, run.ref.rows))  # entries without a key
    return found


def _cut(low: int, high: int) -> list[tuple[int, int]]:
    step = -(-(high - low) // PIECES)
    return [(start, min(start + step, high)) for start in range(low, high, step)]


def _between(run: Run, low: int, high: int) -> pc.Expression:
    """What is known of the keys [low, high) of a run; nothing of those that end in NaN, or that
    Arrow does not compare.
    """
    name = run.layout.key[0]
    kind = run.layout.key_types[0]
    if pa.types.is_float16(kind):
        return pc.scalar(True)
    least, greatest = (end.cast(kind) for end in run.directory.ends(low, high))
    if pa.types.is_floating(kind) and greatest.as_py() != greatest.as_py():
        return pc.scalar(True)
    return (pc.field(name) >= least) & (pc.field(name) <= greatest)


def _join_ranges(stretches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbours as one."""
    found: list[tuple[int, int]] = []
    for low, high in stretches:
        if found and found[-1][1] == low:
            found[-1] = found[-1][0], high
        else:
            found.append((low, high))
    return found
