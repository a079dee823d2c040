"""Large blobs go through files, small ones as they are; who opens them sees no difference."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.spark.stage.blobs import (
    LARGE,
    clear_exchange,
    open_blob,
    pack,
    prepare_exchange,
    send_by_file,
)

SMALL = pack({"n": 1}, {"rows": pa.record_batch({"k": [1, 2, 3]})})
BIG = pack({"n": 2}, {"rows": pa.record_batch({"k": pa.array(range(LARGE.usual))})})


@pytest.mark.parametrize("blob", [SMALL, BIG])
@pytest.mark.parametrize("shared", [True, False])
def test_a_blob_is_opened_as_it_was_packed_whichever_way_it_came(tmp_path, blob, shared):
    sent = send_by_file(blob, str(tmp_path) if shared else None)
    assert open_blob(pa.py_buffer(sent)) == open_blob(pa.py_buffer(blob))
    by_file = shared and blob is BIG
    assert len(list(tmp_path.iterdir())) == by_file
    assert (len(sent) < 1_000) == (by_file or blob is SMALL)


def test_what_a_micro_batch_left_is_removed_and_what_was_opened_can_still_be_read(tmp_path):
    place = tmp_path / "exchange"
    prepare_exchange(place)
    opened = open_blob(pa.py_buffer(send_by_file(BIG, str(place))))
    clear_exchange(place)
    assert list(place.iterdir()) == []
    assert opened[1]["rows"]["k"][-1].as_py() == LARGE.usual - 1
    (place / "left").touch()
    prepare_exchange(place)
    assert list(place.iterdir()) == []
