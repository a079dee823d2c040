"""Commands whose modules are imported when they are called.

A command's module imports what its work needs, up to compilers and databases; to list the commands
needs none of it. So a group knows of each command its module and the line that the list shows,
which is also the first of the docstring of the function that has the command's name there.

From version 0.29 on Typer has pydantic check the value of each option, and loading it takes longer
than many a command does. Texts, paths, flags, choices and defaults need no check, so a command
that is given nothing else does without. Whatever is left, wrong choices too, is left to Typer, and
so is everything if it is another Typer.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from windrow.cli.error_messages import errors_in_words
from windrow.core.paths import local_path
from windrow.object_store.object_path import ObjectPath

try:
    from typer._coercion import RuntimeParam, build_runtime_param
    from typer._param_types import coerce_cli_path
except ImportError:  # an earlier or a later Typer, which converts values in its own way
    RuntimeParam = None  # type: ignore[assignment,misc]


def take_plain_values(parameters: list[Any]) -> list[Any]:
    """The parameters of a command, which take as it is whatever needs no check."""
    for parameter in parameters if RuntimeParam is not None else ():
        described = getattr(parameter, "type_descriptor", None)
        if described is None:
            continue
        if isinstance(described.annotation, type) or described.annotation in _LISTS:
            plain = _PlainParam(described.parameter_info, described.annotation)
            parameter._runtime_param = plain  # noqa: SLF001 (where Typer would keep its own)
    return parameters


_LISTS = (list[str], list[Path])

if RuntimeParam is not None:

    class _PlainParam(RuntimeParam):
        """A parameter that asks Typer only for what is not of its type yet."""

        def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
            wanted: Any = self.annotation
            if self.parameter_info.parser is not None:
                return build_runtime_param(param.type_descriptor).coerce(value, param, ctx)
            if wanted is Path:
                return self._path(value, param, ctx)
            if wanted in _LISTS:
                items = value if isinstance(value, list | tuple) else [value]
                if wanted == list[str]:
                    return [str(item) for item in items]
                return [self._path(item, param, ctx) for item in items]
            if type(value) is wanted:
                return value
            if issubclass(wanted, Enum) and value in {member.value for member in wanted}:
                return wanted(value)
            return build_runtime_param(param.type_descriptor).coerce(value, param, ctx)

        def _path(self, value: Any, param: Any, ctx: Any) -> Any:
            info = self.parameter_info
            path_type = Path if info.path_type is None else info.path_type
            return coerce_cli_path(Path(value), info, path_type=path_type, param=param, ctx=ctx)


class LazyGroup(TyperGroup):
    """A group of ``lazy`` commands: by name, the module and the line of the list."""

    lazy: ClassVar[Mapping[str, tuple[str, str]]]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        lazy = {name: _LazyCommand(name, *where) for name, where in self.lazy.items()}
        self.commands = {**lazy, **self.commands}

    def get_params(self, ctx: Any) -> Any:
        return take_plain_values(super().get_params(ctx))


class _LazyCommand(TyperCommand):
    """Stands for a command in the list; once called, the command itself takes its place."""

    def __init__(self, name: str, module: str, line: str) -> None:
        super().__init__(name, help=line)
        self._module = module

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        return self.command().make_context(*arguments, **extra)

    def command(self) -> Any:
        assert self.name is not None
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name, cls=LocalPaths)(getattr(import_module(self._module), self.name))
        return typer.main.get_command(alone)


class LocalPaths(TyperCommand):
    """A command whose paths are those of this machine; ``s3://bucket`` is none of them, but where a
    place in an object store may be given."""

    def get_params(self, ctx: Any) -> Any:
        return take_plain_values(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        for parameter in self.params:
            given = ctx.params.get(parameter.name or "")
            for path in given if isinstance(given, list | tuple) else (given,):
                if isinstance(path, Path) and not isinstance(path, ObjectPath):
                    with errors_in_words():
                        local_path(path, parameter.opts[0] if _is_option(parameter) else "")
        return super().invoke(ctx)


def _is_option(parameter: Any) -> bool:
    return bool(parameter.opts) and str(parameter.opts[0]).startswith("-")
