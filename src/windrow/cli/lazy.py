"""Commands whose modules are imported when they are called.

A command's module imports what its work needs, up to compilers and databases; to list the commands
needs none of it. So a group knows of each command its module and the line that the list shows,
which is also the first of the docstring of the function that has the command's name there.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from windrow.cli.error_messages import errors_in_words
from windrow.cli.plain_values import take_plain_values
from windrow.core.paths import local_path


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
    """A command whose paths are those of this machine; ``s3://bucket`` is none of them."""

    def get_params(self, ctx: Any) -> Any:
        return take_plain_values(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        for parameter in self.params:
            given = ctx.params.get(parameter.name or "")
            for path in given if isinstance(given, list | tuple) else (given,):
                if isinstance(path, Path):
                    with errors_in_words():
                        local_path(path, parameter.opts[0] if _is_option(parameter) else "")
        return super().invoke(ctx)


def _is_option(parameter: Any) -> bool:
    return bool(parameter.opts) and str(parameter.opts[0]).startswith("-")
