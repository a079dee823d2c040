"""SS4: synopses with other predicates that make up a new query's (Golab 2006, 8.3.3)."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.sharing.rules.cover_search import find_cover, find_difference, find_disjoint_cover
from windrow.sharing.rules.interval_contents import Contents
from windrow.sharing.rules.periodic_query import PeriodicQuery
from windrow.sharing.rules.ss1_window_lengths import fits_window
from windrow.sharing.rules.ss3_joins import fits_join
from windrow.sharing.rules.synopsis_shape import Reading, SynopsisShape


def find_relevant(
    contents: Contents, query: PeriodicQuery, shapes: Sequence[SynopsisShape]
) -> Reading | None:
    """The relevant synopses among ``shapes`` and how to combine them, or None.

    Whatever counts tuples needs a disjoint cover of the query's predicate, MIN and MAX any cover,
    and what can be subtracted may also use a disjoint supercover, if what that has too much has a
    disjoint cover. All have the same s and windows at least as long as the query's. The fewest
    synopses are taken, and addition before subtraction. Values at ranks are put together from
    nothing but those of the query's own tuples.
    """
    if contents.depends_on_cut:
        return None
    found = (
        _combine(contents, query, [shape for shape in shapes if shape.s == s])
        for s in sorted({shape.s for shape in shapes}, reverse=True)
    )
    readings = [reading for reading in found if reading is not None]
    return min(readings, key=lambda reading: len(reading.shapes), default=None)


def _combine(
    contents: Contents, query: PeriodicQuery, shapes: Sequence[SynopsisShape]
) -> Reading | None:
    fits = fits_window if len(query.windows) == 1 else fits_join
    usable = [shape for shape in shapes if shape.contents == contents and fits(shape, query)]
    predicates = [shape.predicate for shape in usable]
    whole = query.predicate
    if not whole.region:
        return None
    if not contents.is_duplicate_sensitive:
        cover = find_cover(predicates, whole)
    else:
        cover = find_disjoint_cover(predicates, whole)
    if cover is not None:
        return Reading(contents, tuple(usable[i] for i in sorted(cover)))
    difference = find_difference(predicates, whole) if contents.is_subtractable else None
    if difference is None:
        return None
    return Reading(
        contents,
        tuple(usable[i] for i in sorted(difference.added)),
        tuple(usable[i] for i in sorted(difference.subtracted)),
    )
