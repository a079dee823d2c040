"""Sets of tuples as unions of boxes: one set of values for each attribute that is restricted.

Overlap of two regions is decided pair by pair of boxes. Containment takes boxes away until nothing
is left, which may cut a box into as many pieces as the other has attributes; with many attributes
that grows exponentially (the question is coNP-complete), so a region may have only
``LARGEST_REGION`` boxes. Beyond that the answer is "not contained", from which no sharing follows.
"""

from __future__ import annotations

from collections.abc import Iterable

from windrow.core.thresholds import Threshold
from windrow.sharing.rules.value_sets import Attribute, ValueSet, every_value

LARGEST_REGION = Threshold(2_000, least=1)

Box = dict[Attribute, ValueSet]
Region = tuple[Box, ...]


class RegionTooLargeError(Exception):
    """More boxes than ``LARGEST_REGION``: whoever asked takes the careful answer."""


def intersect_boxes(one: Box, other: Box) -> Box | None:
    """What is in both boxes, or None if nothing is."""
    both = {**one, **other}
    for attribute, values in other.items():
        if attribute in one:
            common = one[attribute] & values
            if not common:
                return None
            both[attribute] = common
    return both


def overlap(one: Iterable[Box], other: Region) -> bool:
    return any(_overlap(a, b) for a in one for b in other)


def _overlap(one: Box, other: Box) -> bool:
    return all(values.overlaps(other[a]) for a, values in one.items() if a in other)


def subtract_region(one: Region, other: Iterable[Box]) -> Region:
    """What is in one region and not in the other; raises RegionTooLargeError beyond the limit."""
    left = list(one)
    for box in other:
        left = [piece for whole in left for piece in _without(whole, box)]
        if len(left) > LARGEST_REGION.value:
            raise RegionTooLargeError
    return tuple(left)


def is_within(one: Region, other: Iterable[Box]) -> bool:
    """Whether every tuple of one region is in the other; False if that is too much work to say."""
    boxes = tuple(other)
    if len(boxes) == 1:
        return all(_is_inside(box, boxes[0]) for box in one)
    try:
        return not subtract_region(one, boxes)
    except RegionTooLargeError:
        return False


def _is_inside(one: Box, other: Box) -> bool:
    return all(
        attribute in one and one[attribute].is_subset(values) for attribute, values in other.items()
    )


def _without(whole: Box, box: Box) -> list[Box]:
    """The box without another, as disjoint boxes: for each attribute, what is outside there."""
    if not _overlap(whole, box):
        return [whole]
    pieces = []
    rest = dict(whole)
    for attribute, values in box.items():
        here = rest.get(attribute) or every_value(attribute.order)
        outside = here - values
        if outside:
            pieces.append({**rest, attribute: outside})
        rest[attribute] = here & values
    return pieces
