"""The archive of this process's environment: one file, made once for what is in it.

Files
    <cache>/env-<fingerprint>.tar.gz      an archive; the fingerprint is of everything that is in it
    <cache>/kernels-<digest>/             Windrow's modules with compiled kernels

An archive is written under another name and renamed, so whoever finds one finds it whole. The last
few are kept. A run makes a link of its own to the archive that it uses, since executors that join
later fetch it then.

Numba takes compiled code for that of a module if the module has the time and size that it had.
Archives keep times in whole seconds, so a copy is made whose times are whole seconds, made of the
contents, and the kernels are compiled there. The copy stays for the next time: if the modules that
have kernels are the same then, nothing is compiled.

Spark starts the ``LAUNCHER`` of an unpacked environment as its Python. Spark puts its own archives
of PySpark on the path; the environment has PySpark as compiled modules, which start sooner, so they
are taken off again. Nothing of the worker's own Python counts.
"""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import subprocess
import sys
import tarfile
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from windrow.spark.environment.environment_members import (
    LIBRARIES,
    PACKAGES,
    VERSION,
    Member,
    PackError,
    digest_of,
    interpreter_members,
    package_members,
    required_distributions,
    shared_libraries,
)

ENDING = ".tar.gz"
KEPT = 3
"""Archives, of some 250 MB each, that stay in the cache."""
COMPRESSION = 1
"""Of gzip: the fastest; an archive is read as often as it is written."""
SOURCE = Path(__file__).parents[2]
ROOT_NAME = "windrow"
IMPORTS = "import windrow.engine.runner, windrow.spark.stage.stage_task, windrow.spark.match_frame"
"""What workers import; to import a kernel compiles it."""


def cache_directory() -> Path:
    """Where archives are kept for the next run."""
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "windrow"


def fingerprint_of_environment() -> str:
    """The same for the same interpreter, packages and modules; takes less than a tenth second."""
    records = [
        f"{known.name}={known.version} {known.read_text('RECORD') or ''}"
        for known in required_distributions()
    ]
    files = [part for name, text in source_files().items() for part in (name, text)]
    return digest_of([sys.version, sys.base_prefix, LAUNCHER, *records, *files])


def environment_archive(
    cache: Path | None = None, on_work: Callable[[str], None] = lambda _: None
) -> Path:
    """The archive of the environment as it is now, made if it is not in the cache."""
    cache = cache or cache_directory()
    path = cache / f"env-{fingerprint_of_environment()}{ENDING}"
    if path.exists():
        path.touch()
        return path
    on_work("packing the environment for workers; the next run finds it in the cache")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(cache):
            if not path.exists():
                _write(path, list(environment_members(cache)))
                _forget_old(cache)
    except OSError as failure:
        raise PackError(
            where=str(failure.filename or path),
            expected="room for an archive of about 300 MB",
            found=failure.strerror or str(failure),
            remedy="make room, or set XDG_CACHE_HOME to another directory",
        ) from failure
    return path


@contextmanager
def _one_at_a_time(cache: Path) -> Iterator[None]:
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def environment_members(cache: Path) -> Iterator[Member]:
    """Everything but the launcher."""
    found = [*interpreter_members()]
    for known in required_distributions():
        found += package_members(known)
    yield from found
    yield from shared_libraries(found)
    yield from own_members(cache)


def _write(path: Path, members: list[Member]) -> None:
    hidden = path.with_name(f".{uuid.uuid4().hex}{ENDING}")
    try:
        with tarfile.open(
            hidden, "w:gz", format=tarfile.GNU_FORMAT, compresslevel=COMPRESSION
        ) as archive:
            launcher = tarfile.TarInfo(PROGRAM)
            launcher.size, launcher.mode = len(LAUNCHER.encode()), 0o755
            archive.addfile(launcher, io.BytesIO(LAUNCHER.encode()))
            for member in members:
                _add(archive, member)
        hidden.replace(path)
    finally:
        hidden.unlink(missing_ok=True)


def _add(archive: tarfile.TarFile, member: Member) -> None:
    """Of times whole seconds are kept, as compiled modules have them."""
    state = member.path.stat()
    entry = tarfile.TarInfo(member.name)
    entry.size, entry.mtime = state.st_size, int(state.st_mtime)
    entry.mode = 0o755 if member.runs or state.st_mode & 0o100 else 0o644
    with member.path.open("rb") as contents:
        archive.addfile(entry, contents)


def _forget_old(cache: Path) -> None:
    archives = sorted(cache.glob(f"env-*{ENDING}"), key=lambda path: path.stat().st_mtime)
    for path in archives[:-KEPT]:
        path.unlink(missing_ok=True)
    copies = sorted(cache.glob("kernels-*"), key=lambda path: path.stat().st_mtime)
    for path in copies[:-KEPT]:
        shutil.rmtree(path, ignore_errors=True)


NAME = "windrow_env"
"""The directory in which Spark unpacks the archive, below that of the executor."""
PROGRAM = "bin/python"
WORKER_PYTHON = f"./{NAME}/{PROGRAM}"

LAUNCHER = f"""#!/bin/sh
home=$(cd "${{0%/*}}/.." && pwd -P)
path=$home/{PACKAGES}
IFS=:
set -f
for place in $PYTHONPATH; do
  case "$place" in
    */pyspark.zip | */py4j-*-src.zip | *.jar) ;;
    *) path="$path:$place" ;;
  esac
done
unset IFS
export PYTHONPATH="$path" PYTHONHOME="$home" PYTHONNOUSERSITE=1
export LD_LIBRARY_PATH="$home/{LIBRARIES}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
exec "$home/bin/python{VERSION}" "$@"
"""


def source_files(source: Path = SOURCE) -> dict[str, bytes]:
    """The contents of the package by name."""
    return {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in sorted(source.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def own_members(cache: Path, source: Path = SOURCE) -> Iterator[Member]:
    """The package as it is now, from a copy below ``cache``."""
    files = source_files(source)
    kernels = (text for text in files.values() if b"numba" in text or b"columns.kernels" in text)
    directory = cache / f"kernels-{digest_of([sys.version, *kernels])}"
    package = directory / ROOT_NAME
    if _update(package, files):
        _compile(directory)
    for path in sorted(package.rglob("*")):
        if path.is_file():
            yield Member(f"{PACKAGES}/{ROOT_NAME}/{path.relative_to(package).as_posix()}", path)


def _update(package: Path, files: dict[str, bytes]) -> bool:
    """Bring the copy up to date; whether anything was changed."""
    changed = False
    for path in package.rglob("*") if package.exists() else ():
        is_source = path.is_file() and "__pycache__" not in path.parts
        if is_source and path.relative_to(package).as_posix() not in files:
            path.unlink()
            changed = True
    for name, text in files.items():
        path = package / name
        if not path.exists() or path.read_bytes() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            changed = True
        time = 10**9 + zlib.crc32(text) % 2**28
        os.utime(path, (time, time))
    return changed


def _compile(directory: Path) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    answer = subprocess.run(  # noqa: S603 - this interpreter, on our own modules
        [sys.executable, "-c", IMPORTS],
        env={**kept, "PYTHONPATH": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        shutil.rmtree(directory, ignore_errors=True)
        raise PackError(
            where=f"windrow pack, {directory}",
            expected="modules that can be imported",
            found=(answer.stderr.strip().splitlines() or ["no reason given"])[-1],
            remedy="check that `windrow run --runner embedded` works here",
        )
