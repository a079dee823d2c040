"""Makes those golden archives of the current format version that are not there yet.

    python -m tests.archive.golden.make <mark>

Each archive is a directory ``<version>-<runs' format>-<layout>-<mark>`` beside this file; the mark
says what was new in the format then (``summed``: manifests end with a checksum; ``sums``: runs have
sums of their blocks, and records with lists for keys are whole; the first had no mark), the layout
is ``rest`` (packed at rest) or ``draining`` (in the middle of a migration), and is not named if it
is one of the first two. ``expected.json`` has digests of what scans of the archive answer. An
archive once committed stays as it is: it must always open.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.archive.archive import Archive
from windrow.archive.format import blocks as sums
from windrow.archive.runs.encoding import decode
from windrow.archive.versions.manifest import FORMAT_VERSION

HERE = Path(__file__).parent
SCHEMA = pa.schema(
    [
        ("words", pa.list_(pa.string())),
        ("doc", pa.int32()),
        ("price", pa.decimal128(12, 2)),
        ("at", pa.timestamp("us")),
        ("day", pa.date32()),
        ("score", pa.float64()),
        ("seen", pa.bool_()),
        ("raw", pa.binary()),
        ("site", pa.string()),
    ]
)


def records(day: int, count: int) -> pa.Table:
    """The same records for the same day, NULLs among them."""
    start = datetime.datetime(2026, 1, 1)
    rows = [
        {
            "words": [f"w{(day * i) % 11}", f"w{i % 5}"] if i % 9 else None if i % 2 else [],
            "doc": i,
            "price": decimal.Decimal(day * 100 + i) / 4,
            "at": start + datetime.timedelta(days=day, minutes=i),
            "day": (start + datetime.timedelta(days=day)).date(),
            "score": None if i % 13 == 0 else i / 8,
            "seen": i % 3 == 0,
            "raw": bytes([i % 256, day]),
            "site": f"site {i % 4}",
        }
        for i in range(count)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def digest(archive: Archive, *, soft: bool = False) -> list[int | str]:
    """How many entries there are, and a digest of them with their days."""
    with archive.reader(soft=soft) as reader:
        names = [*reader.schema.names, "_day"]
        rows = sorted(repr(row) for row in decode(reader.scan(columns=names)).to_pylist())
    return [len(rows), hashlib.sha256("\n".join(rows).encode()).hexdigest()]


@dataclass(frozen=True)
class Made:
    """What a golden archive is. ``drained`` is the layout that it is given on day 5, if any."""

    name: str
    form: str
    scheme: str
    technique: str
    drained: Mapping[str, Any] | None = None


MADE = (
    Made("arrow", "arrow", "WATA", "in-place"),
    Made("parquet", "parquet", "REINDEX++", "packed shadow"),
    Made("arrow-rest", "arrow", "WATA", "packed at rest"),
    Made("parquet-rest", "parquet", "DEL", "packed at rest"),
    Made(
        "arrow-draining",
        "arrow",
        "WATA",
        "packed at rest",
        {"scheme": "RATA", "n": 2, "technique": "in-place", "format": "parquet"},
    ),
)


def main(mark: str) -> None:
    sums.SMALL = 0  # these are small
    for made in MADE:
        path = HERE / f"{FORMAT_VERSION}-{made.name}-{mark}"
        if path.exists():
            continue
        archive = Archive.create(
            path,
            SCHEMA,
            ["words", "doc"],
            window=4,
            scheme=made.scheme,
            n=2,
            technique=made.technique,
            format=made.form,
        )
        for day in range(1, 7):
            archive.append(day, records(day, 520 if day == 5 else 12), now=day)
            if day == 5 and made.drained is not None:
                archive.migrate(how="drain", **made.drained)
        archive.append(9, records(9, 3))
        archive.vacuum()
        expected = {"hard": digest(archive), "soft": digest(archive, soft=True)}
        (path / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main(sys.argv[1])
