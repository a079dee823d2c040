"""Run formats by their names."""

from __future__ import annotations

from typing import get_args

from windrow.archive.errors import ArchiveError
from windrow.archive.format.run_ref import Format


def check_format(name: str) -> Format:
    """The format of that name, or an error that says which there are."""
    for form in get_args(Format):
        if name == form:
            found: Format = form
            return found
    raise ArchiveError(where="format", expected=" or ".join(get_args(Format)), found=name)
