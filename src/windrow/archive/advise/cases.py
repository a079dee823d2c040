"""The three applications of the paper's section 5, with the values of Table 8.

Two entries differ from the print. SCAM's probes are 10,000 a day, not 100,000: the text
counts 100 queries of 100 probes, and only with that number does total work behave as the
text on Figure 4 says. The table has no copying times: they are what reading and writing
S' and S take at the table's transfer rate.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.archive.advise.parameters import Parameters, copied_through_disk

_SEEK = 0.014
_TRANSFER = 10.0
_BUCKET = 100 / 1e6


@dataclass(frozen=True)
class Case:
    """An application: its window in days, and what its index and its queries cost."""

    name: str
    window: int
    parameters: Parameters


def _parameters(
    *, packed: float, unpacked: float, build: float, add: float, **queries: float
) -> Parameters:
    return Parameters(
        seek=_SEEK,
        transfer=_TRANSFER,
        packed=packed,
        unpacked=unpacked,
        bucket=_BUCKET,
        build=build,
        add=add,
        delete=add,
        copy=copied_through_disk(unpacked, _TRANSFER),
        smart_copy=copied_through_disk(packed, _TRANSFER),
        **queries,
    )


SCAM = Case(
    "SCAM",
    7,
    _parameters(
        packed=56, unpacked=78.4, build=1686, add=3341, probes=10_000, scans=10, scan_indexes=1
    ),
)
"""Copy detection in a week of Netnews: probes of the whole window, scans of the newest index."""

WSE = Case("WSE", 35, _parameters(packed=75, unpacked=105, build=2276, add=4678, probes=340_000))
"""A Web search engine over five weeks of Netnews: probes only, and many."""

TPC_D = Case("TPC-D", 100, _parameters(packed=600, unpacked=627, build=8406, add=11431, scans=10))
"""LINEITEM of the last 100 days by supplier: ten scans of everything a day."""

CASES = {case.name: case for case in (SCAM, WSE, TPC_D)}
