"""Kernels are compiled on every account: kept where it can be done safely, else compiled again."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import windrow
from tests.support.altered import altered
from windrow.columns import kernels
from windrow.columns.kernels import int64, ints_out, kernel, own_directory

PACKAGE = Path(windrow.__file__).parent
NOBODY = 65534


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary directory as systems have them, for all to write to and sticky."""
    path = tmp_path / "tmp"
    path.mkdir()
    path.chmod(0o1777)
    monkeypatch.setattr(kernels, "tempfile", altered(tempfile, gettempdir=lambda: str(path)))
    return path


def test_numba_is_asked_to_compile_in_one_place_only():
    asking = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\b(n?jit|vectorize|guvectorize)\b\(|import n?jit|@n?jit", path.read_text())
    }
    assert asking == {"columns/kernels.py"}


def test_the_directory_is_the_users_own_and_closed_to_others(temporary):
    directory = own_directory()
    assert directory.parent == temporary
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert own_directory() == directory


@pytest.mark.parametrize("what", ["link", "file", "open to a group", "not sticky", "nowhere"])
def test_a_directory_that_others_could_write_to_is_not_used(what, temporary, monkeypatch):
    directory = temporary / f"windrow-kernels-{os.geteuid()}"
    match what:
        case "link":
            (temporary / "elsewhere").mkdir(0o700)
            directory.symlink_to(temporary / "elsewhere")
        case "file":
            directory.write_text("")
        case "open to a group":
            directory.mkdir()
            directory.chmod(0o770)
        case "not sticky":
            temporary.chmod(0o777)
        case "nowhere":
            nowhere = altered(tempfile, gettempdir=lambda: str(temporary / "none"))
            monkeypatch.setattr(kernels, "tempfile", nowhere)
    assert own_directory() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another's directory")
def test_a_directory_of_somebody_else_is_not_used(temporary):
    directory = temporary / f"windrow-kernels-{os.geteuid()}"
    directory.mkdir(0o700)
    os.chown(directory, NOBODY, NOBODY)
    assert own_directory() is None


PROGRAM = """
import sys, tempfile, warnings
import pyarrow as pa
import numpy as np
if sys.argv[1] == "without":
    tempfile.tempdir = "/nonexistent"
else:
    warnings.simplefilter("error")
from windrow.columns.copied_texts import gather_bytes
data, starts, lengths = np.frombuffer(b"abcd", np.uint8), np.array([1]), np.array([2])
print(gather_bytes(data, starts, lengths, None, pa.string()).to_pylist())
"""


@pytest.fixture(scope="module")
def account():
    """Runs a program as somebody who can write neither to the package nor to a home."""
    root = Path(tempfile.mkdtemp(prefix="windrow-account-"))  # nobody else gets into pytest's own
    root.chmod(0o755)
    ignored = shutil.ignore_patterns("__pycache__")
    copy = Path(shutil.copytree(PACKAGE, root / "src" / "windrow", ignore=ignored))
    folders = [copy, *(path for path in copy.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    switch = [] if os.geteuid() else ["setpriv", *ids]

    def run(how: str) -> subprocess.CompletedProcess[str]:
        kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(copy.parent)}
        environment = {**kept, "HOME": "/nonexistent", "TMPDIR": str(root / "tmp")}
        return subprocess.run(
            [*switch, sys.executable, "-c", PROGRAM, how],
            env=environment, cwd="/", capture_output=True, text=True, check=False,
        )  # fmt: skip

    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    try:
        yield run, root
    finally:
        for folder in folders:
            folder.chmod(0o755)
        shutil.rmtree(root)


def test_an_account_without_a_home_keeps_code_in_a_directory_of_its_own(account):
    run, root = account
    found = run("kept")
    assert (found.returncode, found.stdout) == (0, "['bc']\n"), found.stderr

    def kept() -> dict[str, int]:
        files = root.glob("tmp/windrow-kernels-*/*/copied_texts._copy_texts*.nbc")
        return {file.name: file.stat().st_mtime_ns for file in files}

    written = kept()
    assert written
    assert run("kept").returncode == 0
    assert kept() == written


def test_an_account_that_can_write_nowhere_goes_without(account):
    run, _ = account
    found = run("without")
    assert (found.returncode, found.stdout) == (0, "['bc']\n"), found.stderr
    assert found.stderr.count("set NUMBA_CACHE_DIR") == 1


def wait_for_flag(flag: Any, steps: Any, most: Any) -> int:
    """1 if the flag is set before ``most`` steps; counts steps where others can see them."""
    for i in range(most):
        steps[0] = i + 1
        if flag[0] != 0:
            return 1
    return 0


def test_a_kernel_leaves_other_threads_to_run(monkeypatch):
    """Compiled anew: numba finds code that it kept by source and types, whatever the options."""
    compile_it = kernels._compile
    monkeypatch.setattr(
        kernels, "_compile", lambda f, *s, **o: compile_it(f, *s, **{**o, "cache": False})
    )
    waiting = kernel(int64, ints_out, ints_out, int64)(wait_for_flag)
    flag, steps = np.zeros(1, np.int64), np.zeros(1, np.int64)
    found = []
    thread = Thread(target=lambda: found.append(waiting(flag, steps, 10**10)))
    thread.start()
    while not steps[0]:  # the kernel runs, and so does this
        pass
    flag[0] = 1
    thread.join(60)
    assert found == [1]
