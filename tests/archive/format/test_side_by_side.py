"""Files of an archive are synced side by side as long as there are threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from windrow.archive.format.side_by_side import side_by_side

LATE_WRITER = """
import sys, threading
from pathlib import Path
from windrow.archive.format.disk import Disk

def write():
    threading.main_thread().join()
    disk = Disk(Path(sys.argv[1]))
    disk.write("run", lambda sink: sink.write(b"entries"))
    disk.sync_all(["run"], [""])
    print("synced")

threading.Thread(target=write).start()
"""


def test_a_thread_that_writes_after_the_main_thread_has_ended_still_syncs(tmp_path) -> None:
    command = [sys.executable, "-c", LATE_WRITER, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "synced\n", done.stderr


def test_what_fails_is_an_error_when_the_rest_is_done() -> None:
    done = []

    def fail() -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        side_by_side([fail, lambda: done.append(1), lambda: done.append(2)])
    assert sorted(done) == [1, 2]
