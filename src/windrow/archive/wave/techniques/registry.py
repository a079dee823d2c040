"""The update techniques by the names that a manifest uses."""

from __future__ import annotations

from windrow.archive.wave.rewrite_plan import Technique
from windrow.archive.wave.techniques.in_place import InPlace
from windrow.archive.wave.techniques.packed_at_rest import PackedAtRest
from windrow.archive.wave.techniques.packed_shadow import PackedShadow
from windrow.archive.wave.techniques.simple_shadow import SimpleShadow
from windrow.archive.wave.wave import Settings


def technique_of(settings: Settings) -> Technique:
    if settings.technique == "in-place":
        return InPlace(settings.growth)
    if settings.technique == "simple shadow":
        return SimpleShadow(settings.growth)
    if settings.technique == "packed at rest":
        return PackedAtRest(settings.growth)
    return PackedShadow()
