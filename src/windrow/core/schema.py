"""Types, fields and schemas, free of any array library.

One object stands for each type, so types are compared with ``is``. A type is known by its text:
``Type("DECIMAL(10, 2)")`` is ``Type.decimal(10, 2)``, and after pickling it is the same object
again. An ARRAY has values of one type, a STRUCT named ones; either may be inside the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

MOST_DIGITS = 38
"""How many digits a DECIMAL has at most."""
DIGITS = {"INT": 10, "BIGINT": 19}
_DECIMAL = re.compile(r"DECIMAL\((\d+), (\d+)\)")
_FIELD = re.compile(r'([A-Za-z_]\w*|"(?:[^"]|"")*") ')


class Type:
    """A type of columns and expressions. INTERVAL exists in expressions only.

    ``precision`` is how many digits a DECIMAL has, ``scale`` how many of them are behind the point.
    ``element`` is the type of an ARRAY's values, ``fields`` are the names and types of a STRUCT's.

    >>> Type("DECIMAL(10, 2)") is Type.decimal(10, 2), Type.INT.value
    (True, 'INT')
    >>> Type("ARRAY<STRUCT<a INT, b STRING>>").element.fields[1][1] is Type.STRING
    True
    """

    __slots__ = ("element", "fields", "precision", "scale", "value")

    value: str
    precision: int
    scale: int
    element: Type | None
    fields: tuple[tuple[str, Type], ...]

    BOOLEAN: ClassVar[Type]
    INT: ClassVar[Type]
    BIGINT: ClassVar[Type]
    FLOAT: ClassVar[Type]
    DOUBLE: ClassVar[Type]
    STRING: ClassVar[Type]
    TIMESTAMP: ClassVar[Type]
    DATE: ClassVar[Type]
    INTERVAL: ClassVar[Type]

    def __new__(cls, value: str) -> Type:
        """The type of this text; ValueError if there is none."""
        known = _KNOWN.get(value)
        if known is not None:
            return known
        decimal = _DECIMAL.fullmatch(value)
        if decimal is not None:
            return cls.decimal(int(decimal[1]), int(decimal[2]))
        if value.startswith("ARRAY<") and value.endswith(">"):
            return cls.array(cls(value[len("ARRAY<") : -1]))
        if value.startswith("STRUCT<") and value.endswith(">"):
            return cls.struct(map(_field, _parts(value[len("STRUCT<") : -1])))
        raise ValueError(f"{value!r} is not a type")

    @classmethod
    def decimal(cls, precision: int, scale: int) -> Type:
        """DECIMAL with so many digits, of which ``scale`` are behind the point."""
        if not (1 <= precision <= MOST_DIGITS and 0 <= scale <= precision):
            raise ValueError(f"DECIMAL({precision}, {scale}) is not a type")
        return _make(f"DECIMAL({precision}, {scale})", precision, scale)

    @classmethod
    def array(cls, element: Type) -> Type:
        """ARRAY of values of one type, any of which may be NULL."""
        return _make(f"ARRAY<{element.value}>", element=element)

    @classmethod
    def struct(cls, fields: Iterable[tuple[str, Type]]) -> Type:
        """STRUCT with these names and types, any of whose values may be NULL."""
        known = tuple(fields)
        names = [name.lower() for name, _ in known]
        if not known or len(set(names)) < len(names):
            raise ValueError("a STRUCT has at least one field, and each name once")
        inner = ", ".join(f"{_quoted(name)} {kind.value}" for name, kind in known)
        return _make(f"STRUCT<{inner}>", fields=known)

    @property
    def is_nested(self) -> bool:
        """Whether it has values inside: an ARRAY or a STRUCT."""
        return self.element is not None or bool(self.fields)

    @property
    def integral(self) -> bool:
        return self is Type.INT or self is Type.BIGINT

    @property
    def is_decimal(self) -> bool:
        return self.precision > 0

    @property
    def is_floating(self) -> bool:
        return self is Type.FLOAT or self is Type.DOUBLE

    @property
    def numeric(self) -> bool:
        return self.integral or self.is_floating or self.is_decimal

    @property
    def digits(self) -> Type:
        """The DECIMAL that has every value of an integer or decimal type."""
        return self if self.is_decimal else Type.decimal(DIGITS[self.value], 0)

    def __reduce__(self) -> tuple[type[Type], tuple[str]]:
        return Type, (self.value,)

    def __repr__(self) -> str:
        return f"<Type.{self.value}: {self.value!r}>"


_KNOWN: dict[str, Type] = {}


def _make(
    value: str, precision: int = 0, scale: int = 0, element: Type | None = None,
    fields: tuple[tuple[str, Type], ...] = (),
) -> Type:  # fmt: skip
    """The one object of a type."""
    made = object.__new__(Type)
    made.value, made.precision, made.scale = value, precision, scale
    made.element, made.fields = element, fields
    return _KNOWN.setdefault(value, made)


def _quoted(name: str) -> str:
    """A name as it stands in the text of a type."""
    plain = _FIELD.fullmatch(f"{name} ") is not None and not name.startswith('"')
    return name if plain else '"' + name.replace('"', '""') + '"'


def _parts(text: str) -> list[str]:
    """What commas part, but for those inside of brackets, parentheses and quotes."""
    found, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == '"'
        depth += 0 if quoted else (character in "<(") - (character in ">)")
        if character == "," and not depth and not quoted:
            found.append("")
        else:
            found[-1] += character
    return [part.strip() for part in found]


def _field(text: str) -> tuple[str, Type]:
    """``name TYPE``; the name may be in double quotes."""
    name = _FIELD.match(text)
    if name is None:
        raise ValueError(f"{text!r} is not a field of a STRUCT")
    plain = name[1][1:-1].replace('""', '"') if name[1].startswith('"') else name[1]
    return plain, Type(text[name.end() :])


Type.BOOLEAN, Type.INT, Type.BIGINT = map(_make, ("BOOLEAN", "INT", "BIGINT"))
Type.FLOAT, Type.DOUBLE, Type.STRING = map(_make, ("FLOAT", "DOUBLE", "STRING"))
Type.TIMESTAMP, Type.DATE, Type.INTERVAL = map(_make, ("TIMESTAMP", "DATE", "INTERVAL"))

PLAIN_TYPES: tuple[Type, ...] = tuple(_KNOWN.values())
"""Those without parameters, in the order above."""


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
