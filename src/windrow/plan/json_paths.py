"""Paths into JSON texts: ``$.a.b[0]``, as a tuple of keys and places.

A path begins with ``$``; a step is ``.key``, ``."any key"``, ``[place]`` from 0, or ``['key']``. A
negative place counts from the end. A text without ``$`` is one key, whatever is in it. Wild cards,
slices and filters give many values, so they are not steps of a path here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

Step = str | int
_STEP = re.compile(
    r"""\.(?P<plain>[^\s."'\[\]*?@()]+(?: +[^\s."'\[\]*?@()]+)*)"""
    r"""|\."(?P<quoted>[^"]*)"|\[(?P<place>-?\d+)\]"""
    r"""|\['(?P<single>[^']*)'\]|\["(?P<double>[^"]*)"\]"""
)
_PLAIN = re.compile(r"[^\W\d]\w*\Z")


@lru_cache(maxsize=256)
def parse_path(text: str) -> tuple[Step, ...] | None:
    """The steps of a path; None if the text is none.

    >>> parse_path("$.a.b[0]"), parse_path('$."a b"'), parse_path("a.b"), parse_path("$..a")
    (('a', 'b', 0), ('a b',), ('a.b',), None)
    """
    if not text.startswith("$"):
        return (text,) if text else None
    steps: list[Step] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        place = found["place"]
        steps.append(int(place) if place is not None else str(found[found.lastgroup or 0]))
        at = found.end()
    return tuple(steps)


def path_text(steps: Sequence[Step]) -> str:
    """The path as one writes it.

    >>> path_text(["a", "b c", 0])
    '$.a."b c"[0]'
    """
    return "$" + "".join(
        f"[{step}]" if isinstance(step, int)
        else f".{step}" if _PLAIN.match(step)
        else f".{json.dumps(step, ensure_ascii=False)}"
        for step in steps
    )  # fmt: skip
