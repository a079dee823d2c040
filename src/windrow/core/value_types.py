"""The SQL types of values. One object stands for each type, so types are compared with ``is``.

A type is known by its text: ``Type("DECIMAL(10, 2)")`` is ``Type.decimal(10, 2)``, and after
pickling it is the same object again.
"""

from __future__ import annotations

import re
from typing import ClassVar

MOST_DIGITS = 38
"""How many digits a DECIMAL has at most."""
DIGITS = {"INT": 10, "BIGINT": 19}
_DECIMAL = re.compile(r"DECIMAL\((\d+), (\d+)\)")


class Type:
    """A type of columns and expressions. INTERVAL exists in expressions only.

    ``precision`` is how many digits a DECIMAL has, ``scale`` how many of them are behind the point.

    >>> Type("DECIMAL(10, 2)") is Type.decimal(10, 2), Type.INT.value
    (True, 'INT')
    """

    __slots__ = ("precision", "scale", "value")

    value: str
    precision: int
    scale: int

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
        if decimal is None:
            raise ValueError(f"{value!r} is not a type")
        return cls.decimal(int(decimal[1]), int(decimal[2]))

    @classmethod
    def decimal(cls, precision: int, scale: int) -> Type:
        """DECIMAL with so many digits, of which ``scale`` are behind the point."""
        if not (1 <= precision <= MOST_DIGITS and 0 <= scale <= precision):
            raise ValueError(f"DECIMAL({precision}, {scale}) is not a type")
        return _make(f"DECIMAL({precision}, {scale})", precision, scale)

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


def _make(value: str, precision: int = 0, scale: int = 0) -> Type:
    """The one object of a type."""
    made = object.__new__(Type)
    made.value, made.precision, made.scale = value, precision, scale
    return _KNOWN.setdefault(value, made)


Type.BOOLEAN, Type.INT, Type.BIGINT = map(_make, ("BOOLEAN", "INT", "BIGINT"))
Type.FLOAT, Type.DOUBLE, Type.STRING = map(_make, ("FLOAT", "DOUBLE", "STRING"))
Type.TIMESTAMP, Type.DATE, Type.INTERVAL = map(_make, ("TIMESTAMP", "DATE", "INTERVAL"))

PLAIN_TYPES: tuple[Type, ...] = tuple(_KNOWN.values())
"""Those without parameters, in the order above."""
