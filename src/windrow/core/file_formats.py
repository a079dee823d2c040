"""The formats of files of rows, the words for them, and the endings of names that tell them.

This is the one list: what FORMAT may say, what the name of a file says, and how result files end.
"""

from __future__ import annotations

from pathlib import PurePath

WORDS = {"csv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "parquet": "parquet"}
"""What a script may call a format, and how a path may end for it."""
FORMATS = tuple(dict.fromkeys(WORDS.values()))
RESULT_ENDINGS = {"parquet": "parquet", "csv": "csv", "json": "jsonl"}
"""How the names of result files end, by format."""
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
"""Arrow files: archives read them, streams do not."""
COMPRESSED_SUFFIXES = (".gz", ".zst", ".bz2", ".lz4")
"""How a text file is compressed."""

_TEXT_SUFFIXES = {f".{word}": form for word, form in WORDS.items() if form != "parquet"}


def format_of_name(path: PurePath) -> str:
    """The format that the name of a file tells; Parquet if it tells none.

    >>> format_of_name(PurePath("a.jsonl.gz")), format_of_name(PurePath("part-0001"))
    ('json', 'parquet')
    """
    told = [_TEXT_SUFFIXES[s] for s in path.suffixes if s in _TEXT_SUFFIXES]
    return told[-1] if told else "parquet"


def is_compressed(path: PurePath) -> bool:
    """Whether a text file of this name is unpacked as it is read."""
    return path.suffix in COMPRESSED_SUFFIXES
