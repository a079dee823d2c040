"""Handles by the names of what they are of; as in CQL, a name may be written in any case."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TypeVar

H = TypeVar("H")


class ByName(dict[str, H]):
    """A dict that finds a name in any case, and says which names there are if there is none such.

    >>> ByName(Busy=1)["busy"]
    1
    >>> ByName(Busy=1)["bussy"]
    Traceback (most recent call last):
    KeyError: 'there is no bussy; did you mean Busy?'
    """

    def __missing__(self, name: str) -> H:
        known = {known.lower(): known for known in self}
        wanted = str(name).lower()
        if wanted in known:
            return self[known[wanted]]
        near = get_close_matches(wanted, known, 1)
        listed = f"there is {', '.join(self)}" if self else "nothing has been declared yet"
        raise KeyError(
            f"there is no {name}; " + (f"did you mean {known[near[0]]}?" if near else listed)
        )
