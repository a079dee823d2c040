"""``statistics.json`` of a checkpoint: the figures that its plans were made with.

Which state there is follows from the plans. So a checkpoint keeps what its first run saw, and every
later run plans with that, whatever the streams have become; one that was begun without figures
goes on without. New figures come with a new checkpoint.

What does not decide which state there is follows the streams: the order of an n-way join is chosen
anew from what each bucket has seen, whenever about a window's worth of tuples has come, and is
saved with the state (``windrow.operators.multi_join``). So a run that goes on probes in the order
that was observed last, whatever the figures here say.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from windrow.object_store.object_path import NOTES, ObjectPath, path_of
from windrow.plan.costs.flows import StreamStatistics, statistics_from, statistics_record
from windrow.result_files.atomic_files import publish_new, read_record

STATISTICS = "statistics.json"


def read_statistics(checkpoint: Path) -> StreamStatistics | None:
    """What the plans of a checkpoint were made with; None if nothing was known."""
    try:
        return read_record(
            checkpoint / STATISTICS,
            "the figures that the plans of the checkpoint were made with",
            statistics_from,
            remedy="restore it from a backup: with other plans the state cannot be read",
        )
    except FileNotFoundError:
        return None


def keep_statistics(
    checkpoint: Path, observe: Callable[[], StreamStatistics | None]
) -> StreamStatistics | None:
    """What a run with the checkpoint plans with: what was kept, or for a new one what is seen.

    It is asked before the run has the checkpoint to itself, so of two that begin at once the first
    to keep something is followed by both.
    """
    place = path_of(checkpoint)
    notes = place / NOTES if isinstance(place, ObjectPath) else place
    known = read_statistics(notes)
    if known is not None or (place.is_dir() and _is_begun(place)):
        return known
    seen = observe()
    if seen is None:
        return None
    notes.mkdir(parents=True, exist_ok=True)
    record = json.dumps(statistics_record(seen), indent=1)
    return seen if publish_new(notes / STATISTICS, record) else read_statistics(notes)


def _is_begun(checkpoint: Path) -> bool:
    """Whether a run has had it; a hidden file may be what was left of writing the first."""
    return any(not path.name.startswith(".") for path in checkpoint.iterdir())
