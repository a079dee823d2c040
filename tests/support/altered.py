"""A module of the standard library as one module of ours sees it, with some names replaced.

``monkeypatch.setattr(os, "open", ...)`` replaces it for every thread of the process: those of the
test runner, of a store on loopback, of Spark. ``monkeypatch.setattr(disk, "os", altered(os,
open=...))`` replaces it in the module under test alone.
"""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any


def altered(module: ModuleType, **names: Any) -> SimpleNamespace:
    """The names of a module, these instead of its own."""
    assert names.keys() <= vars(module).keys()
    return SimpleNamespace(**(vars(module) | names))
