"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def publish(path: Path, text: str) -> None:
    """Write a small file under a hidden name, sync it, and give it its own."""
    hidden = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with hidden.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    hidden.replace(path)
