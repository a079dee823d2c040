"""Texts, paths and flags on the command line as they are, without pydantic.

From version 0.29 on Typer has pydantic check the value of each option, and loading it takes longer
than many a command does. Texts, paths and flags need no check, so commands that are given nothing
else do without. Any other Typer, and any other type, is left as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

try:
    from typer._coercion import RuntimeParam, build_runtime_param
    from typer._param_types import coerce_cli_path
except ImportError:  # an earlier or a later Typer, which converts values in its own way
    RuntimeParam = None  # type: ignore[assignment,misc]


def take_plain_values(parameters: list[Any]) -> list[Any]:
    """The parameters of a command, with texts, paths, lists of them and flags taken as they are."""
    for parameter in parameters if RuntimeParam is not None else ():
        described = getattr(parameter, "type_descriptor", None)
        if described is None or described.parameter_info.parser is not None:
            continue
        if described.annotation in (bool, str, Path, list[str], list[Path]):
            plain = _PlainParam(described.parameter_info, described.annotation)
            parameter._runtime_param = plain  # noqa: SLF001 (where Typer would keep its own)
    return parameters


if RuntimeParam is not None:

    class _PlainParam(RuntimeParam):
        """A parameter that takes what Typer's own converter of texts or paths makes of it."""

        def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
            if self.annotation is bool:
                return self._flag(value, param, ctx)
            if self.annotation is str:
                return str(value)
            if self.annotation is Path:
                return self._path(value, param, ctx)
            items = value if isinstance(value, list | tuple) else [value]
            if self.annotation == list[str]:
                return [str(item) for item in items]
            return [self._path(item, param, ctx) for item in items]

        def _flag(self, value: Any, param: Any, ctx: Any) -> Any:
            """A text, of an environment variable for example, is Typer's to understand."""
            if isinstance(value, bool):
                return value
            return build_runtime_param(param.type_descriptor).coerce(value, param, ctx)

        def _path(self, value: Any, param: Any, ctx: Any) -> Any:
            info = self.parameter_info
            path_type = Path if info.path_type is None else info.path_type
            return coerce_cli_path(Path(value), info, path_type=path_type, param=param, ctx=ctx)
