"""The archive: an indexed window on disk that forgets on time.

``Archive`` is a wave index of days, ``LifetimeIndex`` an index of records that each have their own
lifetime; ``open`` finds out which of them a directory is. All names are imported when they are
first asked for, so that a command pays for what it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.archive.advise.grid_advice import Costs as GridCosts
    from windrow.archive.advise.grid_advice import (
        GridWorkload,
        advise_grid,
        best_by_queries,
        lessons,
    )
    from windrow.archive.advise.parameters import TPC_D, UpdateTechnique
    from windrow.archive.advise.recommend import Constraints, recommend
    from windrow.archive.archive import Archive
    from windrow.archive.archive import open_archive as open  # noqa: A004 (as in gzip.open)
    from windrow.archive.errors import (
        ArchiveError,
        ConflictError,
        DamagedError,
        DayError,
        HalfwayError,
        LifetimeError,
        OutcomeUnknownError,
        SchemeError,
        StorageError,
    )
    from windrow.archive.format.day_calendar import Calendar
    from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
    from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique
    from windrow.archive.lifetimes.reader import LifetimeReader
    from windrow.archive.runs.encoding import decode
    from windrow.archive.versions.pinned_reader import Range
    from windrow.archive.wave.reader import Reader
    from windrow.archive.wave.schemes import scheme_of

__all__ = [
    "TPC_D",
    "Archive",
    "ArchiveError",
    "Calendar",
    "ConflictError",
    "Constraints",
    "DamagedError",
    "DayError",
    "Grid",
    "GridCosts",
    "GridTechnique",
    "GridWorkload",
    "HalfwayError",
    "LifetimeError",
    "LifetimeIndex",
    "LifetimeReader",
    "OutcomeUnknownError",
    "Range",
    "Reader",
    "SchemeError",
    "StorageError",
    "UpdateTechnique",
    "advise_grid",
    "best_by_queries",
    "decode",
    "lessons",
    "open",
    "recommend",
    "scheme_of",
]

_HOMES = {
    "TPC_D": "advise.parameters",
    "Archive": "archive",
    "Calendar": "format.day_calendar",
    "Constraints": "advise.recommend",
    "Grid": "lifetimes.partition_grid",
    "GridTechnique": "lifetimes.partition_grid",
    "GridCosts": "advise.grid_advice",
    "GridWorkload": "advise.grid_advice",
    "LifetimeIndex": "lifetimes.lifetime_index",
    "LifetimeReader": "lifetimes.reader",
    "Range": "versions.pinned_reader",
    "Reader": "wave.reader",
    "UpdateTechnique": "advise.parameters",
    "advise_grid": "advise.grid_advice",
    "best_by_queries": "advise.grid_advice",
    "decode": "runs.encoding",
    "lessons": "advise.grid_advice",
    "open": "archive",
    "recommend": "advise.recommend",
    "scheme_of": "wave.schemes",
}
"""Where public names are defined; those that are not here are errors."""
_OTHER_NAMES = {"open": "open_archive", "GridCosts": "Costs"}
"""What some of them are called there."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_HOMES.get(name, 'errors')}")
    found = globals()[name] = getattr(module, _OTHER_NAMES.get(name, name))
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
