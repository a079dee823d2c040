"""The environment that workers get; the whole archive is tried by ``tests/cluster``."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.support.altered import altered
from windrow.spark.environment import environment_archive as archives
from windrow.spark.environment.environment_archive import (
    LAUNCHER,
    WORKER_PYTHON,
    environment_archive,
    fingerprint_of_environment,
)
from windrow.spark.environment.environment_members import (
    VERSION,
    Member,
    PackError,
    interpreter_members,
    package_members,
    required_distributions,
    shared_libraries,
)
from windrow.spark.run import worker_environment
from windrow.spark.run.worker_environment import environment_on_cluster


def test_what_windrow_requires_is_found_with_what_that_requires_and_no_extras():
    """But for the client of object stores, in which tasks read and write."""
    names = {known.name.lower() for known in required_distributions()}
    assert {"windrow", "pyspark", "py4j", "numba", "llvmlite", "pyarrow", "obstore"} <= names
    assert not {"pytest", "ruff", "mypy", "moto", "matplotlib"} & names


def test_sparks_own_programs_and_the_tests_of_packages_stay_at_home():
    (known,) = (d for d in required_distributions() if d.name == "pyspark")
    names = {member.name for member in package_members(known)}
    assert "packages/pyspark/daemon.py" in names
    assert not [name for name in names if name.startswith(("packages/pyspark/jars", "packages/.."))]
    (known,) = (d for d in required_distributions() if d.name == "numpy")
    assert not [m.name for m in package_members(known) if "/tests/" in m.name]


def test_a_package_without_a_record_of_its_files_is_named():
    class Unrecorded:
        name, files = "debianised", None

    with pytest.raises(PackError, match=r"package debianised: expected a record.*with pip or uv"):
        list(package_members(Unrecorded()))


def test_the_interpreter_brings_its_libraries_but_not_the_c_library():
    members = list(interpreter_members())
    names = {member.name for member in members}
    assert {f"bin/python{VERSION}", f"{sys.platlibdir}/python{VERSION}/os.py"} <= names
    assert not [name for name in names if "/site-packages/" in name or "/test/" in name]
    modules = [m for m in members if m.runs or "_ssl." in m.name or "_ctypes." in m.name]
    libraries = {Path(member.name).name for member in shared_libraries(modules)}
    assert any(name.startswith("libffi") for name in libraries)
    assert not [name for name in libraries if name.startswith(("libc.so", "libm.so", "ld-"))]


def test_the_launcher_starts_the_interpreter_beside_it_with_nothing_of_the_hosts(tmp_path):
    home = tmp_path / "a place" / "windrow_env"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").write_text(LAUNCHER)
    (home / "bin" / f"python{VERSION}").write_text(
        '#!/bin/sh\necho "$PYTHONPATH|$PYTHONHOME|$LD_LIBRARY_PATH|$PYTHONNOUSERSITE|$*"\n'
    )
    for program in (home / "bin").iterdir():
        program.chmod(0o755)
    path = (
        "/spark/python/lib/pyspark.zip:/spark/python/lib/py4j-0.10.9.9-src.zip:/spark/x.jar:/mine"
    )
    found = subprocess.run(
        [WORKER_PYTHON, "-m", "pyspark.daemon"], cwd=home.parent,
        check=True, capture_output=True, text=True, env={"PYTHONPATH": path, "PYTHONHOME": "/usr"},
    )  # fmt: skip
    expected = f"{home}/packages:/mine|{home}|{home}/libs|1|-m pyspark.daemon\n"
    assert found.stdout == expected


@pytest.fixture
def small(monkeypatch, tmp_path):
    """An environment of one file, and the times that it was packed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    packed = []

    def members(cache):
        packed.append(cache)
        yield Member("bin/python3", Path(__file__), runs=True)

    monkeypatch.setattr(archives, "environment_members", members)
    return packed


def test_an_archive_is_made_once_for_an_environment_and_again_for_another(small, monkeypatch):
    said = []
    first = environment_archive(on_work=said.append)
    assert environment_archive(on_work=said.append) == first
    assert len(small) == len(said) == 1
    with tarfile.open(first) as archive:
        entries = {entry.name: entry for entry in archive}
    assert entries["bin/python"].mode == entries["bin/python3"].mode == 0o755
    assert entries["bin/python3"].mtime == int(Path(__file__).stat().st_mtime)
    monkeypatch.setattr(archives, "source_files", lambda: {"new.py": b""})
    made = [environment_archive()]
    assert made[0] != first
    for number in range(archives.KEPT):
        monkeypatch.setattr(archives, "source_files", lambda n=number: {"new.py": bytes([n])})
        made.append(environment_archive())
        os.utime(made[-1], (number, number + 2**31))
    assert [path.exists() for path in (first, *made)] == [False, False, True, True, True]


def test_an_archive_that_cannot_be_written_leaves_nothing_behind(small, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archives, "_add", full)
    with pytest.raises(PackError, match=r"room for an archive.*No space left.*XDG_CACHE_HOME"):
        environment_archive()
    assert not list((tmp_path / "cache" / "windrow").glob("*.tar.gz"))


def test_any_change_of_a_module_changes_the_fingerprint(monkeypatch):
    before = fingerprint_of_environment()
    assert fingerprint_of_environment() == before
    files = archives.source_files()
    monkeypatch.setattr(archives, "source_files", lambda: {**files, "__init__.py": b"changed"})
    assert fingerprint_of_environment() != before


def test_modules_are_copied_with_times_of_their_contents_and_compiled_when_they_change(
    tmp_path, monkeypatch
):
    compiled = []
    monkeypatch.setattr(archives, "_compile", compiled.append)
    source = tmp_path / "windrow"
    (source / "sub").mkdir(parents=True)
    (source / "a.py").write_text("1")
    (source / "sub" / "b.py").write_text("import numba")
    times = []
    for _ in range(2):
        members = {m.name: m.path for m in archives.own_members(tmp_path / "cache", source)}
        assert set(members) == {"packages/windrow/a.py", "packages/windrow/sub/b.py"}
        times.append([path.stat().st_mtime_ns for path in members.values()])
    assert times[0] == times[1]
    assert all(time % 10**9 == 0 for time in times[0])
    assert len(compiled) == 1
    (source / "a.py").unlink()
    assert [m.name for m in archives.own_members(tmp_path / "cache", source)] == [
        "packages/windrow/sub/b.py"
    ]
    (source / "sub" / "b.py").write_text("import numba as nb")
    list(archives.own_members(tmp_path / "cache", source))
    assert len(set(compiled)) == 2, "kernels that changed are compiled apart from the old ones"


def test_on_a_cluster_the_driver_has_the_workers_path_too(small):
    found = environment_on_cluster({"spark.archives": "hdfs:/more.zip"})
    assert found.python == WORKER_PYTHON
    more, ours = found.settings["spark.archives"].split(",")
    assert more == "hdfs:/more.zip"
    archive, name = ours.split("#")
    assert name == "windrow_env"
    assert Path(archive).is_file()
    said = subprocess.run(
        [found.python, "-c", "import windrow; print(windrow.__file__)"],
        cwd=found.directory, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert said.stdout.strip() == str(archives.SOURCE / "__init__.py")


@pytest.mark.parametrize("by", ["environment", "setting"])
def test_whoever_names_an_interpreter_or_an_archive_gets_no_other(small, monkeypatch, by):
    settings = {}
    if by == "environment":
        monkeypatch.setenv("PYSPARK_PYTHON", "/opt/windrow/bin/python")
    else:
        settings["spark.pyspark.python"] = "/opt/windrow/bin/python"
    found = environment_on_cluster(settings)
    assert (found.python, found.directory, dict(found.settings)) == (
        "/opt/windrow/bin/python", None, {},
    )  # fmt: skip
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    packed = environment_on_cluster({"spark.archives": "hdfs:/mine.tar.gz#windrow_env"})
    assert packed.settings == {"spark.archives": "hdfs:/mine.tar.gz#windrow_env"}
    assert not small


def test_a_run_keeps_its_archive_though_the_cache_forgets_it(small, monkeypatch):
    def refused(*_):
        raise OSError

    monkeypatch.setattr(worker_environment, "os", altered(os, link=refused))
    found = environment_on_cluster({})
    environment_archive().unlink()
    assert tarfile.is_tarfile(found.settings["spark.archives"].partition("#")[0])
