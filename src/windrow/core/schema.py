"""Types, fields and schemas, free of any array library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from windrow.core.value_types import Type

__all__ = ["Field", "Schema", "Type"]


@dataclass(frozen=True)
class Field:
    """A named, typed column. ``qualifier`` is the table or alias that it can be asked for by."""

    name: str
    type: Type
    qualifier: str | None = None

    def __str__(self) -> str:
        return f"{self.qualifier}.{self.name}" if self.qualifier else self.name


@dataclass(frozen=True)
class Schema:
    """An ordered row of fields; names need not be unique (``l.src, r.src``)."""

    fields: tuple[Field, ...]

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: int) -> Field:
        return self.fields[index]

    def __add__(self, other: Schema) -> Schema:
        return Schema(self.fields + other.fields)

    def with_qualifier(self, qualifier: str | None) -> Schema:
        """The same columns under another table name."""
        return Schema(tuple(Field(f.name, f.type, qualifier) for f in self.fields))

    def unique_names(self) -> tuple[str, ...]:
        """Column names as result files show them: repeated ones get ``_2``, ``_3``.

        >>> t = Type.INT
        >>> Schema((Field("k", t, "a"), Field("k", t, "b"), Field("n", t))).unique_names()
        ('k', 'k_2', 'n')
        """
        names: list[str] = []
        for field in self.fields:
            name, count = field.name, 1
            while name in names:
                count += 1
                name = f"{field.name}_{count}"
            names.append(name)
        return tuple(names)
