"""Texts of other encodings than UTF-8, known by how they begin."""

from __future__ import annotations

import string

from windrow.core.errors import InputError

FIRST_BYTES = 2
"""How many bytes tell."""
LETTERS = frozenset(c.encode() for c in string.printable)
"""What texts begin with, as one byte each."""


def refuse_utf16(beginning: bytes, where: str) -> None:
    """InputError if a text begins as UTF-16 does: with its mark, or with a NUL beside a letter.

    >>> refuse_utf16("id,x".encode("utf-16-le"), "a.csv")
    Traceback (most recent call last):
    windrow.core.errors.InputError: a.csv: expected UTF-8 text; found UTF-16, as the NUL bytes \
between its letters say; convert it: iconv -f UTF-16LE -t UTF-8
    >>> refuse_utf16(b"id,x", "a.csv")
    """
    first, second = beginning[:1], beginning[1:2]
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        name, sign = "UTF-16", "its first two bytes"
    elif second == b"\0" and first in LETTERS:
        name, sign = "UTF-16LE", "the NUL bytes between its letters"
    elif first == b"\0" and second in LETTERS:
        name, sign = "UTF-16BE", "the NUL bytes between its letters"
    else:
        return
    raise InputError(
        where=where, expected="UTF-8 text", found=f"UTF-16, as {sign} say",
        remedy=f"convert it: iconv -f {name} -t UTF-8",
    )  # fmt: skip
