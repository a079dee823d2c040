"""Files that are there whole or not at all."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from windrow.core.errors import StateError

T = TypeVar("T")


def publish(path: Path, text: str) -> None:
    """Write a small file under a hidden name, sync it, and give it its own."""
    hidden = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with hidden.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    hidden.replace(path)


def read_record(path: Path, what: str, made: Callable[[Any], T], *, remedy: str) -> T:
    """What ``made`` makes of the JSON of a published file; StateError if either fails."""
    try:
        return made(json.loads(path.read_text()))
    except (ValueError, TypeError, KeyError) as error:
        raise StateError(
            f"{what} is damaged",
            where=str(path),
            expected="a record as Windrow writes it",
            found=str(error),
            remedy=remedy,
        ) from error
