"""Names that a package exports, loaded when they are asked for.

A door to a library must not make those pay who import another module of the same package: compiled
kernels take seconds to load. A package says what it exports in ``__all__``, imports it for type
checkers, and lets ``__getattr__`` be what this gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for ``package`` by the module in which each of its names is.

    >>> load = lazy_exports("shelf", {"Fraction": "fractions"})
    >>> load("Fraction")(1, 2)
    Fraction(1, 2)
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return load
