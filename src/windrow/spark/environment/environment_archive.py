"""The archive of this process's environment: one file, made once for what is in it.

Files
    <cache>/env-<fingerprint>.tar.gz      an archive; the fingerprint is of everything that is in it
    <cache>/kernels-<digest>/             Windrow's modules with compiled kernels
                                          (``windrow.spark.environment.own_code``)

An archive is written under another name and renamed, so whoever finds one finds it whole. The last
few are kept. A run makes a link of its own to the archive that it uses, since executors that join
later fetch it then.
"""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import sys
import tarfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from windrow.spark.environment.interpreter import interpreter_members, shared_libraries
from windrow.spark.environment.launcher import LAUNCHER, PROGRAM
from windrow.spark.environment.members import Member, PackError, digest_of
from windrow.spark.environment.own_code import own_members, source_files
from windrow.spark.environment.packages import package_members, required_distributions

ENDING = ".tar.gz"
KEPT = 3
"""Archives, of some 250 MB each, that stay in the cache."""
COMPRESSION = 1
"""Of gzip: the fastest; an archive is read as often as it is written."""


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
