"""The version of everything in a checkpoint; one of another version is refused."""

from __future__ import annotations

VERSION = 5
REMEDY = "restore it, or choose a new directory with --checkpoint"
