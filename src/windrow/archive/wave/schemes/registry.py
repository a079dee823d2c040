"""The schemes by the names that a script and a manifest use."""

from __future__ import annotations

from windrow.archive.errors import SchemeError
from windrow.archive.wave.schemes.delete import Del
from windrow.archive.wave.schemes.rata import Rata
from windrow.archive.wave.schemes.reindex import Reindex
from windrow.archive.wave.schemes.reindex_plus import ReindexPlus
from windrow.archive.wave.schemes.reindex_plus_plus import ReindexPlusPlus
from windrow.archive.wave.schemes.scheme import Scheme
from windrow.archive.wave.schemes.wata import Wata

SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (Del(), Reindex(), ReindexPlus(), ReindexPlusPlus(), Wata(), Rata())
}
"""In the order of the paper."""


def scheme_of(name: str) -> Scheme:
    """The scheme of that name, in any case.

    >>> state, step = scheme_of("wata").start(window=3, n=2)
    >>> state.constituents
    (('I1', (1, 2)), ('I2', (3,)))
    """
    if name.upper() not in SCHEMES:
        raise SchemeError(where=f"scheme {name}", expected=", ".join(SCHEMES), found=name)
    return SCHEMES[name.upper()]
