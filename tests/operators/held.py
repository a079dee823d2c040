"""How many bytes of arrays an object holds, whatever it keeps them in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def held_bytes(owner: Any) -> int:
    """The bytes of all numpy arrays and Arrow buffers that can be reached from ``owner``."""
    seen: set[int] = set()
    waiting, total = [owner], 0
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, type):
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            if isinstance(thing.base, np.ndarray):
                waiting.append(thing.base)
            else:
                total += thing.nbytes
        elif isinstance(thing, (pa.Array, pa.ChunkedArray, pa.RecordBatch, pa.Table)):
            total += thing.get_total_buffer_size()
        elif isinstance(thing, dict):
            total += 64 * len(thing)
            waiting += [*thing.keys(), *thing.values()]
        elif isinstance(thing, (list, tuple, set, frozenset)):
            total += 8 * len(thing)
            waiting += thing
        else:
            if type(thing).__module__.startswith("windrow"):
                waiting.append(getattr(thing, "__dict__", {}))
            slots = getattr(type(thing), "__slots__", ())
            waiting += [getattr(thing, name, None) for name in slots if isinstance(slots, tuple)]
    return total
