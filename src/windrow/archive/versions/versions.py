"""The versions of an archive on disk: published, pinned, retired.

``versions/`` has a file for each version, put there by one put-if-absent; the one with the
greatest number is the archive. ``leases/`` has a file ``<version>-<token>`` for each reader and
writer at work: what it pins stays. It is locked for as long as its process lives, so nobody has to
guess from a clock whether a process that died is still there.

Invariants
    1. What a manifest names was synced before the manifest appeared.
    2. Versions are retired in ascending order, each only when no lease on it, or on an earlier
       one, is seen. So while a writer holds a lease on its base, the version after it cannot
       have come and gone, and its put-if-absent fails if anybody was faster.
    3. A lease counts only if its version was still there after the lease was taken. Retiring
       takes the version away first and looks at leases then; one of the two sees the other.
    4. A file that a writer has not published yet has the token of its lease in its name.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from windrow.archive.errors import (
    ArchiveError,
    ConflictError,
    DamagedError,
    OutcomeUnknownError,
    StorageError,
)
from windrow.archive.format.disk import Disk, UncertainLinkError
from windrow.archive.format.run_ref import FOLDER as RUNS
from windrow.archive.versions.manifest import Manifest

LEASES = "leases"
_LEASE = re.compile(r"([0-9]{20})-(\w+)", re.ASCII)
VERSIONS, RETIRED, LOCK = "versions", "retired", "vacuum.lock"
_VERSION = re.compile(r"([0-9]{20})\.json")


@dataclass
class Lease:
    """A hold on a version. ``token`` is new for each lease."""

    disk: Disk
    manifest: Manifest
    token: str
    handle: int | None
    owner: int = field(default_factory=os.getpid)

    def release(self) -> None:
        """Let go."""
        if self.handle is not None and self.owner == os.getpid():  # a fork has only a copy
            self.disk.let_go(lease_file(self.manifest.version, self.token), self.handle)
        self.handle = None


def leases(disk: Disk) -> list[tuple[int, str]]:
    """(version, token) of everybody at work; what the dead left behind is removed.

    Files of any other name are nobody's leases, and are left alone.
    """
    found = []
    for name in disk.names(LEASES):
        parts = _LEASE.fullmatch(name)
        if parts and not _clear_abandoned(disk, f"{LEASES}/{name}"):
            found.append((int(parts[1]), parts[2]))
    if disk.leases_expire:
        _fences().put_fence(disk, Versions(disk))
    return found


def _clear_abandoned(disk: Disk, lease: str) -> bool:
    if disk.leases_expire:
        return bool(_fences().clear_lost(disk, lease))
    return disk.clear_abandoned(lease)


def _fences() -> Any:
    """What knows object stores, imported for those."""
    return import_module("windrow.archive.versions.fences")


def lease_file(version: int, token: str) -> str:
    return f"{LEASES}/{version:020d}-{token}"


class Versions:
    """The versions in one archive's directory."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self._last: tuple[bytes, Manifest] | None = None

    def create(self, manifest: Manifest) -> None:
        """Publish the first version. What leads to the directory is made, and durable, as well.

        ``ConflictError`` if there is an archive already.
        """
        if self.numbers():
            raise self._there_already()
        above = max(1, self.disk.missing_folders())
        for folder in (VERSIONS, LEASES, RETIRED, RUNS):
            self.disk.make_folder(folder)
        lock = self.disk.try_hold(LOCK)  # made now: a vacuum must not need room to make room
        if lock is not None:
            self.disk.unlock(lock)
        for level in range(above + 1):
            self.disk.sync_names("/".join([".."] * level))
        try:
            self.publish(manifest)
        except ConflictError as error:
            raise self._there_already() from error

    def _there_already(self) -> ConflictError:
        return ConflictError(
            where=self.disk.where(),
            expected="a directory without an archive",
            found="an archive",
            remedy="open it, or choose another path",
        )

    def numbers(self) -> list[int]:
        """The versions that are there, in ascending order."""
        return self._version_numbers(VERSIONS)

    def _version_numbers(self, folder: str) -> list[int]:
        """Files of any other name are no versions, whoever put them there."""
        names = map(_VERSION.fullmatch, self.disk.names(folder))
        return [int(name[1]) for name in names if name]

    def read(self, version: int) -> Manifest:
        """``FileNotFoundError`` if that version was retired.

        The same bytes as the last time are the same manifest, which is not taken apart again.
        """
        return self._read(version_file(version), version)

    def _read(self, name: str, version: int) -> Manifest:
        where = self.disk.where(name)
        text, last = self.disk.read(name), self._last
        if last is None or last[0] != text:
            last = self._last = text, Manifest.from_json(text, where)
        if last[1].version != version:
            raise DamagedError(
                where=where,
                expected=f"version {version}",
                found=f"version {last[1].version}",
                remedy="restore the file from a copy of the archive",
            )
        return last[1]

    def newest(self) -> Manifest:
        """The newest manifest, for what it says: without a lease its files may go at any moment."""
        while True:
            with contextlib.suppress(FileNotFoundError):
                return self.read(self._newest())

    def pin(self, version: int | None = None) -> Lease:
        """A lease on a version, the newest if none is named.

        Never waits; tries again if the newest was retired in the meantime.
        """
        while True:
            wanted = self._newest() if version is None else version
            token = uuid.uuid4().hex
            try:
                handle = self._hold(lease_file(wanted, token))
            except StorageError as error:
                raise StorageError(
                    where=self.disk.where(LEASES),
                    expected="permission to write a lease file there",
                    found=error.found,
                    remedy=error.remedy,
                ) from error
            if handle is None:
                continue
            try:
                return Lease(self.disk, self.read(wanted), token, handle)
            except FileNotFoundError as error:
                self.disk.let_go(lease_file(wanted, token), handle)
                if version is not None:
                    raise self._gone_error(version) from error
            except BaseException:
                self.disk.let_go(lease_file(wanted, token), handle)
                raise

    def _newest(self) -> int:
        numbers = self.numbers()
        if not numbers:
            raise ArchiveError(
                where=self.disk.where(),
                expected="an archive",
                found="no version of one",
                remedy="create it first, or correct the path",
            )
        return numbers[-1]

    def _gone_error(self, version: int) -> ArchiveError:
        numbers = self.numbers()
        return ArchiveError(
            where=self.disk.where(),
            expected=f"version {version}",
            found=f"versions {numbers[0]} to {numbers[-1]}" if numbers else "none",
            remedy="vacuum removes versions that no reader holds; read the newest one",
        )

    def _hold(self, name: str) -> int | None:
        try:
            return self.disk.hold(name)
        except FileNotFoundError:  # a copy of an archive may have lost its empty folders
            for folder in (LEASES, RUNS):
                self.disk.make_folder(folder)
            self.disk.sync_names("")
            return self.disk.hold(name)

    @contextlib.contextmanager
    def lease(self) -> Iterator[Lease]:
        lease = self.pin()
        try:
            yield lease
        finally:
            lease.release()

    def publish(self, manifest: Manifest) -> None:
        """Make a version the newest, or say that another writer did (``ConflictError``).

        The files it names have been synced; their names are, here.
        """
        disk, target = self.disk, version_file(manifest.version)
        hidden, text = _hidden(manifest), manifest.to_json()
        try:
            disk.write(hidden, lambda sink: sink.write(text))
            disk.sync_all([hidden], [RUNS])
        except StorageError:
            with contextlib.suppress(StorageError):  # or the next attempt would find it there
                disk.delete(hidden)
            raise
        if not disk.is_lease_held(manifest.token):
            disk.delete(hidden)
            raise StorageError(
                "this process gave no sign of life for a minute, and its lease was taken away",
                where=disk.where(),
                remedy="nothing was changed; repeat the operation",
            )
        try:
            disk.link(hidden, target)
        except OSError as error:
            self._resolve(manifest, text, error)
        try:
            disk.sync_names(VERSIONS)
        except StorageError as error:
            raise _unknown(disk, manifest, error) from error
        with contextlib.suppress(StorageError):  # it is published; the rest is for vacuum
            disk.delete(hidden)

    def _resolve(self, manifest: Manifest, text: bytes, cause: OSError) -> None:
        """A link failed: did it happen all the same? On a network the answer to one that did may
        get lost, and the question, asked again, be answered with the name being taken.
        """
        try:
            if self.disk.read(version_file(manifest.version)) == text:
                return
        except FileNotFoundError:
            if isinstance(cause, UncertainLinkError):
                raise _unknown(self.disk, manifest, cause) from cause
            if isinstance(cause, FileExistsError):  # and the other's version was retired since
                raise self._conflict(manifest) from cause
            raise StorageError(
                "the archive is unchanged",
                where=self.disk.where(VERSIONS),
                expected="a disk that can link another file",
                found=str(cause),
                remedy="check the disk, then try again",
            ) from cause
        except StorageError as error:
            raise _unknown(self.disk, manifest, error) from cause
        raise self._conflict(manifest) from cause

    def _conflict(self, manifest: Manifest) -> ConflictError:
        with contextlib.suppress(StorageError):
            self.disk.delete(_hidden(manifest))
        return ConflictError(
            f"version {manifest.version} was published by another writer",
            where=self.disk.where(),
            expected="no other writer",
            remedy="nothing was changed; repeat the operation on the new version",
        )

    def retire(self) -> list[Manifest]:
        """Take away versions that nobody needs, the oldest first; returns all that are retired."""
        newest = self.numbers()[-1:]
        self.disk.make_folder(RETIRED)
        self.disk.sync_names(VERSIONS)  # the newest must outlive a crash before others go
        for version in self.numbers():
            if version >= newest[0] or self._is_held(version):
                break
            if self.disk.leases_expire:
                _fences().retire(self.disk, version_file(version), retired_file(version), version)
            else:
                self.disk.rename(version_file(version), retired_file(version))
        return [
            self._read(retired_file(version), version) for version in self._version_numbers(RETIRED)
        ]

    def _is_held(self, version: int) -> bool:
        return any(pinned <= version for pinned, _ in leases(self.disk))


def version_file(version: int) -> str:
    return f"{VERSIONS}/{version:020d}.json"


def retired_file(version: int) -> str:
    return f"{RETIRED}/{version:020d}.json"


def _hidden(manifest: Manifest) -> str:
    return f"{VERSIONS}/.{manifest.token}-{manifest.version}"


def _unknown(disk: Disk, manifest: Manifest, error: Exception) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"the disk failed while version {manifest.version} was being published",
        where=disk.where(),
        found=str(error),
        remedy="open the archive again: it has that version whole, or not at all",
    )
