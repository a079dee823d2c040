"""Texts that occur again and again: what is dear to compute is computed once for each of them.

URLs, names and words of few kinds are read from files row by row. How many different ones a column
has is estimated by its first rows: of n texts of N that are equally likely, n² / 2N are repeated.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.functions.operands import Operand
from windrow.core.thresholds import Threshold

SAMPLE = Threshold(2048, least=4)
"""Rows by which the others are judged."""
OFTEN = Threshold(2, least=0)
"""How often a text has to occur, on average, for it to pay to tell which are equal."""


def by_different_texts(texts: Operand, compute: Callable[[Operand], Operand]) -> Operand:
    """What ``compute`` makes of each of the texts, of NULL also NULL; it looks at no other row."""
    if isinstance(texts, pa.Scalar) or not _are_repeated(texts):
        return compute(texts)
    coded = texts.dictionary_encode()
    return compute(coded.dictionary).take(coded.indices)


def _are_repeated(texts: pa.Array) -> bool:
    rows = SAMPLE.value
    if len(texts) <= rows:
        return False
    again: int = rows - pc.count_distinct(texts.slice(0, rows), mode="all").as_py()
    return len(texts) * 2 * again > OFTEN.value * rows * rows
