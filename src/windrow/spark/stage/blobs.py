"""Blobs: a few Arrow batches and a small header as one value of a binary column.

Layout: the header's length (8 bytes, little endian), the header (JSON), then the batches as Arrow
IPC streams. Everything starts at a multiple of 8 bytes, so that reading a blob copies nothing.

They are not compressed: Spark's shuffle does that.

Large ones are files that are mapped, of which only the names travel. A blob in Spark's shuffle goes
through two sockets and the virtual machine, compressed and decompressed on the way. Where all tasks
see one disk it is written once instead and mapped where it is read. The files of a micro-batch are
of no use to the next one, so nothing is synced, and the driver removes them all when the
micro-batch is over.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import EXP, SIGN, TS, Delta, batch_of
from windrow.core.thresholds import Threshold
from windrow.core.time import FOREVER

Header = dict[str, Any]
ALIGNMENT = 8
PARTS = "parts"
LARGE = Threshold(1 << 16, least=1)
"""Bytes from which a blob goes through a file."""
FILE = "file"


def pack(header: Header, parts: Mapping[str, pa.RecordBatch]) -> bytes:
    """One blob; ``header`` is JSON-able and has no key ``parts``."""
    streams = [as_stream(batch) for batch in parts.values()]
    directory = [[name, s.size] for name, s in zip(parts, streams, strict=True)]
    text = json.dumps({**header, PARTS: directory}, separators=(",", ":")).encode()
    pieces: list[bytes | pa.Buffer] = [len(text).to_bytes(ALIGNMENT, "little")]
    for piece in (text, *streams):
        pieces += [piece, bytes(-len(piece) % ALIGNMENT)]
    return b"".join(pieces)


def unpack(blob: bytes | bytearray | pa.Buffer) -> tuple[Header, dict[str, pa.RecordBatch]]:
    """What ``pack`` was given; the batches are views of the blob."""
    buffer = blob if isinstance(blob, pa.Buffer) else pa.py_buffer(blob)
    length = int.from_bytes(buffer[:ALIGNMENT].to_pybytes(), "little")
    header = json.loads(buffer[ALIGNMENT : ALIGNMENT + length].to_pybytes())
    at = ALIGNMENT + length + -length % ALIGNMENT
    parts = {}
    for name, size in header.pop(PARTS):
        parts[name] = pa.ipc.open_stream(buffer[at : at + size]).read_next_batch()
        at += size + -size % ALIGNMENT
    return header, parts


def pack_delta(delta: Delta) -> pa.RecordBatch:
    """The Delta as a batch, without expiries if there are none, and likewise without signs."""
    names, arrays = [TS], [pa.array(delta.ts)]
    if not (delta.exp == FOREVER).all():
        names.append(EXP)
        arrays.append(pa.array(delta.exp))
    if not (delta.sign == 1).all():
        names.append(SIGN)
        arrays.append(pa.array(delta.sign))
    names += [str(i) for i in range(delta.rows.num_columns)]
    return pa.RecordBatch.from_arrays([*arrays, *delta.rows.columns], names)


def unpack_delta(batch: pa.RecordBatch, schema: pa.Schema) -> Delta:
    """The inverse of ``pack_delta``; ``schema`` is that of the rows."""
    names, count = batch.schema.names, batch.num_rows
    exp = batch[EXP].to_numpy() if EXP in names else np.full(count, FOREVER, np.int64)
    sign = batch[SIGN].to_numpy() if SIGN in names else np.ones(count, np.int8)
    rows = batch_of(batch.columns[len(names) - len(schema) :], schema, count)
    return Delta(batch[TS].to_numpy(), exp, sign, rows)


def as_stream(batch: pa.RecordBatch) -> pa.Buffer:
    """The batch as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def send_by_file(blob: bytes | pa.Buffer, directory: str | None) -> bytes:
    """A blob that stands for this one, if it is large and there is a directory to put it in."""
    if directory is None or len(blob) < LARGE.value:
        return bytes(blob)
    path = Path(directory) / uuid.uuid4().hex
    path.write_bytes(blob)
    return pack({FILE: str(path)}, {})


def open_blob(blob: bytes | pa.Buffer) -> tuple[Header, dict[str, pa.RecordBatch]]:
    """What a blob holds, wherever it is."""
    header, parts = unpack(blob)
    if FILE not in header:
        return header, parts
    return unpack(pa.memory_map(header[FILE]).read_buffer())


def prepare_exchange(directory: Path) -> None:
    """Make the directory, and empty it."""
    directory.mkdir(parents=True, exist_ok=True)
    clear_exchange(directory)


def clear_exchange(directory: Path) -> None:
    """Remove what is there; no task is running."""
    for path in directory.iterdir():
        path.unlink(missing_ok=True)
