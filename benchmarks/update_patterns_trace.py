"""Links whose joins have the proportions of Golab 2006, 3.6, at every size of the window.

There, a join on the source address gives about as many results as there are tuples in a window for
FTP and ten times as many for telnet, which is more frequent; a negation has about 40 per cent
premature expiries; and there are ten times as many pairs of source and destination as sources. The
trace itself is not ours to have. In a trace of its own kind such figures hold at one size of the
window only, because the results of a join grow with the square of it; so here the number of sources
grows with the window, and each size has a trace of its own.

A link has one tuple per time unit. Its source is one of the *common* sources, which the links share
and which are never absent from a window, or one of the link's *own*, which other links see now and
then: a tuple of another link with that source makes a negation withdraw what it has shown.

    common sources  window / 400      half of the tuples of links 1 and 2; every 20th of link 3
    own sources     window * 3 / 400  the others; one in ten tuples of link 3 has a source of link 1
    protocols       ftp 10 %, telnet 32 %, so that squares are one to ten
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PROTOCOLS = {"ftp": 0.10, "telnet": 0.32, "http": 0.25, "smtp": 0.18, "nntp": 0.15}
SEEN_ELSEWHERE = 0.6
"""How often another link sees each of a link's own sources while a window's length passes."""
DESTINATIONS = 10
"""Of each source."""

Int64s = npt.NDArray[np.int64]


def proportioned_links(
    rows: int, window: int, count: int = 2, seed: int = 7
) -> dict[str, pa.RecordBatch]:
    """``link1``, ``link2``, ...: ``rows`` tuples of each, with ts = 0, 1, 2, ..."""
    rng = np.random.default_rng(seed)
    common, own = max(window // 400, 5), max(window * 3 // 400, 15)
    strays = own * SEEN_ELSEWHERE / window
    shares = ((0.5, 0.5, 0.0), (0.5, strays, 0.5 - strays), (0.05, 0.10, 0.85))
    names = pa.array([_address(10, n) for n in range(common + 4 * own)])
    targets = pa.array([_address(172, n) for n in range(len(names) * DESTINATIONS)])
    found = {}
    for number, share in enumerate(shares[:count]):
        kind = rng.choice(3, rows, p=share)  # common, of link 1, its own
        first = np.array([0, common, common + (number + 1) * own])[kind]
        source = first + rng.integers(0, np.where(kind == 0, common, own))
        target = source * DESTINATIONS + rng.integers(0, DESTINATIONS, rows)
        protocol = rng.choice(len(PROTOCOLS), rows, p=list(PROTOCOLS.values()))
        found[f"link{number + 1}"] = pa.RecordBatch.from_pydict({
            "ts": pa.array(np.arange(rows)),
            "protocol": pa.array(list(PROTOCOLS)).take(pa.array(protocol)),
            "bytes": pa.array(rng.integers(40, 1_500, rows)),
            "src": names.take(pa.array(source)),
            "dst": targets.take(pa.array(target)),
        })  # fmt: skip
    return found


def _address(net: int, number: int) -> str:
    return f"{net}.{16 + number // 62_500}.{number // 250 % 250}.{number % 250}"
