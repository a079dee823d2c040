"""The seeded IP trace as Arrow, cut into links with one tuple per time unit each.

As in Golab 2006, 3.6.1, the destination decides the link and arrival rates are fixed, so that a
window of n time units holds n tuples of its link.

The demo's trace has few very busy sources: joined on the source, windows of 200,000 tuples would
have thirty million pairs, where the dissertation reports about ten per tuple for telnet and one
for FTP. So a busy source is taken for a gateway here, with as many hosts behind it as its share
asks for; what a host talks to decides which one it is. The long tail of quiet sources stays as it
is. At windows of two million tuples this gives the dissertation's proportions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.cli.trace import TraceParameters, generate

EQUAL_HOSTS = 20_000
"""A host behind a gateway has one part in this many of the traffic."""
COLUMNS = "ts BIGINT, protocol STRING, bytes BIGINT, src STRING, dst STRING"

Int64s = npt.NDArray[np.int64]


def links(rows: int, count: int = 2, seed: int = 7) -> dict[str, pa.RecordBatch]:
    """``link1``, ``link2``, ...: the first ``rows`` tuples of each, with ts = 0, 1, 2, ..."""
    # Some more than asked for: the destinations are not spread evenly.
    trace, _ = generate(TraceParameters(rows=int(rows * count * 1.3) + 1000, seed=seed))
    trace = trace.combine_chunks()
    destination = _codes(trace["dst"])
    source = _hosts(trace["src"], destination // count)
    found = {}
    for number in range(count):
        mine = np.flatnonzero(destination % count == number)[:rows]
        if len(mine) < rows:
            raise ValueError(f"link {number + 1} has {len(mine)} tuples, {rows} were asked for")
        columns = {
            "ts": pa.array(np.arange(rows)),
            "protocol": _flat(trace["protocol"].take(pa.array(mine))),
            "bytes": _flat(trace["bytes"].take(pa.array(mine))),
            "src": source.take(pa.array(mine)),
            "dst": _flat(trace["dst"].take(pa.array(mine))),
        }
        found[f"link{number + 1}"] = pa.RecordBatch.from_pydict(columns)
    return found


def _flat(column: pa.ChunkedArray) -> pa.Array:
    flat = column.combine_chunks()
    return flat.chunk(0) if isinstance(flat, pa.ChunkedArray) else flat


def _codes(column: pa.ChunkedArray) -> Int64s:
    """A number per distinct value, without regard to how frequent it is."""
    encoded = _flat(column).dictionary_encode()
    shuffled = np.random.default_rng(0).permutation(len(encoded.dictionary))
    return np.asarray(shuffled[encoded.indices.to_numpy()], np.int64)


def _hosts(column: pa.ChunkedArray, choice: Int64s) -> pa.Array:
    """Addresses with the hosts behind them told apart, as ``10.16.1.2`` or ``10.16.1.2.17``."""
    encoded = _flat(column).dictionary_encode()
    code = encoded.indices.to_numpy().astype(np.int64)
    share = np.bincount(code) / len(code)
    behind = np.maximum(1, np.rint(share * EQUAL_HOSTS)).astype(np.int64)
    first = np.cumsum(behind) - behind
    names = [
        address if hosts == 1 else f"{address}.{host}"
        for address, hosts in zip(encoded.dictionary.to_pylist(), behind, strict=True)
        for host in range(hosts)
    ]
    # A multiplicative hash, so that neighbouring destinations do not go to neighbouring hosts.
    spread = (choice * 2_654_435_761) & 0x7FFFFFFF
    return pa.array(names).take(pa.array(first[code] + spread % behind[code]))
