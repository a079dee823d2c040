"""What the cost model has to know of the disk, the data and the queries, and what it says (4).

The three applications of the paper's section 5 have the values of Table 8. Two entries differ from
the print. SCAM's probes are 10,000 a day, not 100,000: the text counts 100 queries of 100 probes,
and only with that number does total work behave as the text on Figure 4 says. The table has no
copying times: they are what reading and writing S' and S take at the table's transfer rate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from statistics import fmean


class UpdateTechnique(Enum):
    """How a constituent takes an update (Shivakumar, Garcia-Molina 1997, 2.1).

    >>> UpdateTechnique("packed shadow")
    <UpdateTechnique.PACKED_SHADOW: 'packed shadow'>
    """

    IN_PLACE = "in-place"
    SIMPLE_SHADOW = "simple shadow"
    PACKED_SHADOW = "packed shadow"


@dataclass(frozen=True)
class Parameters:
    """Seconds, megabytes, and counts per day; the paper's symbols in brackets.

    Everything that is about an index is about the index of one day, and grows with the days.
    ``probe_indexes`` and ``scan_indexes`` are how many constituents a query touches on
    average; None stands for all of them. ``runs`` is not the paper's, whose buckets grow where
    they are: over immutable runs an index that is not packed is several, and each is a seek.
    """

    seek: float  # [seek]
    transfer: float  # [Trans] megabytes per second
    packed: float  # [S] megabytes of a packed index
    unpacked: float  # [S'] megabytes of an index that was added to
    bucket: float  # [c] megabytes of the entries of one search value
    build: float  # [Build]
    add: float  # [Add]
    delete: float  # [Del]
    copy: float  # [CP] to copy an index that is not packed
    smart_copy: float  # [SMCP] to copy a packed index, leaving out what has expired
    probes: float = 0.0  # [Probe_num]
    scans: float = 0.0  # [Scan_num]
    probe_indexes: float | None = None  # [Probe_idx]
    scan_indexes: float | None = None  # [Scan_idx]
    runs: float = 0.0  # more than one that an index has for each day of it that is not packed

    def scale(self, factor: float, add_growth: float = 1.0) -> Parameters:
        """The same application with ``factor`` times the data a day.

        Incremental indexing grows with the power ``add_growth`` of the data: above 1 where
        buckets outgrow memory or are moved ever more often, which building does not suffer.
        """
        return replace(
            self,
            packed=self.packed * factor,
            unpacked=self.unpacked * factor,
            bucket=self.bucket * factor,
            build=self.build * factor,
            add=self.add * factor**add_growth,
            delete=self.delete * factor**add_growth,
            copy=self.copy * factor,
            smart_copy=self.smart_copy * factor,
        )


@dataclass(frozen=True)
class Spread:
    """A measure over the days of a period."""

    average: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        found = list(values)
        return cls(fmean(found), max(found))


@dataclass(frozen=True)
class Measures:
    """Megabytes and seconds; ``work`` is a day's seconds with nothing done in parallel.

    ``space`` is held between steps, ``transition_space`` at the worst moment of a step,
    ``probe`` and ``scan`` are the response times of one query, ``transition`` is the time
    from the data's arrival to its being queryable, ``pre_transition`` all other maintenance.
    """

    space: Spread
    transition_space: Spread
    probe: float
    scan: float
    transition: Spread
    pre_transition: Spread
    work: float


def copied_through_disk(megabytes: float, transfer: float) -> float:
    """Seconds to read so much and write it elsewhere: CP and SMCP where nobody measured them."""
    return 2 * megabytes / transfer


_SEEK = 0.014
_TRANSFER = 10.0
_BUCKET = 100 / 1e6


@dataclass(frozen=True)
class Case:
    """An application: its window in days, and what its index and its queries cost.

    >>> TPC_D.window, TPC_D.parameters.scans
    (100, 10)
    """

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
