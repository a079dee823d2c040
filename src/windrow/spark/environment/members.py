"""A file of an environment: where it is here, and what it is called in the archive."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from windrow.core.errors import WindrowError


class PackError(WindrowError):
    """The environment of this process cannot be packed."""


@dataclass(frozen=True, order=True)
class Member:
    """``name`` is relative to the archive's root; ``runs`` says that it is a program."""

    name: str
    path: Path
    runs: bool = False


def digest_of(texts: Iterable[str | bytes]) -> str:
    """A short name for a sequence of texts; their borders count."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode() if isinstance(text, str) else text
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:16]
