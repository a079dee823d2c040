"""One writer per directory: the second is told who has it, and no lock outlives its process."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.altered import altered
from windrow.core.errors import InputError, StateError
from windrow.result_files import directory_lock as locks
from windrow.result_files.directory_lock import LOCK, Lock, handles_for_child, hold_directories
from windrow.result_files.identity import Identity
from windrow.result_files.ownership import prepare
from windrow.result_files.reader import published_results

HOLDING = """
import sys, pathlib
from windrow.result_files.directory_lock import Lock
lock = Lock(pathlib.Path(sys.argv[1]), "INTO 'out'")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_the_second_is_told_who_the_first_is(holder, tmp_path) -> None:
    with pytest.raises(StateError) as caught:
        Lock(tmp_path, "INTO 'out'")
    said = str(caught.value)
    assert said.startswith(
        "INTO 'out': expected no other run that uses the directory; found process "
    )
    assert f"process {holder.pid} on " in said
    assert f"`-c {tmp_path}`, running since 2" in said
    assert "stop that run or wait until it ends, or give this one another directory" in said


def test_a_process_that_is_killed_lets_go(holder, tmp_path) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    Lock(tmp_path, "INTO 'out'").release()


def test_a_lock_is_for_one_in_the_same_process_too(tmp_path) -> None:
    first = Lock(tmp_path, "INTO 'out'")
    with pytest.raises(StateError, match="another run or connection of this process"):
        Lock(tmp_path, "INTO 'out'")
    first.release()
    second = Lock(tmp_path, "INTO 'out'")
    del second
    Lock(tmp_path, "INTO 'out'").release()


def wait(started, event) -> None:
    started.set()
    event.wait(60)


def test_children_do_not_prolong_it(tmp_path) -> None:
    lock = Lock(tmp_path, "INTO 'out'")
    executed = subprocess.Popen(["/bin/sleep", "60"], close_fds=False)
    context = multiprocessing.get_context("fork")
    started, event = context.Event(), context.Event()
    forked = context.Process(target=wait, args=(started, event))
    forked.start()
    assert started.wait(60)
    try:
        with pytest.raises(StateError):
            Lock(tmp_path, "INTO 'out'")
        lock.release()
        Lock(tmp_path, "INTO 'out'").release()
    finally:
        event.set()
        forked.join()
        executed.kill()
        executed.wait()


LEAVING = """
import subprocess, sys, pathlib
from windrow.result_files.directory_lock import Lock, handles_for_child
lock = Lock(pathlib.Path(sys.argv[1]), "INTO 'out'")
nowhere = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
with handles_for_child() as handles:  # PySpark starts its virtual machine with a preexec_fn
    command = ["/bin/sleep", sys.argv[2]]
    left = subprocess.Popen(command, pass_fds=handles, preexec_fn=lambda: None, **nowhere)
print(left.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def left_behind(tmp_path):
    """Makes a child that has the lock's handle for some seconds, and a parent that is killed."""
    children = []

    def leave(seconds: float) -> int:
        parent = subprocess.Popen(
            [sys.executable, "-c", LEAVING, str(tmp_path), str(seconds)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        children.append(int(parent.stdout.readline()))
        parent.kill()
        parent.communicate()
        return children[-1]

    yield leave
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def test_what_a_killed_run_left_behind_is_waited_for(left_behind, tmp_path) -> None:
    left_behind(1.5)
    began = time.monotonic()
    Lock(tmp_path, "INTO 'out'").release()
    assert time.monotonic() - began > 0.5


def test_what_does_not_end_by_itself_is_named(left_behind, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(locks, "PATIENCE", 0.2)
    child = left_behind(60)
    with pytest.raises(StateError, match=rf"stop the process that it left behind \({child}\)"):
        Lock(tmp_path, "INTO 'out'")


def test_releasing_a_lock_releases_it_for_a_child_that_has_the_handle(tmp_path) -> None:
    lock = Lock(tmp_path, "INTO 'out'")
    with handles_for_child() as handles:
        child = subprocess.Popen(["/bin/sleep", "60"], pass_fds=handles)
    try:
        lock.release()
        with handles_for_child() as handles:
            assert handles == ()
        Lock(tmp_path, "INTO 'out'").release()
    finally:
        child.kill()
        child.wait()


def test_all_directories_are_held_or_none(tmp_path) -> None:
    taken = Lock(tmp_path / "b", "INTO 'b'")
    wanted = [(tmp_path / name, f"INTO '{name}'") for name in "ab"]
    with pytest.raises(StateError, match="INTO 'b'"), hold_directories(wanted):
        pass
    taken.release()
    with hold_directories(wanted), pytest.raises(StateError):
        Lock(tmp_path / "a", "INTO 'a'")
    Lock(tmp_path / "a", "INTO 'a'").release()


def test_a_file_system_without_locks_is_refused_in_words(tmp_path, monkeypatch) -> None:
    def refused(*_):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(locks, "fcntl", altered(fcntl, flock=refused))
    with pytest.raises(StateError, match=r"a file system that locks files.*not supported"):
        Lock(tmp_path, "--checkpoint state")


def test_what_is_no_directory_is_refused_in_words(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"INTO 'file': .* a writable directory.*found a file"):
        Lock(tmp_path / "file", "INTO 'file'")


def test_a_lock_leaves_a_small_hidden_file(tmp_path) -> None:
    Lock(tmp_path, "INTO 'out'").release()
    assert [p.name for p in tmp_path.iterdir()] == [LOCK]
    assert Path(tmp_path / LOCK).stat().st_size < 1000


COMMITTING = """
import sys, pathlib
import pyarrow as pa
from windrow.result_files import atomic_files as files
from windrow.result_files.commits import Commit
from windrow.result_files.publication import Place
place = Place(pathlib.Path(sys.argv[1]), "csv", "r")
def sync_names(directory):  # the files have their names, the commit is not written yet
    print("half done", flush=True)
    sys.stdin.read()
files.sync_names = sync_names
hidden = place.hide(pa.table({"instant": [1], "change": ["+"], "k": [1]}))
place.publish([hidden], Commit(0, "r", (), 1, 1, 1, 0, 0))
"""


def test_who_clears_up_waits_for_a_commit_of_a_process_that_was_left_behind(tmp_path) -> None:
    schema = pa.schema({"instant": pa.int64(), "change": pa.string(), "k": pa.int64()})
    identity = Identity("r", "q", "csv", schema)
    prepare(tmp_path, identity)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMITTING, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "half done\n"
    next_run = threading.Thread(target=prepare, args=(tmp_path, identity))
    next_run.start()
    next_run.join(0.5)
    assert next_run.is_alive(), "it would delete the file that the commit is about to name"
    process.communicate()
    next_run.join()
    assert process.returncode == 0
    state = published_results(tmp_path)
    assert state.last == 0
    assert all((tmp_path / name).is_file() for name in state.names())
