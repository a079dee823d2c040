"""Indexes that are one run where the update technique promises it, or within their room.

What is promised at every moment, between a day's switch and what follows it too: under packed
shadow every index is packed, and under REINDEX, which only builds. In place and by simple shadow
no index has outgrown its room (``growth.py``); nor have the temporary ones under packed at rest,
whose constituents are packed after the switch. An earlier layout that drains promises nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from windrow.archive.verify.problem import Problem, problem
from windrow.archive.wave.schemes.registry import scheme_of
from windrow.archive.wave.schemes.scheme import is_constituent
from windrow.archive.wave.techniques.growth import overgrown
from windrow.archive.wave.wave import Index, Wave


def packing_problems(wave: Wave) -> Iterator[Problem]:
    settings = wave.settings
    built = scheme_of(settings.scheme).name == "REINDEX"
    for name, index in wave.indexes.items():
        if built or settings.technique == "packed shadow":
            if not index.packed:
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
