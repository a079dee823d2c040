"""What is no text in UTF-8, known by how it begins: other encodings, and files that are packed."""

from __future__ import annotations

import string

from windrow.core.errors import InputError

FIRST_BYTES = 10
"""How many bytes tell."""
LETTERS = frozenset(c.encode() for c in string.printable)
"""What texts begin with, as one byte each."""
UNPACK = "unpack it, or pack it as .gz, .zst, .bz2 or .lz4"
PACKED = {
    b"\xfd7zXZ\0": ("an xz file", UNPACK),
    b"PK\x03\x04": ("a zip archive, which a spreadsheet is too", "unpack it, or save it as CSV"),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", UNPACK),
    b"\x1f\x8b": ("a gzip file", "give it a name that ends in .gz"),
    b"\x28\xb5\x2f\xfd": ("a zstd file", "give it a name that ends in .zst"),
    b"\x04\x22\x4d\x18": ("an lz4 file", "give it a name that ends in .lz4"),
    **{
        b"BZh%d1AY&SY" % level: ("a bzip2 file", "give it a name that ends in .bz2")
        for level in range(1, 10)
    },
    b"PAR1\x15": ("a Parquet file", "write FORMAT parquet"),
    b"ARROW1\0\0": ("an Arrow file", "write it as Parquet"),
}
"""How files begin that are no text, what they are, and what to do."""


def refuse_no_text(beginning: bytes, where: str) -> None:
    """InputError if a file begins as one that is packed, or as UTF-16 does: with its mark, or with
    a NUL beside a letter.

    >>> refuse_no_text("id,x".encode("utf-16-le"), "a.csv")
    Traceback (most recent call last):
    windrow.core.errors.InputError: a.csv: expected UTF-8 text; found UTF-16, as the NUL bytes \
between its letters say; convert it: iconv -f UTF-16LE -t UTF-8
    >>> refuse_no_text(b"id,x", "a.csv")
    """
    for magic, (kind, remedy) in PACKED.items():
        if beginning.startswith(magic):
            raise InputError(
                where=where, expected="UTF-8 text", found=f"{kind}, as its first bytes say",
                remedy=remedy,
            )  # fmt: skip
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
