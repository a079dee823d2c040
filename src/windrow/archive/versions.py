"""The versions of an archive on disk: published, pinned, retired.

``versions/`` has a file for each version, put there by one put-if-absent; the one with the
greatest number is the archive. ``leases/`` has a file ``<version>-<token>`` for each reader and
writer at work, locked by it for as long as it lives: what it pins stays. A process that dies lets
go of its lock, so nobody has to guess from a clock whether it is still there.

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
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

from windrow.archive.errors import (
    ArchiveError,
    ConflictError,
    OutcomeUnknownError,
    StorageError,
)
from windrow.archive.files import Disk
from windrow.archive.manifest import Manifest
from windrow.archive.runs.ref import FOLDER as RUNS

VERSIONS, LEASES, RETIRED = "versions", "leases", "retired"


@dataclass
class Lease:
    """A hold on a version. ``token`` is new for each lease."""

    disk: Disk
    manifest: Manifest
    token: str
    handle: int | None
    owner: int = field(default_factory=os.getpid)

    @property
    def name(self) -> str:
        return _lease(self.manifest.version, self.token)

    def release(self) -> None:
        if self.handle is not None and self.owner == os.getpid():  # a fork has only a copy
            self.disk.let_go(self.name, self.handle)
        self.handle = None


class Versions:
    """The versions in one archive's directory."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self._last: tuple[bytes, Manifest] | None = None

    def create(self, manifest: Manifest) -> None:
        """Publish the first version."""
        for folder in (VERSIONS, LEASES, RETIRED, RUNS):
            self.disk.make_folder(folder)
        self.disk.sync_names("")
        self.disk.sync_names("..")
        self.publish(manifest)

    def numbers(self) -> list[int]:
        """The versions that are there, in ascending order."""
        names = self.disk.names(VERSIONS)
        return [int(n.removesuffix(".json")) for n in names if n.endswith(".json")]

    def read(self, version: int) -> Manifest:
        """``FileNotFoundError`` if that version was retired.

        The same bytes as the last time are the same manifest, which is not taken apart again.
        """
        name = version_file(version)
        text, last = self.disk.read(name), self._last
        if last is None or last[0] != text:
            last = self._last = text, Manifest.from_json(text, str(self.disk.path(name)))
        return last[1]

    def pin(self, version: int | None = None) -> Lease:
        """A lease on a version, the newest if none is named.

        Never waits; tries again if the newest was retired in the meantime.
        """
        while True:
            wanted = self._newest() if version is None else version
            token = uuid.uuid4().hex
            try:
                handle = self._hold(_lease(wanted, token))
            except OSError as error:
                raise StorageError(
                    where=str(self.disk.path(LEASES)),
                    expected="to be allowed to write a lease there",
                    found=str(error),
                    remedy="readers need write access to this folder, so that files they read stay",
                ) from error
            if handle is None:
                continue
            try:
                return Lease(self.disk, self.read(wanted), token, handle)
            except FileNotFoundError as error:
                self.disk.let_go(_lease(wanted, token), handle)
                if version is not None:
                    raise self._gone(version) from error
            except BaseException:
                self.disk.let_go(_lease(wanted, token), handle)
                raise

    def _newest(self) -> int:
        numbers = self.numbers()
        if not numbers:
            raise ArchiveError(
                where=str(self.disk.root),
                expected="an archive",
                found="no version of one",
                remedy="create it first, or correct the path",
            )
        return numbers[-1]

    def _gone(self, version: int) -> ArchiveError:
        numbers = self.numbers()
        return ArchiveError(
            where=str(self.disk.root),
            expected=f"version {version}",
            found=f"versions {numbers[0]} to {numbers[-1]}" if numbers else "none",
            remedy="a version goes when vacuum finds nobody holding it; read the newest",
        )

    def _hold(self, name: str) -> int | None:
        try:
            return self.disk.hold(name)
        except FileNotFoundError:  # a copy of an archive may have lost its empty folders
            self.disk.make_folder(LEASES)
            return self.disk.hold(name)

    @contextlib.contextmanager
    def pinned(self) -> Iterator[Lease]:
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
        hidden = f"{VERSIONS}/.{manifest.token}-{manifest.version}"
        text = manifest.to_json()
        disk.sync_names(RUNS)
        disk.write(hidden, lambda sink: _all(sink.write(text)))
        disk.sync(hidden)
        try:
            disk.link(hidden, target)
        except FileExistsError as error:
            disk.delete(hidden)
            raise ConflictError(
                f"version {manifest.version} was published by another writer",
                where=str(disk.root),
                expected="to be the only writer",
                remedy="nothing was changed; repeat the operation on the new version",
            ) from error
        except OSError as error:
            self._resolve(manifest, text, error)
        try:
            disk.sync_names(VERSIONS)
        except StorageError as error:
            raise _unknown(disk, manifest, error) from error
        with contextlib.suppress(StorageError):  # it is published; the rest is for vacuum
            disk.delete(hidden)

    def _resolve(self, manifest: Manifest, text: bytes, cause: OSError) -> None:
        """A link failed without saying that the name is taken: did it happen?"""
        try:
            if self.disk.read(version_file(manifest.version)) == text:
                return
        except FileNotFoundError:
            raise StorageError(
                "the archive is as it was before",
                where=str(self.disk.path(VERSIONS)),
                expected="a disk that takes another name",
                found=str(cause),
                remedy="mend the disk, then try again",
            ) from cause
        except StorageError as error:
            raise _unknown(self.disk, manifest, error) from cause
        raise ConflictError(
            f"version {manifest.version} was published by another writer",
            where=str(self.disk.root),
            remedy="nothing was changed; repeat the operation on the new version",
        ) from cause

    def leases(self) -> list[tuple[int, str]]:
        """(version, token) of everybody at work; what the dead left behind is removed."""
        found = []
        for name in self.disk.names(LEASES):
            if not self.disk.clear_abandoned(f"{LEASES}/{name}"):
                version, _, token = name.partition("-")
                found.append((int(version), token))
        return found

    def retire(self) -> list[Manifest]:
        """Take away versions that nobody needs, the oldest first; returns all that are retired."""
        newest = self.numbers()[-1:]
        self.disk.make_folder(RETIRED)
        self.disk.sync_names(VERSIONS)  # the newest must outlive a crash before others go
        for version in self.numbers():
            if version >= newest[0] or self._held(version):
                break
            self.disk.rename(version_file(version), retired_file(version))
        found = []
        for name in self.disk.names(RETIRED):
            path = f"{RETIRED}/{name}"
            found.append(Manifest.from_json(self.disk.read(path), str(self.disk.path(path))))
        return found

    def _held(self, version: int) -> bool:
        return any(pinned <= version for pinned, _ in self.leases())


def version_file(version: int) -> str:
    return f"{VERSIONS}/{version:020d}.json"


def retired_file(version: int) -> str:
    return f"{RETIRED}/{version:020d}.json"


def _lease(version: int, token: str) -> str:
    return f"{LEASES}/{version:020d}-{token}"


def _all(_: int) -> None:
    """A sink's count of bytes, which is of no interest: short writes do not happen on files."""


def _unknown(disk: Disk, manifest: Manifest, error: Exception) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"the disk failed while version {manifest.version} was being published",
        where=str(disk.root),
        found=str(error),
        remedy="open the archive again: it has that version whole, or not at all",
    )
