"""Python functions handed to a connection: as the statement that declares them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any, get_type_hints

from windrow.columns.functions.python_functions import (
    load_function,
    location_of,
    register,
    registered_at,
)
from windrow.core.errors import BindError, InputError, ScriptError
from windrow.cql.parser import parse
from windrow.engine.function_code import is_same_code
from windrow.plan.catalog import Catalog, Declaration, FunctionDeclaration

TYPE_OF = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "STRING", datetime: "TIMESTAMP",
           date: "DATE"}  # fmt: skip
"""What annotations mean."""


def declare_function(
    name: str,
    function: Callable[..., Any],
    takes: Sequence[str | type] | None,
    returns: str | type | None,
    vectorised: bool,
    in_process: bool,
    before: Declaration | None = None,
) -> str:
    """CREATE FUNCTION for a callable; a connection that is not ``in_process`` must import it.

    ``before`` is what has the name so far: a function of the same code keeps its place, so that
    the statement is the same too, and another one replaces it.
    """
    if not name.isidentifier():
        raise InputError(where="function", expected="a name such as risk", found=repr(name))
    if not callable(function):
        raise InputError(
            where=f"function {name}", expected="a function", found=type(function).__name__
        )
    try:
        names = list(inspect.signature(function).parameters)
    except ValueError:  # as of some functions that are not written in Python
        names = []
    if takes is None:
        takes = [_annotated(name, function, parameter, "takes") for parameter in names]
    if len(names) != len(takes):
        names = [f"a{place + 1}" for place in range(len(takes))]
    if returns is None:
        returns = _annotated(name, function, "return", "returns")
    takes = [_checked_type(name, kind) for kind in takes]
    returns = _checked_type(name, returns)
    location = location_of(function)
    if location is None and not in_process:
        raise InputError(
            where=f"function {name}", expected="a function of a module that workers can import",
            found=f"{getattr(function, '__module__', None)}:"
            f"{getattr(function, '__qualname__', type(function).__name__)}",
            remedy="define it at the top of a module, and send that with --py-files (py_files)",
        )  # fmt: skip
    known = before if isinstance(before, FunctionDeclaration) else None
    location = location or _location_before(known, function) or register(name, function)
    columns = ", ".join(f'"{n}" {kind}' for n, kind in zip(names, takes, strict=True))
    words = " VECTORISED" if vectorised else ""
    create = "CREATE FUNCTION" if known is None else "CREATE OR REPLACE FUNCTION"
    return f"{create} {name} ({columns}) RETURNS {returns} AS '{location}'{words};"


def _location_before(known: FunctionDeclaration | None, function: Callable[..., Any]) -> str | None:
    """Where a function of the same code was registered under the same name."""
    registered = None if known is None else registered_at(known.location)
    if known is None or registered is None or not is_same_code(registered, function):
        return None
    return known.location


def _annotated(name: str, function: Callable[..., Any], parameter: str, argument: str) -> str:
    try:
        kind = get_type_hints(function).get(parameter)
    except (NameError, TypeError):
        kind = None
    known = TYPE_OF.get(kind) if isinstance(kind, type) else None
    if known is None:
        raise InputError(
            where=f"function {name}", expected=f"a type for {parameter}",
            found="none" if kind is None else str(kind),
            remedy=f"pass {argument}=, with types of CQL, or annotate it with "
            + ", ".join(t.__name__ for t in TYPE_OF),
        )  # fmt: skip
    return known


def _checked_type(name: str, kind: object) -> str:
    """A type of CQL, or one of Python in its place; errors would be of a text that nobody wrote."""
    if isinstance(kind, type) and kind in TYPE_OF:
        return TYPE_OF[kind]
    wanted = "a type of CQL, such as 'DOUBLE'"
    if not isinstance(kind, str):
        types = ", ".join(t.__name__ for t in TYPE_OF)
        raise InputError(
            where=f"function {name}", expected=wanted, found=repr(kind),
            remedy=f"write it as text, or as one of {types}",
        )  # fmt: skip
    try:
        parse(f"CREATE FUNCTION f (x {kind}) RETURNS {kind} AS 'm:f'")
    except ScriptError as error:
        raise InputError(
            where=f"function {name}", expected=wanted, found=repr(kind), remedy=error.remedy
        ) from None
    return kind


def load_functions(catalog: Catalog, before: Catalog, script: str) -> None:
    """Import the functions that are new, so that one that is not there is reported now."""
    for declaration in catalog.declarations.values():
        if isinstance(declaration, FunctionDeclaration):
            known = before.find(declaration.name)
            if known != declaration:
                _load(declaration, script)


def _load(declaration: FunctionDeclaration, script: str) -> None:
    try:
        load_function(declaration.location)
    except InputError as error:
        raise BindError(
            span=declaration.at, source=script, expected=error.expected, found=error.found,
            remedy=error.remedy,
        ) from error  # fmt: skip
