"""How wide the codes of a dictionary-encoded column are: 8, 16 or 32 bits, as manifests name it."""

from __future__ import annotations

from collections.abc import Mapping

_WIDTHS = {"int8": 2**7, "int16": 2**15, "int32": 2**31}


def narrowest(distinct: int) -> str:
    """The least width whose codes can tell so many values apart."""
    return next(name for name, limit in _WIDTHS.items() if distinct <= limit)


def widest(*widths: str) -> str:
    return max(widths, key=_WIDTHS.__getitem__)


def join_encodings(*encodings: Mapping[str, str]) -> dict[str, str]:
    """What several writers have chosen, each from the same before, as one."""
    names = {name: None for chosen in encodings for name in chosen}
    return {n: widest(*(chosen[n] for chosen in encodings if n in chosen)) for n in names}
